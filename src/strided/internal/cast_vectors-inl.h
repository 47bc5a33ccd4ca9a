// strided/internal/cast_vectors-inl.h: conversions of a few vectors of elements, compiled once per
// target. Every result equals strided/convert.h bit for bit.
//
// A Highway "-inl" header: it is included by each cast_*.cpp once per target, hence the toggled
// guard. No other header of ours but leaf types may be included inside (an inline function compiled
// for AVX-512 could otherwise be the copy that the linker keeps for everybody).

#if defined(ENGINE_STRIDED_INTERNAL_CAST_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ENGINE_STRIDED_INTERNAL_CAST_VECTORS_INL_H_
#undef ENGINE_STRIDED_INTERNAL_CAST_VECTORS_INL_H_
#else
#define ENGINE_STRIDED_INTERNAL_CAST_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;
using tensor::bfloat16;
using tensor::float16;

// F16C's conversions are exact and quiet NaNs, as cast wants; Highway's emulation for older x86
// rounds wrongly in both directions, so those targets convert in integers.
#undef ENGINE_HAS_F16_CONVERSION
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
#define ENGINE_HAS_F16_CONVERSION 1
#else
#define ENGINE_HAS_F16_CONVERSION 0
#endif

using DF32 = hn::ScalableTag<float>;
using DU32 = hn::RebindToUnsigned<DF32>;
using DI32 = hn::RebindToSigned<DF32>;
using VF32 = hn::VFromD<DF32>;
using VU32 = hn::VFromD<DU32>;
inline constexpr int64_t kLanes = HWY_MAX_BYTES / 4 < 4 ? 4 : HWY_MAX_BYTES / 4;

// --- any element with an exact or single-rounded float, as kLanes floats ---

HWY_INLINE VF32 Quiet(VF32 v) {
  const DF32 d;
  const DU32 du;
  const auto quiet = hn::BitCast(d, hn::Or(hn::BitCast(du, v), hn::Set(du, 0x00400000u)));
  return hn::IfThenElse(hn::IsNaN(v), quiet, v);
}

HWY_INLINE VU32 LoadBits16(const void* p) {
  const hn::Rebind<uint16_t, DU32> d16;
  return hn::PromoteTo(DU32(), hn::LoadU(d16, static_cast<const uint16_t*>(p)));
}

HWY_INLINE VF32 LoadFloats(const float16* p) {
  const DF32 d;
#if ENGINE_HAS_F16_CONVERSION
  const hn::Rebind<hwy::float16_t, DF32> d16;
  const hn::Rebind<uint16_t, DF32> du16;
  const auto bits = hn::LoadU(du16, reinterpret_cast<const uint16_t*>(p));
  return hn::PromoteTo(d, hn::BitCast(d16, bits));
#else
  const DU32 du;
  const VU32 half = LoadBits16(p);
  const VU32 sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)));
  const VU32 magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(du, 0x7FFFu)));
  // Rebias the exponent from 15 to 127; infinities and NaNs go all the way up.
  const VU32 normal = hn::Add(magnitude, hn::Set(du, 112u << 23));
  const VU32 special = hn::Or(
      hn::Add(magnitude, hn::Set(du, 224u << 23)),
      hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(du, 0x0F800000u)), hn::Set(du, 0x00400000u)));
  // A subnormal is 2^-14 * (1 + mantissa) - 2^-14, exact in float.
  const VF32 two_pow_minus_14 = hn::BitCast(d, hn::Set(du, 113u << 23));
  const VU32 subnormal = hn::BitCast(
      du, hn::Sub(hn::BitCast(d, hn::Add(magnitude, hn::Set(du, 113u << 23))), two_pow_minus_14));
  VU32 bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x00800000u)), subnormal, normal);
  bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x0F7FFFFFu)), special, bits);
  return hn::BitCast(d, hn::Or(bits, sign));
#endif
}

HWY_INLINE VF32 LoadFloats(const bfloat16* p) {
  return Quiet(hn::BitCast(DF32(), hn::ShiftLeft<16>(LoadBits16(p))));
}

