#include "dense/operations.h"

#include <algorithm>
#include <memory>

namespace engine::dense::internal {

core::StatusOr<tensor::Tensor> BorrowTensor(const tensor::Shape& shape,
                                            const tensor::SourceElements& elements) {
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

core::Status CheckComparison(const tensor::Shape& a, const tensor::Shape& b, tensor::DataType dtype,
                             tensor::ops::AllCloseTolerance tolerance) {
  if (a != b) {
    return core::InvalidArgumentError("allclose: shapes {} and {} differ (op.copy)", a, b);
  }
  // The tolerance is ops::allclose's to judge, of no elements too.
  ENGINE_ASSIGN_OR_RETURN(const tensor::Tensor none,
                          tensor::Tensor::empty({0}, dtype, tensor::Device::Cpu()));
  return tensor::ops::allclose(none, none, tolerance).status();
}

}  // namespace engine::dense::internal
