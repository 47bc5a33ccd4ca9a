#include "core/status.h"
#include "strided/copy_plan.h"
#include "tensor/element_transfer.h"
#include "tensor/internal/ops_common.h"
#include "tensor/ops.h"

namespace engine::tensor::ops {
namespace {

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

// What copy asks of its arguments, and what cast_into does.
core::Status CheckCopy(const char* operation, const Tensor& dst, const Tensor& src) {
  ENGINE_RETURN_IF_ERROR(RequireCpuPair(operation, dst, src));
  ENGINE_RETURN_IF_ERROR(internal::RequireSameShape(operation, dst, src));
  ENGINE_RETURN_IF_ERROR(internal::RequireSameDType(operation, dst, src));
  return internal::RequireWritable(operation, dst);
}

core::Status CheckCastInto(const char* operation, const Tensor& dst, const Tensor& src) {
  ENGINE_RETURN_IF_ERROR(RequireCpuPair(operation, dst, src));
  ENGINE_RETURN_IF_ERROR(RequireCastable(operation, dst.dtype(), src.dtype()));
  ENGINE_RETURN_IF_ERROR(internal::RequireSameShape(operation, dst, src));
  return internal::RequireWritable(operation, dst);
}

strided::CopyPlan PlanOf(const Tensor& dst, const Tensor& src) {
  return strided::CopyPlan::Make(src.shape(), dst.dtype(), dst.strides(), src.dtype(),
                                 src.strides());
}

// Copies or converts every element of equal-shaped tensors of a convertible pair.
core::Status Transfer(const Tensor& dst, const Tensor& src) {
  return TransferElements(src.shape(), dst.dtype(), dst.strides(), dst.data(),
                          {src.dtype(), src.strides(), src.data()});
}

}  // namespace

core::Status copy(const Tensor& dst, const Tensor& src) {
  ENGINE_RETURN_IF_ERROR(CheckCopy("copy", dst, src));
  return Transfer(dst, src);
}

core::StatusOr<strided::CopyPlan> plan_copy(const Tensor& dst, const Tensor& src) {
  ENGINE_RETURN_IF_ERROR(CheckCopy("plan_copy", dst, src));
  return PlanOf(dst, src);
}

core::StatusOr<strided::CopyPlan> plan_cast(const Tensor& dst, const Tensor& src) {
  ENGINE_RETURN_IF_ERROR(CheckCastInto("plan_cast", dst, src));
  return PlanOf(dst, src);
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
  ENGINE_RETURN_IF_ERROR(CheckCastInto("cast_into", dst, src));
  return Transfer(dst, src);
}

}  // namespace engine::tensor::ops
