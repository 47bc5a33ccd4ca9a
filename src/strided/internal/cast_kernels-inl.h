// strided/internal/cast_kernels-inl.h: conversion loops over contiguous elements, compiled once per
// target, and which loop converts which pair. Every result equals strided/convert.h bit for bit.
//
// A Highway "-inl" header: see cast_vectors-inl.h.

#if defined(ENGINE_STRIDED_INTERNAL_CAST_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ENGINE_STRIDED_INTERNAL_CAST_KERNELS_INL_H_
#undef ENGINE_STRIDED_INTERNAL_CAST_KERNELS_INL_H_
#else
#define ENGINE_STRIDED_INTERNAL_CAST_KERNELS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "strided/internal/cast_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

// --- loops of vectors ---

// How many elements a loop converts at a time, and how it marks what does not fit.
template <typename Src, typename Dst>
struct ThroughFloat {
  using DMarks = DU32;
  static constexpr int64_t kBlock = kVectorsPerStore<Dst> * kLanes;
  // 8- and 16-bit targets leave Dst's own bits in the marks.
  static constexpr int kIgnoredBits =
      std::is_integral_v<Dst> && sizeof(Dst) < 4 ? 8 * sizeof(Dst) : 0;
  static constexpr bool kChecks = std::is_integral_v<Dst>;

  template <bool kStream>
  static HWY_INLINE void Cast(const Src* src, Dst* dst, hn::VFromD<DMarks>& marks) {
    CastGroup<kStream>(src, dst, marks);
  }
};

template <typename Src, typename Dst>
struct BetweenIntegers {
  using DMarks = DTested<Src, Dst>;
  static constexpr int64_t kBlock = hn::MaxLanes(DIntegers<Dst>());
  static constexpr int kIgnoredBits = IntegerRangeTest<Src, Dst>().shift;
  static constexpr bool kChecks = kIgnoredBits != 0;

  template <bool kStream>
  static HWY_INLINE void Cast(const Src* src, Dst* dst, hn::VFromD<DMarks>& marks) {
    CastIntegerGroup<kStream>(src, dst, marks);
  }
};

// At least one block; the last one overlaps its predecessor. With kStream, whole blocks.
template <class Way, bool kStream, typename Src, typename Dst>
HWY_INLINE bool CastBlocks(Dst* HWY_RESTRICT dst, const Src* HWY_RESTRICT src, int64_t count) {
  const typename Way::DMarks d;
  constexpr int64_t kBlock = Way::kBlock;
  auto marks = hn::Zero(d);
  int64_t i = 0;
  if constexpr (kStream) {
    for (; i < count; i += kBlock) Way::template Cast<true>(src + i, dst + i, marks);
  } else {
    for (; i + 2 * kBlock <= count; i += 2 * kBlock) {
      Way::template Cast<false>(src + i, dst + i, marks);
      Way::template Cast<false>(src + i + kBlock, dst + i + kBlock, marks);
    }
    if (i + kBlock <= count) {
      Way::template Cast<false>(src + i, dst + i, marks);
      i += kBlock;
    }
    if (i < count) Way::template Cast<false>(src + count - kBlock, dst + count - kBlock, marks);
  }
  if constexpr (Way::kChecks) {
    return hn::AllTrue(d, hn::Eq(hn::ShiftRight<Way::kIgnoredBits>(marks), hn::Zero(d)));
  } else {
    return true;
  }
}

// Fewer elements than a block go through padded copies, so that no byte outside the run is touched.
// Padding is zero, which every type represents.
template <class Way, typename Src, typename Dst>
HWY_NOINLINE bool CastShortRun(std::byte* dst, const std::byte* src, int64_t count) {
  alignas(64) Src padded_src[Way::kBlock];
  alignas(64) Dst padded_dst[Way::kBlock];
  std::memset(padded_src, 0, sizeof(padded_src));
  std::memcpy(padded_src, src, static_cast<size_t>(count) * sizeof(Src));
  const bool all_fit = CastBlocks<Way, false>(padded_dst, padded_src, Way::kBlock);
  std::memcpy(dst, padded_dst, static_cast<size_t>(count) * sizeof(Dst));
  return all_fit;
}

