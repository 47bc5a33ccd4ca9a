// Conversions from float, double: the loops of internal/cast_kernels-inl.h, once per
// target. Highway includes this file again for each target (HWY_TARGET_INCLUDE); what is outside
// the target namespace is compiled once (HWY_ONCE).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "strided/dtype_visit.h"
#include "strided/internal/highway_targets.h"
#include "strided/internal/kernels.h"
#include "tensor/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strided/cast_from_floats.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "strided/internal/cast_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {

CastRows CastFromFloats(tensor::DataType src, tensor::DataType dst) {
  return SelectCastFrom<float, double>(src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

CastRows CastFromFloatsFor(Target target, tensor::DataType src, tensor::DataType dst) {
  static constexpr CastRows (*kTable[])(tensor::DataType, tensor::DataType) =
      ENGINE_TARGET_TABLE(CastFromFloats);
  return kTable[static_cast<std::size_t>(target)](src, dst);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
