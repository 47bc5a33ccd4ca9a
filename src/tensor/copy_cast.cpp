#include "core/status.h"
#include "strided/copy_plan.h"
#include "tensor/internal/ops_common.h"
#include "tensor/ops.h"

namespace engine::tensor::ops {
namespace {

// The same elements at the same addresses. memcpy may not be called with two equal pointers, so
// such a pair has to be recognised, not just tolerated.
bool IsSameView(const Tensor& a, const Tensor& b) {
  if (a.data() != b.data() || a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (int i = 0; i < a.shape().rank(); ++i) {
    if (a.shape().dim(i) > 1 && a.strides()[i] != b.strides()[i]) return false;
  }
  return true;
}

core::Status RequireCpuPair(const char* operation, const Tensor& dst, const Tensor& src) {
  // Both handles before either device: an undefined one is a bug whatever the other is.
  internal::CheckDefined(operation, dst);
  internal::CheckDefined(operation, src);
  ENGINE_RETURN_IF_ERROR(internal::RequireCpu(operation, dst));
  return internal::RequireCpu(operation, src);
}

core::Status RequireCastable(const char* operation, DataType dst, DataType src) {
  if (is_reserved(dst)) {
    return core::UnimplementedError("{}: the target dtype {} is reserved", operation, dst);
  }
  if (dst == DataType::kBool || src == DataType::kBool) {
    return core::InvalidArgumentError("{}: no conversion from {} to {}; bool is not castable",
                                      operation, src, dst);
  }
  return core::OkStatus();
}

// Copies or converts every element of equal-shaped tensors of a convertible pair.
core::Status Transfer(const Tensor& dst, const Tensor& src) {
  if (src.numel() == 0 || IsSameView(dst, src)) return core::OkStatus();
  const strided::CopyPlan plan =
      strided::CopyPlan::Make(src.shape(), dst.dtype(), dst.strides(), src.dtype(), src.strides());
  if (plan.Run(dst.data(), src.data())) return core::OkStatus();
  return plan.FirstOffender(src.data());
}

}  // namespace

core::Status copy(const Tensor& dst, const Tensor& src) {
  ENGINE_RETURN_IF_ERROR(RequireCpuPair("copy", dst, src));
  ENGINE_RETURN_IF_ERROR(internal::RequireSameShape("copy", dst, src));
  ENGINE_RETURN_IF_ERROR(internal::RequireSameDType("copy", dst, src));
  ENGINE_RETURN_IF_ERROR(internal::RequireWritable("copy", dst));
  return Transfer(dst, src);
}

core::StatusOr<Tensor> cast(const Tensor& src, DataType dtype, memory::Allocator* allocator) {
  ENGINE_RETURN_IF_ERROR(internal::RequireCpu("cast", src));
  ENGINE_RETURN_IF_ERROR(RequireCastable("cast", dtype, src.dtype()));
  ENGINE_ASSIGN_OR_RETURN(Tensor result,
                          Tensor::empty(src.shape(), dtype, Device::Cpu(), allocator));
  ENGINE_RETURN_IF_ERROR(Transfer(result, src));
  return result;
}

core::Status cast_into(const Tensor& dst, const Tensor& src) {
  ENGINE_RETURN_IF_ERROR(RequireCpuPair("cast_into", dst, src));
  ENGINE_RETURN_IF_ERROR(RequireCastable("cast_into", dst.dtype(), src.dtype()));
  ENGINE_RETURN_IF_ERROR(internal::RequireSameShape("cast_into", dst, src));
  ENGINE_RETURN_IF_ERROR(internal::RequireWritable("cast_into", dst));
  return Transfer(dst, src);
}

}  // namespace engine::tensor::ops
