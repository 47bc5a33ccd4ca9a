// Conversions from int8_t, uint8_t, int16_t, uint16_t: the loops of internal/cast_kernels-inl.h,
// once per target. Highway includes this file again for each target (HWY_TARGET_INCLUDE); what is
// outside the target namespace is compiled once (HWY_ONCE).
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
#define HWY_TARGET_INCLUDE "strided/cast_from_narrow_integers.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "strided/internal/cast_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {

CastRows CastFromNarrowIntegers(tensor::DataType src, tensor::DataType dst) {
  return SelectCastFrom<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>(src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

CastRows CastFromNarrowIntegersFor(Target target, tensor::DataType src, tensor::DataType dst) {
  static constexpr CastRows (*kTable[])(tensor::DataType, tensor::DataType) =
      ENGINE_TARGET_TABLE(CastFromNarrowIntegers);
  return kTable[static_cast<std::size_t>(target)](src, dst);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