HWY_INLINE VF32 LoadFloats(const float* p) {
  VF32 v = hn::LoadU(DF32(), p);
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  // GCC 12 folds the load into every use of v (four for bfloat16); the loop then waits for the load
  // ports. The empty statement keeps the value in a register.
  asm("" : "+v"(v.raw));
#endif
  return v;
}

template <typename T>
HWY_INLINE VF32 LoadSmallIntegers(const T* p) {
  const hn::Rebind<T, DI32> narrow;
  return hn::ConvertTo(DF32(), hn::PromoteTo(DI32(), hn::LoadU(narrow, p)));
}
HWY_INLINE VF32 LoadFloats(const int8_t* p) { return LoadSmallIntegers(p); }
HWY_INLINE VF32 LoadFloats(const uint8_t* p) { return LoadSmallIntegers(p); }
HWY_INLINE VF32 LoadFloats(const int16_t* p) { return LoadSmallIntegers(p); }
HWY_INLINE VF32 LoadFloats(const uint16_t* p) { return LoadSmallIntegers(p); }
// int32 -> double is exact, so the conversion that rounds once equals the definition.
HWY_INLINE VF32 LoadFloats(const int32_t* p) { return hn::ConvertTo(DF32(), hn::LoadU(DI32(), p)); }

HWY_INLINE VF32 LoadFloats(const double* p) {
  const DF32 d;
  const hn::Half<DF32> dh;
  const hn::Rebind<double, hn::Half<DF32>> dd;
  return hn::Combine(d, hn::DemoteTo(dh, hn::LoadU(dd, p + hn::MaxLanes(dd))),
                     hn::DemoteTo(dh, hn::LoadU(dd, p)));
}

// --- kLanes floats to an element type; integer targets accumulate what does not fit ---

// Stores a vector; with kStream past the caches, if it is no mere part of 16 bytes. The address is
// then a multiple of its size.
template <bool kStream, class D>
HWY_INLINE void Put(hn::VFromD<D> v, D d, hn::TFromD<D>* HWY_RESTRICT p) {
  if constexpr (kStream && hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) >= 16) {
    hn::Stream(v, d, p);
  } else {
    hn::StoreU(v, d, p);
  }
}

template <bool kStream>
HWY_INLINE void StoreBits16(VU32 bits, void* p) {
  const hn::Rebind<uint16_t, DU32> d16;
  Put<kStream>(hn::TruncateTo(d16, bits), d16, static_cast<uint16_t*>(p));
}

template <bool kStream>
HWY_INLINE void StoreFloats(VF32 v, float16* p) {
#if ENGINE_HAS_F16_CONVERSION
  const hn::Rebind<hwy::float16_t, DF32> d16;
  const hn::Rebind<uint16_t, DF32> du16;
  Put<kStream>(hn::BitCast(du16, hn::DemoteTo(d16, v)), du16, reinterpret_cast<uint16_t*>(p));
#else
  const DF32 d;
  const DU32 du;
  const VU32 bits = hn::BitCast(du, v);
  const VU32 sign = hn::ShiftRight<16>(hn::And(bits, hn::Set(du, 0x80000000u)));
  const VU32 magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  // Normal results: rebias, then round to nearest even; the carry may enter the exponent.
  const VU32 odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
  const VU32 normal = hn::ShiftRight<13>(
      hn::Add(hn::Sub(magnitude, hn::Set(du, 112u << 23)), hn::Add(odd, hn::Set(du, 0x0FFFu))));
  // Subnormal results: adding 0.5 (whose last place is 2^-24) rounds in the adder.
  const VU32 half_bits = hn::Set(du, 0x3F000000u);
  const VU32 subnormal = hn::Sub(
      hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, half_bits))), half_bits);
  VU32 result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000u)), subnormal, normal);
  result =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x477FEFFFu)), hn::Set(du, 0x7C00u), result);
  const VU32 payload = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x03FFu));
  const VU32 nan = hn::Or(payload, hn::Set(du, 0x7E00u));
  result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7F800000u)), nan, result);
  StoreBits16<kStream>(hn::Or(result, sign), p);
