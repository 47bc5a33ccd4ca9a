// Copies of strided rows, of rows by table, and of pixels to planes and back. Highway includes this
// file again for each target (HWY_TARGET_INCLUDE); what is outside the target namespace is compiled
// once (HWY_ONCE).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "strided/internal/highway_targets.h"
#include "strided/internal/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strided/strided_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "strided/internal/periodic_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// --- strided rows ---

// Every second or fourth element of a run of vectors: kStep loads, then selections. Elements
// between the wanted ones are read, never one after the last.
template <int64_t kStep, class D, typename T>
HWY_INLINE hn::VFromD<D> LoadEvery(D d, const T* HWY_RESTRICT src) {
  const auto load = [&](int64_t k) HWY_ATTR {
    return hn::LoadU(d, src + k * static_cast<int64_t>(hn::MaxLanes(d)));
  };
  if constexpr (kStep == 2) {
    return hn::ConcatEven(d, load(1), load(0));
  } else {
    static_assert(kStep == 4);
    return hn::ConcatEven(d, hn::ConcatEven(d, load(3), load(2)),
                          hn::ConcatEven(d, load(1), load(0)));
  }
}

// Elements until the destination's next whole line; 0 when the stores do not bypass the caches.
template <bool kStream, typename T>
HWY_INLINE int64_t StreamHead(const std::byte* dst, int64_t count) {
  if constexpr (!kStream) return 0;
  const auto address = reinterpret_cast<uintptr_t>(dst);
  return HWY_MIN(count, static_cast<int64_t>(-address % kLineBytes / sizeof(T)));
}

// A row whose vectors load(d, i) selects. Elements one by one up to the first whole line, and where
// a vector's loads would reach past the row's last element.
template <bool kStream, typename T, class Load>
HWY_INLINE void DeinterleaveRow(std::byte* HWY_RESTRICT dst, const std::byte* HWY_RESTRICT src,
                                int64_t step, int64_t count, Load&& load) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  constexpr int64_t kItem = sizeof(T);
  const auto copy_until = [&](int64_t i, int64_t end) HWY_ATTR {
    for (; i < end; ++i) std::memcpy(dst + i * kItem, src + i * step * kItem, sizeof(T));
  };
  int64_t i = StreamHead<kStream, T>(dst, count);
  copy_until(0, i);
  for (; i + kLanes < count; i += kLanes) {
    const auto v = load(d, reinterpret_cast<const T*>(src + i * step * kItem));
    T* const to = reinterpret_cast<T*>(dst + i * kItem);
    if constexpr (kStream) {
      hn::Stream(v, d, to);
    } else {
      hn::StoreU(v, d, to);
    }
  }
  copy_until(i, count);
}

#if HWY_TARGET == HWY_AVX3
// Every third of three vectors of 4-byte elements, by two lookups in pairs of vectors (which
// Highway 1.0 does not offer).
struct LoadEveryThird {
  // Lanes 0..10 come from the first two vectors (elements 0, 3, .. 30), the rest from the third.
  alignas(64) static constexpr uint32_t kFirst[16] = {0,  3,  6,  9, 12, 15, 18, 21,
                                                      24, 27, 30, 0, 0,  0,  0,  0};
  alignas(64) static constexpr uint32_t kSecond[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                       8, 9, 10, 17, 20, 23, 26, 29};

  template <class D>
  HWY_INLINE hn::VFromD<D> operator()(D /*d*/, const uint32_t* from) const {
    const __m512i low = _mm512_permutex2var_epi32(
        _mm512_loadu_si512(from), _mm512_load_si512(kFirst), _mm512_loadu_si512(from + 16));
    return hn::VFromD<D>{
        _mm512_permutex2var_epi32(low, _mm512_load_si512(kSecond), _mm512_loadu_si512(from + 32))};
  }
};