// Any count. Inlined into the loop over rows: a call per row of 64 elements costs as much as they
// do.
template <class Way, typename Src, typename Dst>
HWY_INLINE bool CastVectors(std::byte* dst, const std::byte* src, int64_t count) {
  if (HWY_UNLIKELY(count < Way::kBlock)) return CastShortRun<Way, Src, Dst>(dst, src, count);
  return CastBlocks<Way, false>(reinterpret_cast<Dst*>(dst), reinterpret_cast<const Src*>(src),
                                count);
}

// What a stream leaves over, at its ends.
template <class Way, typename Src, typename Dst>
HWY_NOINLINE bool CastEnd(std::byte* dst, const std::byte* src, int64_t count) {
  return count == 0 || CastVectors<Way, Src, Dst>(dst, src, count);
}

// The same past the caches, but for what is before the first whole line and after the last block.
template <class Way, typename Src, typename Dst>
bool StreamVectors(std::byte* dst, const std::byte* src, int64_t count) {
  const auto to_line = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % kLineBytes);
  const int64_t head = to_line / int64_t{sizeof(Dst)};
  const int64_t body = (count - head) / Way::kBlock * Way::kBlock;
  // Elements that straddle lines never begin one.
  if (to_line % int64_t{sizeof(Dst)} != 0 || body <= 0)
    return CastEnd<Way, Src, Dst>(dst, src, count);
  const int64_t tail = head + body;
  std::byte* const to = dst + head * int64_t{sizeof(Dst)};
  const std::byte* const from = src + head * int64_t{sizeof(Src)};
  if (!CastEnd<Way, Src, Dst>(dst, src, head)) return false;
  if (!CastBlocks<Way, true>(reinterpret_cast<Dst*>(to), reinterpret_cast<const Src*>(from),
                             body)) {
    return false;
  }
  return CastEnd<Way, Src, Dst>(dst + tail * int64_t{sizeof(Dst)},
                                src + tail * int64_t{sizeof(Src)}, count - tail);
}

// --- plain loops that the compiler vectorises for the target ---

template <typename T>
HWY_INLINE T LoadAt(const std::byte* base, int64_t i) {
  T value;
  std::memcpy(&value, base + i * int64_t{sizeof(T)}, sizeof(T));
  return value;
}
template <typename T>
HWY_INLINE void StoreAt(std::byte* base, int64_t i, T value) {
  std::memcpy(base + i * int64_t{sizeof(T)}, &value, sizeof(T));
}

// Integers to floating types, through double as the definition says.
template <typename Src, typename Dst>
HWY_NOINLINE bool CastIntegersToFloating(std::byte* HWY_RESTRICT dst,
                                         const std::byte* HWY_RESTRICT src, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    StoreAt(dst, i, static_cast<Dst>(static_cast<double>(LoadAt<Src>(src, i))));
  }
  return true;
}

// Elements per step of the loops that go over a block twice; the block stays in the L1 cache.
inline constexpr int64_t kBlockElements = 256;

// Floating to integers: a block is tested before it is converted, so that no conversion is
// undefined.
template <typename Src, typename Dst>
HWY_NOINLINE bool CastFloatingToIntegers(std::byte* HWY_RESTRICT dst,
                                         const std::byte* HWY_RESTRICT src, int64_t count) {
  // The open interval of what truncates into Dst. A bound that Src cannot hold exactly is the
  // nearest one further out, with no Src between it and the true bound.
  constexpr Src kAbove =
      Src{2} * static_cast<Src>(uint64_t{1} << (std::numeric_limits<Dst>::digits - 1));
  constexpr bool kExactBelow = std::numeric_limits<Dst>::digits < std::numeric_limits<Src>::digits;
  constexpr Src kBelow = std::is_unsigned_v<Dst> ? Src{-1}
                         : kExactBelow           ? -kAbove - Src{1}
                                       : -kAbove * (Src{1} + std::numeric_limits<Src>::epsilon());
  // As wide as Src, so that the test vectorises.
  using Flags = std::conditional_t<sizeof(Src) == 8, int64_t, int32_t>;
  for (int64_t begin = 0; begin < count; begin += kBlockElements) {
    const int64_t n = count - begin < kBlockElements ? count - begin : kBlockElements;
    const std::byte* const from = src + begin * int64_t{sizeof(Src)};
    std::byte* const to = dst + begin * int64_t{sizeof(Dst)};
    Flags misfits = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Src value = LoadAt<Src>(from, i);
      misfits |= static_cast<Flags>(!((value > kBelow) & (value < kAbove)));
    }
    if (misfits != 0) return false;
    for (int64_t i = 0; i < n; ++i) StoreAt(to, i, static_cast<Dst>(LoadAt<Src>(from, i)));
  }
  return true;
}

