// Copies of strided rows, of rows by table, and of pixels to planes and back. Highway includes this
// file again for each target (HWY_TARGET_INCLUDE); what is outside the target namespace is compiled
// once (HWY_ONCE).
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "strided/internal/highway_targets.h"
#include "strided/internal/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strided/strided_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

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
template <int64_t kStep, bool kStream, typename T, class Load>
HWY_INLINE void DeinterleaveRow(std::byte* HWY_RESTRICT dst, const std::byte* HWY_RESTRICT src,
                                int64_t count, Load&& load) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  constexpr int64_t kItem = sizeof(T);
  const auto copy_until = [&](int64_t i, int64_t end) HWY_ATTR {
    for (; i < end; ++i) std::memcpy(dst + i * kItem, src + i * kStep * kItem, sizeof(T));
  };
  int64_t i = StreamHead<kStream, T>(dst, count);
  copy_until(0, i);
  for (; i + kLanes < count; i += kLanes) {
    const auto v = load(d, reinterpret_cast<const T*>(src + i * kStep * kItem));
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
    return DeinterleaveRow<2, kStream, T>(
        dst, src, count, [](auto d, const T* from) HWY_ATTR { return LoadEvery<2>(d, from); });
  }
  if (dst_step == 1 && src_step == 4) {
    return DeinterleaveRow<4, kStream, T>(
        dst, src, count, [](auto d, const T* from) HWY_ATTR { return LoadEvery<4>(d, from); });
  }
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    if (dst_step == 1 && src_step == 3) {
      return DeinterleaveRow<3, kStream, T>(dst, src, count, LoadEveryThird());
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

template <bool kStream, typename T>
HWY_INLINE void CopyEachStridedRow(const StridedRowsJob& job) {
  for (int64_t r = 0; r < job.rows; ++r) {
    std::byte* const dst = job.dst + job.dst_offsets[r];
    const std::byte* const src = job.src + job.src_offsets[r];
    // Elements that straddle lines never begin one: nothing to bypass the caches with.
    if (kStream && reinterpret_cast<uintptr_t>(dst) % sizeof(T) == 0) {
      CopyStridedRow<kStream, T>(dst, job.dst_step, src, job.src_step, job.cols);
    } else {
      CopyStridedRow<false, T>(dst, job.dst_step, src, job.src_step, job.cols);
    }
  }
}

// --- rows by table ---

#if HWY_TARGET == HWY_AVX3
// Two vectors as one table, which Highway 1.0 does not offer; `index` counts from the first lane.
HWY_INLINE __m512i LookupInTwo(uint16_t /*item*/, __m512i a, __m512i index, __m512i b) {
  return _mm512_permutex2var_epi16(a, index, b);
}
HWY_INLINE __m512i LookupInTwo(uint32_t /*item*/, __m512i a, __m512i index, __m512i b) {
  return _mm512_permutex2var_epi32(a, index, b);
}
HWY_INLINE __m512i LookupInTwo(uint64_t /*item*/, __m512i a, __m512i index, __m512i b) {
  return _mm512_permutex2var_epi64(a, index, b);
}

// Note [Periodic rows] Small matrices one after another, transposed: the same permutation of
// `period` items again and again. As many periods as a vector has lanes make `period` vectors, and
// the items of each come from two neighbouring vectors of the source, if the period is short. The
// lookups are then the same for every such group.
template <typename T>
class PeriodicRows {
 public:
  static constexpr int64_t kLanes = 64 / sizeof(T);
  static constexpr int64_t kMaxPeriod = 64;

  // False when the rows are not periodic, or too wide for two vectors.
  bool Prepare(const StridedRowsJob& job) {
    const int64_t row_bytes = job.cols * int64_t{sizeof(T)};
    if (job.cols > kMaxPeriod || job.rows < 8 * kLanes) return false;
    // Without a branch, so that the loop is vectorised.
    int64_t differs = 0;
    for (int64_t r = 0; r < job.rows; ++r) {
      differs |= (job.src_offsets[r] - job.src_offsets[0]) ^ (r * row_bytes);
      differs |= (job.dst_offsets[r] - job.dst_offsets[0]) ^ (r * row_bytes);
    }
    if (differs != 0) return false;
    for (int64_t c = 0; c < job.cols; ++c) {
      if (job.src_table[c] < 0 || job.src_table[c] >= row_bytes) return false;
    }
    period_ = job.cols;
    int64_t row_items = 0;
    int64_t col = 0;
    for (int64_t v = 0; v < period_; ++v) {
      int64_t from[kLanes];
      for (int64_t& item : from) {
        item = row_items + job.src_table[col] / int64_t{sizeof(T)};
        if (++col == period_) {
          col = 0;
          row_items += period_;
        }
      }
      if (!PrepareVector(from, v)) return false;
    }
    return true;
  }

  // Copies groups of kLanes rows; returns the rows done. Loads stay within the job's rows.
  int64_t Copy(const StridedRowsJob& job) const {
    const auto* src = reinterpret_cast<const T*>(job.src + job.src_offsets[0]);
    auto* dst = reinterpret_cast<T*>(job.dst + job.dst_offsets[0]);
    int64_t row = 0;
    // The last vector's loads may reach into the next two groups.
    for (; row + kLanes + (2 * kLanes + period_ - 1) / period_ <= job.rows; row += kLanes) {
      for (int64_t v = 0; v < period_; ++v) {
        const T* const from = src + first_[v];
        _mm512_storeu_si512(dst + v * kLanes,
                            LookupInTwo(T{}, _mm512_loadu_si512(from), _mm512_load_si512(index_[v]),
                                        _mm512_loadu_si512(from + kLanes)));
      }
      src += kLanes * period_;
      dst += kLanes * period_;
    }
    return row;
  }

 private:
  // The items of vector `v` are those of the source at `from`.
  bool PrepareVector(const int64_t* from, int64_t v) {
    int64_t first = from[0];
    int64_t last = from[0];
    for (int64_t lane = 1; lane < kLanes; ++lane) {
      first = HWY_MIN(first, from[lane]);
      last = HWY_MAX(last, from[lane]);
    }
    first_[v] = first;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      index_[v][lane] = static_cast<T>(from[lane] - first);
    }
    return last - first < 2 * kLanes;
  }

  int64_t period_ = 0;
  int64_t first_[kMaxPeriod];
  alignas(64) T index_[kMaxPeriod][kLanes];
};
#endif

template <typename T>
HWY_INLINE void CopyTabledRows(const StridedRowsJob& job) {
  int64_t row = 0;
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) > 1) {
    PeriodicRows<T> periodic;
    if (periodic.Prepare(job)) row = periodic.Copy(job);
  }
#endif
  for (; row < job.rows; ++row) {
    std::byte* const dst = job.dst + job.dst_offsets[row];
    const std::byte* const src = job.src + job.src_offsets[row];
    for (int64_t c = 0; c < job.cols; ++c) {
      std::memcpy(dst + c * int64_t{sizeof(T)}, src + job.src_table[c], sizeof(T));
    }
  }
}

template <typename T>
void CopyStridedRowsOf(const StridedRowsJob& job) {
  if (job.src_table != nullptr) return CopyTabledRows<T>(job);
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

Interleave InterleaveFor(Target target, int item_bytes) {
  static constexpr Interleave (*kTable[])(int) = ENGINE_TARGET_TABLE(SelectInterleave);
  return kTable[static_cast<std::size_t>(target)](item_bytes);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