// Every step-th element of `step` vectors: a lookup in each, which keeps what it has.
template <typename T>
class LoadEveryNth {
 public:
  static constexpr int64_t kMinStep = 3;
  // From here on, as many loads as elements.
  static constexpr int64_t kMaxStep = 8;

  explicit LoadEveryNth(int64_t step) : step_(step) {
    for (int64_t k = 0; k < step; ++k) {
      masks_[k] = 0;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t from = lane * step - k * kLanes;
        const bool inside = from >= 0 && from < kLanes;
        index_[k][lane] = static_cast<T>(inside ? from : 0);
        masks_[k] |= uint64_t{inside} << lane;
      }
    }
  }

  template <class D>
  HWY_INLINE hn::VFromD<D> operator()(D /*d*/, const T* from) const {
    __m512i v = _mm512_setzero_si512();
    for (int64_t k = 0; k < step_; ++k) {
      v = MaskedLookup(T{}, v, masks_[k], _mm512_load_si512(index_[k]),
                       _mm512_loadu_si512(from + k * kLanes));
    }
    return hn::VFromD<D>{v};
  }

 private:
  static constexpr int64_t kLanes = 64 / sizeof(T);

  int64_t step_;
  uint64_t masks_[kMaxStep];
  alignas(64) T index_[kMaxStep][kLanes];
};
#endif

template <typename T>
HWY_INLINE void FillRow(std::byte* dst, const std::byte* value, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  constexpr int64_t kItem = sizeof(T);
  T item;
  std::memcpy(&item, value, sizeof(T));
  const auto v = hn::Set(d, item);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(v, d, reinterpret_cast<T*>(dst + i * kItem));
  }
  for (; i < count; ++i) std::memcpy(dst + i * kItem, &item, sizeof(T));
}

template <bool kStream, typename T>
HWY_INLINE void CopyStridedRow(std::byte* HWY_RESTRICT dst, int64_t dst_step,
                               const std::byte* HWY_RESTRICT src, int64_t src_step, int64_t count) {
  if (dst_step == 1 && src_step == 2) {
    return DeinterleaveRow<kStream, T>(
        dst, src, 2, count, [](auto d, const T* from) HWY_ATTR { return LoadEvery<2>(d, from); });
  }
  if (dst_step == 1 && src_step == 4) {
    return DeinterleaveRow<kStream, T>(
        dst, src, 4, count, [](auto d, const T* from) HWY_ATTR { return LoadEvery<4>(d, from); });
  }
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    if (dst_step == 1 && src_step == 3) {
      return DeinterleaveRow<kStream, T>(dst, src, 3, count, LoadEveryThird());
    }
  }
#endif
  if (dst_step == 1 && src_step == 0) return FillRow<T>(dst, src, count);
  const int64_t dst_bytes = dst_step * int64_t{sizeof(T)};
  const int64_t src_bytes = src_step * int64_t{sizeof(T)};
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(dst + i * dst_bytes, src + i * src_bytes, sizeof(T));
  }
}

// Calls copy(std::bool_constant<stream>, dst, src) for each row.
template <bool kStream, typename T, class Copy>
HWY_INLINE void ForEachStridedRow(const StridedRowsJob& job, Copy&& copy) {
  for (int64_t r = 0; r < job.rows; ++r) {
    std::byte* const dst = job.dst + job.dst_offsets[r];
    const std::byte* const src = job.src + job.src_offsets[r];
    // Elements that straddle lines never begin one: nothing to bypass the caches with.
    if (kStream && reinterpret_cast<uintptr_t>(dst) % sizeof(T) == 0) {
      copy(std::bool_constant<kStream>(), dst, src);
    } else {
      copy(std::false_type(), dst, src);
    }
  }
}

