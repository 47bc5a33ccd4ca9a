#include "dense/copy.h"

#include "strided/copy_plan.h"

namespace engine::dense::internal {
namespace {

// Nothing to move: plain copies may not be given equal pointers.
bool IsSameView(const tensor::Shape& shape, const void* dst, tensor::DataType dst_dtype,
                const tensor::Strides& dst_strides, const ErasedElements& src) {
  if (dst != src.data || dst_dtype != src.dtype) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) > 1 && dst_strides[i] != src.strides[i]) return false;
  }
  return true;
}

}  // namespace

core::Status TransferElements(const tensor::Shape& shape, void* dst, tensor::DataType dst_dtype,
                              const tensor::Strides& dst_strides, const ErasedElements& src) {
  if (shape.numel() == 0 || IsSameView(shape, dst, dst_dtype, dst_strides, src)) {
    return core::OkStatus();
  }
  const strided::CopyPlan plan =
      strided::CopyPlan::Make(shape, dst_dtype, dst_strides, src.dtype, src.strides);
  if (plan.Run(dst, src.data)) return core::OkStatus();
  ENGINE_RETURN_IF_ERROR(plan.FirstOffender(src.data));
  // The offender is gone: the caller broke the rule that nobody writes the source meanwhile.
  return core::InternalError("cast: the source of shape {} changed while it was read", shape);
}

core::Status ShapesDiffer(const char* operation, const tensor::Shape& dst,
                          const tensor::Shape& src) {
  return core::InvalidArgumentError("{}: the destination has shape {}, the source {}", operation,
                                    dst, src);
}

}  // namespace engine::dense::internal
