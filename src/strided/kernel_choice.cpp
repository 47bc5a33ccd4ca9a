#include "strided/internal/kernels.h"
#include "tensor/dtype.h"

namespace engine::strided {

CopyKernels CopyKernelsFor(Target target, int item_bytes) {
  if (target == Target::kScalar) return ScalarCopyKernels(item_bytes);
  return {CopyRowsFor(target), CopyStridedRowsFor(target, item_bytes),
          CopyTabledRowsFor(target, item_bytes), TransposeFor(target, item_bytes),
          InterleaveFor(target, item_bytes)};
}

CastRows CastRowsFor(Target target, tensor::DataType src, tensor::DataType dst) {
  if (target == Target::kScalar) return ScalarCastRows(src, dst);
  const int item_bytes = tensor::itemsize(src);
  if (tensor::is_floating_point(src)) {
    return item_bytes == 2 ? CastFromHalvesFor(target, src, dst)
                           : CastFromFloatsFor(target, src, dst);
  }
  return item_bytes <= 2 ? CastFromNarrowIntegersFor(target, src, dst)
                         : CastFromWideIntegersFor(target, src, dst);
}

}  // namespace engine::strided
