#include "tensor/element_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/check.h"
#include "memory/allocator.h"
#include "tensor/ops.h"

namespace engine::tensor {
namespace {

// A page-cache write of this much costs far more than the system call, and the block stays in a
// second-level cache.
constexpr std::size_t kChunkBytes = 256 * 1024;
// Of the chunk: a cache line.
constexpr std::size_t kChunkAlignment = 64;

}  // namespace

core::Status ElementWriter::Append(const Tensor& tensor) {
  ENGINE_CHECK(tensor.defined(), "ElementWriter: the tensor is undefined");
  ENGINE_CHECK(tensor.device().is_cpu(), "ElementWriter: the tensor is on {}, expected cpu",
               tensor.device());
  return AppendStrided(tensor);
}

core::Status ElementWriter::AppendStrided(const Tensor& view) {
  if (view.numel() == 0) return core::OkStatus();
  if (view.is_contiguous()) return sink_.Append(view.data(), view.nbytes());
  if (view.nbytes() <= kChunkBytes) return AppendPacked(view);
  // As many rows of the outermost axis as fit, or one row's parts.
  const std::int64_t extent = view.shape().dim(0);
  const std::size_t row_bytes = view.nbytes() / static_cast<std::size_t>(extent);
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(kChunkBytes / row_bytes, 1));
  for (std::int64_t i = 0; i < extent; i += rows) {
    ENGINE_ASSIGN_OR_RETURN(const Tensor block, rows == 1
                                                    ? view.select(0, i)
                                                    : view.slice(0, i, std::min(i + rows, extent)));
    ENGINE_RETURN_IF_ERROR(AppendStrided(block));
  }
  return core::OkStatus();
}

core::Status ElementWriter::AppendPacked(const Tensor& view) {
  if (chunk_ == nullptr) {
    ENGINE_ASSIGN_OR_RETURN(memory::Buffer buffer,
                            memory::DefaultCpuAllocator()->Allocate(kChunkBytes, kChunkAlignment));
    ENGINE_ASSIGN_OR_RETURN(chunk_, memory::ShareBuffer(std::move(buffer)));
  }
  ENGINE_ASSIGN_OR_RETURN(const Tensor packed,
                          Tensor::from_buffer(chunk_, 0, view.shape(), view.dtype()));
  ENGINE_RETURN_IF_ERROR(ops::copy(packed, view));
  return sink_.Append(packed.data(), packed.nbytes());
}

}  // namespace engine::tensor
