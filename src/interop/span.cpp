#include "interop/span.h"

#include <cstdint>

namespace engine::interop::internal {

core::Status CheckViewable(const tensor::Tensor& tensor, tensor::DataType requested,
                           std::size_t alignment, bool to_write) {
  if (!tensor.defined()) return core::InvalidArgumentError("view: the tensor is undefined");
  if (!tensor.device().is_cpu()) {
    return core::UnimplementedError("view: the tensor is on {}, expected cpu", tensor.device());
  }
  const bool bytes_of_bool =
      tensor.dtype() == tensor::DataType::kBool && requested == tensor::DataType::kUInt8;
  if (tensor.dtype() != requested && !bytes_of_bool) {
    return core::InvalidArgumentError("view: a tensor of {}, shape {}, as {}", tensor.dtype(),
                                      tensor.shape(), requested);
  }
  // Where there are no elements nothing is ever loaded.
  if (tensor.numel() > 0 && reinterpret_cast<std::uintptr_t>(tensor.data()) % alignment != 0) {
    return core::InvalidArgumentError(
        "view: the address of a tensor of {}, shape {}, is not a multiple of {} bytes; copy it",
        tensor.dtype(), tensor.shape(), alignment);
  }
  if (to_write && tensor.is_read_only()) {
    return core::InvalidArgumentError("view: a read-only tensor of {}, shape {}, to be written",
                                      tensor.dtype(), tensor.shape());
  }
  return core::OkStatus();
}

core::Status CheckContiguous(const tensor::Tensor& tensor) {
  if (tensor.is_contiguous()) return core::OkStatus();
  return core::InvalidArgumentError("view: shape {} with strides {} is not contiguous; copy it",
                                    tensor.shape(), tensor.strides());
}

}  // namespace engine::interop::internal
