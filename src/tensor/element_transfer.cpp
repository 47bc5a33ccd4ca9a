#include "tensor/element_transfer.h"

#include "strided/copy_plan.h"

namespace engine::tensor {
namespace {

using strided::CopyPlan;

// The same elements at the same addresses. memcpy may not be called with two equal pointers, so
// such a pair has to be recognised, not just tolerated.
bool IsSameView(const Shape& shape, DataType dtype, const Strides& strides, const void* data,
                const SourceElements& source) {
  if (data != source.data || dtype != source.dtype) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) > 1 && strides[i] != source.strides[i]) return false;
  }
  return true;
}

}  // namespace

core::Status TransferElements(const Shape& shape, DataType dtype, const Strides& strides,
                              void* data, const SourceElements& source) {
  if (shape.numel() == 0 || IsSameView(shape, dtype, strides, data, source)) {
    return core::OkStatus();
  }
  if (CopyPlan::RunOnce(shape, dtype, strides, source.dtype, source.strides, data, source.data)) {
    return core::OkStatus();
  }
  ENGINE_RETURN_IF_ERROR(CopyPlan::Make(shape, dtype, strides, source.dtype, source.strides)
                             .FirstOffender(source.data));
  // The offender is gone: the caller broke the rule that nobody writes the source meanwhile.
  return core::InternalError("cast: the source of shape {} changed while it was read", shape);
}

}  // namespace engine::tensor
