// Conversions from float16, bfloat16: the loops of internal/cast_kernels-inl.h, once per
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
#define HWY_TARGET_INCLUDE "strided/cast_from_halves.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "strided/internal/cast_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
namespace {

// VCVTNE2PS2BF16 flushes subnormal floats, which no float16 becomes, and rounds all others as the
// definition does: one operation where 16-bit lanes take ten.
struct Float16ToBFloat16 {
  using DMarks = DU32;
  static constexpr int64_t kBlock = 2 * kLanes;
  static constexpr int kIgnoredBits = 0;
  static constexpr bool kChecks = false;

  template <bool kStream>
  static HWY_INLINE void Cast(const float16* src, bfloat16* dst, VU32& /*marks*/) {
    const hn::Repartition<uint16_t, DF32> d16;
    const VF32 low = LoadFloats(src);
    const VF32 high = LoadFloats(src + kLanes);
    // The compiler's intrinsic wants code that is compiled for such CPUs only.
    __m512i halves;
    asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(halves) : "v"(high.raw), "v"(low.raw));
    Put<kStream>(hn::VFromD<decltype(d16)>{halves}, d16, reinterpret_cast<uint16_t*>(dst));
  }
};

}  // namespace

CastRows CastFloat16ToBFloat16() {
  constexpr CastLoops kLoops = VectorLoops<Float16ToBFloat16, float16, bfloat16>();
  return CastEachRow<kLoops.run, kLoops.stream>;
}
#endif

CastRows CastFromHalves(tensor::DataType src, tensor::DataType dst) {
  return SelectCastFrom<tensor::float16, tensor::bfloat16>(src, dst);
}

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

CastRows CastFromHalvesFor(Target target, tensor::DataType src, tensor::DataType dst) {
#if HWY_TARGETS & HWY_AVX3
  if (target == Target::kAvx3Bf16 && src == tensor::DataType::kFloat16 &&
      dst == tensor::DataType::kBFloat16) {
    return N_AVX3::CastFloat16ToBFloat16();
  }
#endif
  static constexpr CastRows (*kTable[])(tensor::DataType, tensor::DataType) =
      ENGINE_TARGET_TABLE(CastFromHalves);
  return kTable[static_cast<std::size_t>(target)](src, dst);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
