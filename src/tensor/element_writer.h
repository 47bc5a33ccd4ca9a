// tensor/element_writer.h: the elements of tensors as bytes, for writers of file formats.
// Layer 3.
#ifndef ENGINE_TENSOR_ELEMENT_WRITER_H_
#define ENGINE_TENSOR_ELEMENT_WRITER_H_

#include <memory>

#include "core/status.h"
#include "memory/buffer.h"
#include "memory/byte_sink.h"
#include "tensor/tensor.h"

namespace engine::tensor {

// Appends tensors to a sink, elements in row-major order. Contiguous tensors go there in one piece,
// from where they are; strided ones pass through 256 KiB of memory that is allocated for the first
// of them and kept. So no tensor is ever copied whole.
//
// Thread safety: none of its own.
class ElementWriter {
 public:
  // `sink` must outlive this.
  explicit ElementWriter(memory::ByteSink& sink) : sink_(sink) {}

  // Any strides, any alignment.
  //   Errors   the sink's; kOutOfMemory.
  //   CHECKs   defined, on the cpu.
  [[nodiscard]] core::Status Append(const Tensor& tensor);

 private:
  [[nodiscard]] core::Status AppendStrided(const Tensor& view);
  [[nodiscard]] core::Status AppendPacked(const Tensor& view);

  memory::ByteSink& sink_;
  std::shared_ptr<memory::Buffer> chunk_;
};

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_ELEMENT_WRITER_H_