#endif
}

// The bits of a bfloat16 in the upper halves of the result's lanes; the lower halves hold anything.
HWY_INLINE VU32 RoundToUpperHalves(VF32 v) {
  const DU32 du;
  const VU32 bits = hn::BitCast(du, v);
  const VU32 odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const VU32 rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu)));
  const VU32 quiet = hn::Or(bits, hn::Set(du, 0x00400000u));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
}

template <bool kStream>
HWY_INLINE void StoreFloats(VF32 v, float* p) {
  Put<kStream>(v, DF32(), p);
}

template <bool kStream>
HWY_INLINE void StoreFloats(VF32 v, double* p) {
  const hn::Rebind<double, hn::Half<DF32>> dd;
  const hn::Half<DF32> dh;
  Put<kStream>(hn::PromoteTo(dd, hn::LowerHalf(dh, v)), dd, p);
  Put<kStream>(hn::PromoteTo(dd, hn::UpperHalf(dh, v)), dd, p + hn::MaxLanes(dd));
}

// The two's complement of the truncated floats in the low bits of the lanes, for |v| < 2^22: adding
// 1.5 * 2^23 leaves it in the mantissa. Cheaper than ConvertTo with its overflow rules.
HWY_INLINE VU32 TruncateToLowBits(VF32 v) {
  return hn::BitCast(DU32(), hn::Add(hn::Trunc(v), hn::Set(DF32(), 12582912.0f)));
}