template <bool kStream, typename T>
HWY_INLINE void CopyEachStridedRow(const StridedRowsJob& job) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) > 1) {
    using Load = LoadEveryNth<T>;
    const bool selects = job.dst_step == 1 && job.src_step >= Load::kMinStep &&
                         job.src_step <= Load::kMaxStep && job.src_step != 4 &&
                         !(sizeof(T) == 4 && job.src_step == 3);
    if (selects && job.rows * job.cols >= 8 * int64_t{64 / sizeof(T)}) {
      const Load load(job.src_step);
      return ForEachStridedRow<kStream, T>(
          job, [&](auto stream, std::byte* dst, const std::byte* src) HWY_ATTR {
            DeinterleaveRow<decltype(stream)::value, T>(dst, src, job.src_step, job.cols, load);
          });
    }
  }
#endif
  ForEachStridedRow<kStream, T>(
      job, [&](auto stream, std::byte* dst, const std::byte* src) HWY_ATTR {
        CopyStridedRow<decltype(stream)::value, T>(dst, job.dst_step, src, job.src_step, job.cols);
      });
}

// --- rows by table ---

template <typename T>
void CopyTabledRowsOf(const TabledRowsJob& job) {
#if HWY_TARGET == HWY_AVX3
  constexpr bool kLooksUp = sizeof(T) > 1;
  PeriodicRows<std::conditional_t<kLooksUp, T, uint16_t>> periodic;
  const bool is_periodic = kLooksUp && job.dst_step == job.cols * int64_t{sizeof(T)} &&
                           periodic.Prepare(job.src_table, job.cols, job.src_step);
#endif
  for (int64_t k = 0; k < job.runs; ++k) {
    std::byte* const dst = job.dst + job.dst_offsets[k];
    const std::byte* const src = job.src + job.src_offsets[k];
    int64_t row = 0;
#if HWY_TARGET == HWY_AVX3
    if (is_periodic) row = periodic.Copy(dst, src, job.rows);
#endif
    for (; row < job.rows; ++row) {
      std::byte* const to = dst + row * job.dst_step;
      const std::byte* const from = src + row * job.src_step;
      for (int64_t c = 0; c < job.cols; ++c) {
        std::memcpy(to + c * int64_t{sizeof(T)}, from + job.src_table[c], sizeof(T));
      }
    }
  }
}

template <typename T>
void CopyStridedRowsOf(const StridedRowsJob& job) {
  job.regime == Regime::kMemory ? CopyEachStridedRow<true, T>(job)
                                : CopyEachStridedRow<false, T>(job);
}

// --- channels ---

// The first lanes of what is left go element by element.
template <int64_t kChannels, typename T>
HWY_INLINE void InterleaveRest(const InterleaveJob& job, int64_t first) {
  constexpr int64_t kItem = sizeof(T);
  for (int64_t i = first; i < job.count; ++i) {
    for (int64_t k = 0; k < kChannels; ++k) {
      const int64_t in_plane = k * job.plane_bytes + i * kItem;
      const int64_t in_pixel = (i * kChannels + k) * kItem;
      std::memcpy(job.dst + (job.to_planes ? in_plane : in_pixel),
                  job.src + (job.to_planes ? in_pixel : in_plane), sizeof(T));
    }
  }
}

template <int64_t kChannels, typename T>
HWY_INLINE void SplitPixels(const InterleaveJob& job) {
  const hn::ScalableTag<T> d;
  using V = hn::VFromD<decltype(d)>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const auto plane = [&](int64_t k, int64_t i) HWY_ATTR {
    return reinterpret_cast<T*>(job.dst + k * job.plane_bytes) + i;
  };
  int64_t i = 0;
  for (; i + kLanes <= job.count; i += kLanes) {
    const T* const from = reinterpret_cast<const T*>(job.src) + i * kChannels;
    V v0;
    V v1;
    V v2;
    V v3;
    if constexpr (kChannels == 2) hn::LoadInterleaved2(d, from, v0, v1);
    if constexpr (kChannels == 3) hn::LoadInterleaved3(d, from, v0, v1, v2);
    if constexpr (kChannels == 4) hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
    hn::StoreU(v0, d, plane(0, i));
    hn::StoreU(v1, d, plane(1, i));
    if constexpr (kChannels >= 3) hn::StoreU(v2, d, plane(2, i));
    if constexpr (kChannels >= 4) hn::StoreU(v3, d, plane(3, i));
  }
  InterleaveRest<kChannels, T>(job, i);
}

