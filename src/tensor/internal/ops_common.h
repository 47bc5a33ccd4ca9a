// tensor/internal/ops_common.h: the argument checks that the operations share.
#ifndef ENGINE_TENSOR_INTERNAL_OPS_COMMON_H_
#define ENGINE_TENSOR_INTERNAL_OPS_COMMON_H_

#include "core/check.h"
#include "core/status.h"
#include "tensor/tensor.h"

namespace engine::tensor::internal {

inline void CheckDefined(const char* operation, const Tensor& tensor) {
  ENGINE_CHECK(tensor.defined(), "{}: the tensor is undefined", operation);
}

// For operations that dereference elements on the host.
inline void CheckOnCpu(const char* operation, const Tensor& tensor) {
  CheckDefined(operation, tensor);
  ENGINE_CHECK(tensor.device().is_cpu(), "{}: the tensor is on {}, expected cpu", operation,
               tensor.device());
}

// For operations that a GPU backend would implement.
[[nodiscard]] inline core::Status RequireCpu(const char* operation, const Tensor& tensor) {
  CheckDefined(operation, tensor);
  if (tensor.device().is_cpu()) return core::OkStatus();
  return core::UnimplementedError("{}: no backend for device {}", operation, tensor.device());
}

[[nodiscard]] inline core::Status RequireWritable(const char* operation, const Tensor& tensor) {
  if (!tensor.is_read_only()) return core::OkStatus();
  return core::InvalidArgumentError("{}: the destination (shape {}, {}) is read-only storage",
                                    operation, tensor.shape(), tensor.dtype());
}

[[nodiscard]] inline core::Status RequireSameShape(const char* operation, const Tensor& a,
                                                   const Tensor& b) {
  if (a.shape() == b.shape()) return core::OkStatus();
  return core::InvalidArgumentError("{}: shapes {} and {} differ (dtypes {} and {})", operation,
                                    a.shape(), b.shape(), a.dtype(), b.dtype());
}

[[nodiscard]] inline core::Status RequireSameDType(const char* operation, const Tensor& a,
                                                   const Tensor& b) {
  if (a.dtype() == b.dtype()) return core::OkStatus();
  return core::InvalidArgumentError("{}: dtypes {} and {} differ (shapes {} and {})", operation,
                                    a.dtype(), b.dtype(), a.shape(), b.shape());
}

}  // namespace engine::tensor::internal

#endif  // ENGINE_TENSOR_INTERNAL_OPS_COMMON_H_