// Truncation to int32 for lanes in range; others give anything. Highway's ConvertTo saturates,
// which costs two more operations and is not needed here.
HWY_INLINE hn::VFromD<DI32> TruncateInRange(VF32 v) {
#if HWY_TARGET == HWY_AVX3
  return hn::VFromD<DI32>{_mm512_cvttps_epi32(v.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::VFromD<DI32>{_mm256_cvttps_epi32(v.raw)};
#elif HWY_TARGET == HWY_SSE4
  return hn::VFromD<DI32>{_mm_cvttps_epi32(v.raw)};
#else
  return hn::ConvertTo(DI32(), v);
#endif
}

// How many vectors of floats make one store of Dst: a full vector's worth where the narrowing has
// to be assembled from several.
template <typename Dst>
constexpr int64_t kVectorsPerStore =
    std::is_integral_v<Dst> || std::is_same_v<Dst, bfloat16> ? int64_t{sizeof(float) / sizeof(Dst)}
                                                             : 1;

// The low 16 bits of the lanes of two vectors.
HWY_INLINE auto LowHalves(VU32 v0, VU32 v1) {
  const hn::Repartition<uint16_t, DF32> d16;
  return hn::ConcatEven(d16, hn::BitCast(d16, v1), hn::BitCast(d16, v0));
}

// Loads kVectorsPerStore<Dst> vectors, converts and stores them, and marks in `misfits` (by any
// non-zero bit) lanes that Dst cannot represent; those store anything.
template <bool kStream, typename Dst, typename Src>
HWY_INLINE void CastGroup(const Src* HWY_RESTRICT src, Dst* HWY_RESTRICT dst, VU32& misfits) {
  const DU32 du;
  if constexpr (std::is_same_v<Dst, int32_t>) {
    const VF32 v = LoadFloats(src);
    const DF32 d;
    // Above the float below -2^31, below 2^31; NaN is neither.
    const auto fits =
        hn::And(hn::Gt(v, hn::Set(d, -2147483904.0f)), hn::Lt(v, hn::Set(d, 2147483648.0f)));
    misfits = hn::Or(misfits, hn::IfThenZeroElse(hn::RebindMask(du, fits), hn::Set(du, 1u)));
    Put<kStream>(TruncateInRange(v), DI32(), dst);
  } else if constexpr (std::is_same_v<Dst, bfloat16> && std::is_same_v<Src, float16>) {
    // Rounded in 16-bit lanes, twice as many per operation. A NaN is quiet by now and must not be
    // rounded: the carry would run into its sign.
    const hn::Repartition<uint16_t, DF32> d16;
    const hn::RebindToSigned<decltype(d16)> di16;
    const auto v0 = hn::BitCast(d16, LoadFloats(src));
    const auto v1 = hn::BitCast(d16, LoadFloats(src + kLanes));
    const auto upper = hn::ConcatOdd(d16, v1, v0);
    const auto rest = hn::Or(hn::ConcatEven(d16, v1, v0), hn::And(upper, hn::Set(d16, 1)));
    const auto round_up = hn::Gt(rest, hn::Set(d16, 0x8000));
    const auto magnitude = hn::BitCast(di16, hn::And(upper, hn::Set(d16, 0x7FFF)));
    const auto is_nan = hn::RebindMask(d16, hn::Gt(magnitude, hn::Set(di16, 0x7F80)));
    const auto increment = hn::IfThenElseZero(hn::AndNot(is_nan, round_up), hn::Set(d16, 1));
    Put<kStream>(hn::Add(upper, increment), d16, reinterpret_cast<uint16_t*>(dst));
  } else if constexpr (std::is_same_v<Dst, bfloat16>) {
    const hn::Repartition<uint16_t, DF32> d16;
    const VU32 v0 = RoundToUpperHalves(LoadFloats(src));
    const VU32 v1 = RoundToUpperHalves(LoadFloats(src + kLanes));
    Put<kStream>(hn::ConcatOdd(d16, hn::BitCast(d16, v1), hn::BitCast(d16, v0)), d16,
                 reinterpret_cast<uint16_t*>(dst));
  } else if constexpr (std::is_integral_v<Dst>) {
    // The sum is the float's bit pattern; without 1.5 * 2^23's, and biased so that Dst's range
    // starts at 0, any other value (NaN and infinities too) has a bit above Dst's.
    constexpr uint32_t kBias =
        (std::is_signed_v<Dst> ? 1u << (8 * sizeof(Dst) - 1) : 0u) - 0x4B400000u;
    const auto truncate = [&](const Src* from) HWY_ATTR {
      const VU32 bits = TruncateToLowBits(LoadFloats(from));
      misfits = hn::Or(misfits, hn::Add(bits, hn::Set(du, kBias)));
      return bits;
    };
    const VU32 v0 = truncate(src);
    const VU32 v1 = truncate(src + kLanes);
    if constexpr (sizeof(Dst) == 2) {
      const hn::Repartition<uint16_t, DF32> d16;
      Put<kStream>(LowHalves(v0, v1), d16, reinterpret_cast<uint16_t*>(dst));
    } else {
      const VU32 v2 = truncate(src + 2 * kLanes);
      const VU32 v3 = truncate(src + 3 * kLanes);
      const hn::Repartition<uint8_t, DF32> d8;
      Put<kStream>(hn::ConcatEven(d8, hn::BitCast(d8, LowHalves(v2, v3)),
                                  hn::BitCast(d8, LowHalves(v0, v1))),
                   d8, reinterpret_cast<uint8_t*>(dst));
    }
  } else {
    StoreFloats<kStream>(LoadFloats(src), dst);
  }
}

// --- integers to integers ---

// How an integer conversion is tested without branches: (value + bias) >> shift, in unsigned
// arithmetic of the wider type's size, is zero exactly for values that fit. No test is needed when
// `shift` is 0.
struct RangeTest {
  int shift = 0;
  uint64_t bias = 0;
};
template <typename Src, typename Dst>
constexpr RangeTest IntegerRangeTest() {
  constexpr int kSrcBits = 8 * sizeof(Src);
  constexpr int kDstBits = 8 * sizeof(Dst);
  if constexpr (std::is_signed_v<Src> && std::is_signed_v<Dst>) {
    if (kDstBits < kSrcBits) return {kDstBits, uint64_t{1} << (kDstBits - 1)};
  } else if constexpr (std::is_signed_v<Src>) {
    // Negative values keep their sign bit when they are widened.
    return {kDstBits < kSrcBits ? kDstBits : kDstBits - 1, 0};
  } else if constexpr (std::is_signed_v<Dst>) {
    if (kDstBits <= kSrcBits) return {kDstBits - 1, 0};
  } else {
    if (kDstBits < kSrcBits) return {kDstBits, 0};
  }
  return {};
}

// One vector of Dst is stored at a time.
template <typename Dst>
using DIntegers = hn::ScalableTag<Dst>;

// As many elements of Src as a vector of Dst, sign- or zero-extended.
template <typename Dst, typename Src>
HWY_INLINE hn::VFromD<DIntegers<Dst>> LoadWidened(const Src* HWY_RESTRICT src) {
  using Wide =
      std::conditional_t<std::is_signed_v<Src>, std::make_signed_t<Dst>, std::make_unsigned_t<Dst>>;
  const hn::Rebind<Wide, DIntegers<Dst>> wide;
  const auto narrow = hn::LoadU(hn::Rebind<Src, DIntegers<Dst>>(), src);
  if constexpr (sizeof(Dst) == 8 && sizeof(Src) < 4) {
    using Half = std::conditional_t<std::is_signed_v<Src>, int32_t, uint32_t>;
    const hn::Rebind<Half, DIntegers<Dst>> half;
    return hn::BitCast(DIntegers<Dst>(), hn::PromoteTo(wide, hn::PromoteTo(half, narrow)));
  } else {
    return hn::BitCast(DIntegers<Dst>(), hn::PromoteTo(wide, narrow));
  }
}

// The low parts of the lanes of kVectors vectors, one vector of Dst in the end.
template <typename Dst, size_t kVectors, class D>
HWY_INLINE hn::VFromD<DIntegers<Dst>> Narrow(D /*d*/, const hn::VFromD<D>* HWY_RESTRICT v) {
  if constexpr (kVectors == 1) {
    return hn::BitCast(DIntegers<Dst>(), v[0]);
  } else {
    const hn::RepartitionToNarrow<D> narrow;
    hn::VFromD<decltype(narrow)> halves[kVectors / 2];
    HWY_UNROLL(4)
    for (size_t k = 0; k < kVectors / 2; ++k) {
      halves[k] =
          hn::ConcatEven(narrow, hn::BitCast(narrow, v[2 * k + 1]), hn::BitCast(narrow, v[2 * k]));
    }
    return Narrow<Dst, kVectors / 2>(narrow, halves);
  }
}

// The lanes that are tested: those of the wider type.
template <typename Src, typename Dst>
using DTested = hn::ScalableTag<
    std::make_unsigned_t<std::conditional_t<(sizeof(Src) > sizeof(Dst)), Src, Dst>>>;

// Converts as many elements as a vector of Dst has; ors into `misfits` what IntegerRangeTest shifts.
template <bool kStream, typename Dst, typename Src>
HWY_INLINE void CastIntegerGroup(const Src* HWY_RESTRICT src, Dst* HWY_RESTRICT dst,
                                 hn::VFromD<DTested<Src, Dst>>& misfits) {
  using D = DTested<Src, Dst>;
  const D d;
  const auto bias = hn::Set(d, static_cast<hn::TFromD<D>>(IntegerRangeTest<Src, Dst>().bias));
  if constexpr (sizeof(Src) < sizeof(Dst)) {
    const auto v = LoadWidened<Dst>(src);
    misfits = hn::Or(misfits, hn::BitCast(d, v));
    Put<kStream>(v, DIntegers<Dst>(), dst);
  } else {
    constexpr size_t kVectors = sizeof(Src) / sizeof(Dst);
    hn::VFromD<D> v[kVectors];
    HWY_UNROLL(8)
    for (size_t k = 0; k < kVectors; ++k) {
      v[k] = hn::BitCast(d, hn::LoadU(hn::ScalableTag<Src>(), src + k * hn::MaxLanes(d)));
      misfits = hn::Or(misfits, hn::Add(v[k], bias));
    }
    Put<kStream>(Narrow<Dst, kVectors>(d, v), DIntegers<Dst>(), dst);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