template <int64_t kChannels, typename T>
HWY_INLINE void JoinPlanes(const InterleaveJob& job) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  const auto load = [&](int64_t k) HWY_ATTR {
    return hn::LoadU(d, reinterpret_cast<const T*>(job.src + k * job.plane_bytes) + i);
  };
  for (; i + kLanes <= job.count; i += kLanes) {
    T* const to = reinterpret_cast<T*>(job.dst) + i * kChannels;
    if constexpr (kChannels == 2) hn::StoreInterleaved2(load(0), load(1), d, to);
    if constexpr (kChannels == 3) hn::StoreInterleaved3(load(0), load(1), load(2), d, to);
    if constexpr (kChannels == 4) hn::StoreInterleaved4(load(0), load(1), load(2), load(3), d, to);
  }
  InterleaveRest<kChannels, T>(job, i);
}

template <typename T>
void InterleaveOf(const InterleaveJob& job) {
  switch (job.channels) {
    case 2:
      return job.to_planes ? SplitPixels<2, T>(job) : JoinPlanes<2, T>(job);
    case 3:
      return job.to_planes ? SplitPixels<3, T>(job) : JoinPlanes<3, T>(job);
    default:
      return job.to_planes ? SplitPixels<4, T>(job) : JoinPlanes<4, T>(job);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace

#if HWY_TARGET == HWY_SCALAR
CopyStridedRows SelectCopyStridedRows(int) { return nullptr; }
CopyTabledRows SelectCopyTabledRows(int) { return nullptr; }
Interleave SelectInterleave(int) { return nullptr; }
#else
CopyStridedRows SelectCopyStridedRows(int item_bytes) {
  switch (item_bytes) {
    case 1:
      return CopyStridedRowsOf<uint8_t>;
    case 2:
      return CopyStridedRowsOf<uint16_t>;
    case 4:
      return CopyStridedRowsOf<uint32_t>;
    default:
      return CopyStridedRowsOf<uint64_t>;
  }
}

CopyTabledRows SelectCopyTabledRows(int item_bytes) {
  switch (item_bytes) {
    case 1:
      return CopyTabledRowsOf<uint8_t>;
    case 2:
      return CopyTabledRowsOf<uint16_t>;
    case 4:
      return CopyTabledRowsOf<uint32_t>;
    default:
      return CopyTabledRowsOf<uint64_t>;
  }
}

Interleave SelectInterleave(int item_bytes) {
  switch (item_bytes) {
    case 1:
      return InterleaveOf<uint8_t>;
    case 2:
      return InterleaveOf<uint16_t>;
    case 4:
      return InterleaveOf<uint32_t>;
    default:
      return InterleaveOf<uint64_t>;
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

CopyStridedRows CopyStridedRowsFor(Target target, int item_bytes) {
  static constexpr CopyStridedRows (*kTable[])(int) = ENGINE_TARGET_TABLE(SelectCopyStridedRows);
  return kTable[static_cast<std::size_t>(target)](item_bytes);
}

CopyTabledRows CopyTabledRowsFor(Target target, int item_bytes) {
  static constexpr CopyTabledRows (*kTable[])(int) = ENGINE_TARGET_TABLE(SelectCopyTabledRows);
  return kTable[static_cast<std::size_t>(target)](item_bytes);
}

Interleave InterleaveFor(Target target, int item_bytes) {
  static constexpr Interleave (*kTable[])(int) = ENGINE_TARGET_TABLE(SelectInterleave);
  return kTable[static_cast<std::size_t>(target)](item_bytes);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