using CastFn = bool (*)(std::byte* dst, const std::byte* src, int64_t count);

// Two conversions with a block of floats between them.
template <typename Src, typename Dst, CastFn kFirst, CastFn kSecond>
HWY_NOINLINE bool CastInTwoSteps(std::byte* dst, const std::byte* src, int64_t count) {
  alignas(64) std::byte floats[kBlockElements * sizeof(float)];
  for (int64_t begin = 0; begin < count; begin += kBlockElements) {
    const int64_t n = count - begin < kBlockElements ? count - begin : kBlockElements;
    if (!kFirst(floats, src + begin * int64_t{sizeof(Src)}, n)) return false;
    if (!kSecond(dst + begin * int64_t{sizeof(Dst)}, floats, n)) return false;
  }
  return true;
}

// Plain loops past the caches: through a block in the L1 cache, whose copy out reads nothing from
// memory and so asks for the next block's source.
template <typename Src, typename Dst, CastFn kRun>
bool StreamThroughBlock(std::byte* dst, const std::byte* src, int64_t count) {
  constexpr int64_t kElements = 1024;
  constexpr int64_t kSrcBytes = sizeof(Src);
  constexpr int64_t kDstBytes = sizeof(Dst);
  // Lines of the source for each of the destination.
  constexpr int64_t kSrcPerDst = HWY_MAX(kSrcBytes / kDstBytes, 1);
  const hn::ScalableTag<uint8_t> d;
  constexpr int64_t kVectorBytes = hn::MaxLanes(d);
  alignas(64) uint8_t block[kElements * sizeof(Dst)];
  const auto to_line = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % kLineBytes);
  // Elements that straddle lines never begin one.
  if (to_line % int64_t{sizeof(Dst)} != 0) return kRun(dst, src, count);
  const int64_t head = HWY_MIN(to_line / int64_t{sizeof(Dst)}, count);
  if (!kRun(dst, src, head)) return false;
  for (int64_t i = head; i < count; i += kElements) {
    const int64_t n = HWY_MIN(kElements, count - i);
    if (!kRun(reinterpret_cast<std::byte*>(block), src + i * int64_t{sizeof(Src)}, n)) return false;
    auto* const to = reinterpret_cast<uint8_t*>(dst + i * int64_t{sizeof(Dst)});
    const std::byte* const next = src + (i + kElements) * int64_t{sizeof(Src)};
    const int64_t next_bytes = HWY_MIN(kElements, count - i - n) * int64_t{sizeof(Src)};
    const int64_t bytes = n * int64_t{sizeof(Dst)};
    int64_t byte = 0;
    for (; byte + kLineBytes <= bytes; byte += kLineBytes) {
      for (int64_t b = byte * kSrcPerDst; b < (byte + kLineBytes) * kSrcPerDst; b += kLineBytes) {
        if (b < next_bytes) hwy::Prefetch(next + b);
      }
      for (int64_t v = byte; v < byte + kLineBytes; v += kVectorBytes) {
        hn::Stream(hn::Load(d, block + v), d, to + v);
      }
    }
    std::memcpy(to + byte, block + byte, static_cast<size_t>(bytes - byte));
  }
  return true;
}

// Two forms of a loop: through the caches, and past them.
struct CastLoops {
  CastFn run;
  CastFn stream;
};

template <class Way, typename Src, typename Dst>
constexpr CastLoops VectorLoops() {
  return {CastVectors<Way, Src, Dst>, StreamVectors<Way, Src, Dst>};
}

template <typename Src, typename Dst, CastFn kRun>
constexpr CastLoops PlainLoops() {
  return {kRun, StreamThroughBlock<Src, Dst, kRun>};
}

