#include "dense/operations.h"

#include <algorithm>
#include <memory>

namespace engine::dense::internal {

core::StatusOr<tensor::Tensor> BorrowTensor(const tensor::Shape& shape,
                                            const ErasedElements& elements) {
  if (shape.numel() == 0)
    return tensor::Tensor::empty(shape, elements.dtype, tensor::Device::Cpu());
  // The view was made over memory that holds it, so that its reach can be counted.
  std::int64_t last = 0;
  for (int i = 0; i < shape.rank(); ++i) last += (shape.dim(i) - 1) * elements.strides[i];
  const auto bytes = static_cast<std::size_t>((last + 1) * tensor::itemsize(elements.dtype));
  ENGINE_ASSIGN_OR_RETURN(
      std::shared_ptr<memory::Buffer> buffer,
      memory::ShareBuffer(memory::Buffer(
          const_cast<void*>(elements.data), bytes, tensor::Device::Cpu(), [](void*) {},
          /*read_only=*/true)));
  return tensor::Tensor::from_strided_buffer(std::move(buffer), 0, shape, elements.strides,
                                             elements.dtype);
}

}  // namespace engine::dense::internal