// One of the loops above over each row of a job.
template <CastFn kRun, CastFn kStream>
bool CastEachRow(const CastRowsJob& job) {
  for (int64_t r = 0; r < job.rows; ++r) {
    std::byte* const dst = job.dst + job.dst_offsets[r];
    const std::byte* const src = job.src + job.src_offsets[r];
    if (!(job.stream ? kStream(dst, src, job.cols) : kRun(dst, src, job.cols))) return false;
  }
  return true;
}

// --- which loop converts which pair ---

template <typename T>
inline constexpr bool kIsHalfType = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <typename T>
inline constexpr bool kIsFloatingType = kIsHalfType<T> || std::is_floating_point_v<T>;
template <typename T>
inline constexpr bool kIsExactFloat = kIsHalfType<T> || std::is_same_v<T, float> ||
                                      (std::is_integral_v<T> && sizeof(T) <= 2);

template <typename Src, typename Dst>
inline constexpr bool kConverts =
    !std::is_same_v<Src, bool> && !std::is_same_v<Dst, bool> && !std::is_same_v<Src, Dst>;

template <typename Src, typename Dst>
constexpr CastLoops SelectPair() {
  using Floats = ThroughFloat<Src, Dst>;
  if constexpr (std::is_integral_v<Src> && std::is_integral_v<Dst>) {
    return VectorLoops<BetweenIntegers<Src, Dst>, Src, Dst>();
  } else if constexpr (kIsFloatingType<Dst>) {
    constexpr bool kThroughFloat = std::is_same_v<Dst, double> ? kIsExactFloat<Src>
                                                               : kIsExactFloat<Src> ||
                                                                     std::is_same_v<Src, int32_t> ||
                                                                     std::is_same_v<Src, double>;
    if constexpr (kThroughFloat) {
      return VectorLoops<Floats, Src, Dst>();
    } else if constexpr (kIsHalfType<Dst>) {
      return PlainLoops<Src, Dst,
                        CastInTwoSteps<Src, Dst, CastIntegersToFloating<Src, float>,
                                       CastVectors<ThroughFloat<float, Dst>, float, Dst>>>();
    } else {
      return PlainLoops<Src, Dst, CastIntegersToFloating<Src, Dst>>();
    }
  } else {
    constexpr bool kSmallTarget = sizeof(Dst) <= 2 || std::is_same_v<Dst, int32_t>;
    if constexpr (kSmallTarget && kIsExactFloat<Src>) {
      return VectorLoops<Floats, Src, Dst>();
    } else if constexpr (kIsHalfType<Src>) {
      return PlainLoops<Src, Dst,
                        CastInTwoSteps<Src, Dst, CastVectors<ThroughFloat<Src, float>, Src, float>,
                                       CastFloatingToIntegers<float, Dst>>>();
    } else {
      return PlainLoops<Src, Dst, CastFloatingToIntegers<Src, Dst>>();
    }
  }
}
#endif  // HWY_TARGET != HWY_SCALAR

// The loop that converts Src into `dst`, or null: the target has none, or the pair does not
// convert.
template <typename Src>
CastRows SelectCast(tensor::DataType dst) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(dst);
  return nullptr;
#else
  return VisitDType(
      dst,
      [](auto tag) -> CastRows {
        using Dst = typename decltype(tag)::type;
        if constexpr (kConverts<Src, Dst>) {
          constexpr CastLoops kLoops = SelectPair<Src, Dst>();
          return CastEachRow<kLoops.run, kLoops.stream>;
        } else {
          return nullptr;
        }
      },
      [](tensor::DataType) -> CastRows { return nullptr; });
#endif
}

// SelectCast of the one of `Sources` that `src` stands for; null when it is none of them.
template <typename... Sources>
CastRows SelectCastFrom(tensor::DataType src, tensor::DataType dst) {
  return VisitDType(
      src,
      [dst](auto tag) -> CastRows {
        using Src = typename decltype(tag)::type;
        if constexpr ((std::is_same_v<Src, Sources> || ...)) {
          return SelectCast<Src>(dst);
        } else {
          return nullptr;
        }
      },
      [](tensor::DataType) -> CastRows { return nullptr; });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
