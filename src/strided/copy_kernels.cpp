// Copies of contiguous and strided rows. Highway includes this file again for each target
// (HWY_TARGET_INCLUDE); what is outside the target namespace is compiled once (HWY_ONCE).
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "strided/internal/highway_targets.h"
#include "strided/internal/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strided/copy_kernels.cpp"
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

template <size_t kBytes>
using UInt = hwy::UnsignedFromSize<kBytes>;

using DBytes = hn::ScalableTag<uint8_t>;
constexpr int64_t kVectorBytes = hn::MaxLanes(DBytes());

// --- contiguous rows ---

// Fewer bytes than a vector: two overlapping copies of the largest power of two that fits.
HWY_INLINE void CopyShort(uint8_t* HWY_RESTRICT dst, const uint8_t* HWY_RESTRICT src,
                          int64_t bytes) {
  const auto twice = [&](auto word) HWY_ATTR {
    constexpr int64_t kWord = sizeof(word);
    auto last = word;
    std::memcpy(&word, src, kWord);
    std::memcpy(&last, src + bytes - kWord, kWord);
    std::memcpy(dst, &word, kWord);
    std::memcpy(dst + bytes - kWord, &last, kWord);
  };
  struct Bytes16 {
    uint64_t words[2];
  };
  struct Bytes32 {
    uint64_t words[4];
  };
  if (bytes >= 32) return twice(Bytes32{});
  if (bytes >= 16) return twice(Bytes16{});
  if (bytes >= 8) return twice(uint64_t{});
  if (bytes >= 4) return twice(uint32_t{});
  if (bytes >= 2) return twice(uint16_t{});
  if (bytes == 1) *dst = *src;
}

template <bool kStream>
HWY_INLINE void CopyRow(uint8_t* HWY_RESTRICT dst, const uint8_t* HWY_RESTRICT src, int64_t bytes) {
  const DBytes d;
  if (bytes < kVectorBytes) return CopyShort(dst, src, bytes);
  int64_t i = 0;
  if constexpr (kStream) {
    // Streaming stores want whole aligned lines; the head goes through the caches.
    const int64_t head = static_cast<int64_t>(-reinterpret_cast<intptr_t>(dst) & 63);
    const int64_t rounded = (head + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
    if (bytes >= rounded + 64) {
      for (; i < head; i += kVectorBytes) hn::StoreU(hn::LoadU(d, src + i), d, dst + i);
      i = head;
      for (; i + 64 <= bytes; i += 64) {
        HWY_UNROLL(4)
        for (int64_t k = 0; k < 64; k += kVectorBytes) {
          hn::Stream(hn::LoadU(d, src + i + k), d, dst + i + k);
        }
      }
    }
  }
  for (; i + 2 * kVectorBytes <= bytes; i += 2 * kVectorBytes) {
    const auto a = hn::LoadU(d, src + i);
    const auto b = hn::LoadU(d, src + i + kVectorBytes);
    hn::StoreU(a, d, dst + i);
    hn::StoreU(b, d, dst + i + kVectorBytes);
  }
  for (; i + kVectorBytes <= bytes; i += kVectorBytes) {
    hn::StoreU(hn::LoadU(d, src + i), d, dst + i);
  }
  if (i < bytes) {
    hn::StoreU(hn::LoadU(d, src + bytes - kVectorBytes), d, dst + bytes - kVectorBytes);
  }
}

template <bool kStream>
HWY_INLINE void CopyRowsLoop(const RowsJob& job) {
  for (int64_t r = 0; r < job.rows; ++r) {
    CopyRow<kStream>(reinterpret_cast<uint8_t*>(job.dst + job.dst_offsets[r]),
                     reinterpret_cast<const uint8_t*>(job.src + job.src_offsets[r]), job.row_bytes);
  }
}

void CopyContiguousRows(const RowsJob& job) {
  if (!job.stream) return CopyRowsLoop<false>(job);
  CopyRowsLoop<true>(job);
  hwy::FlushStream();
}

// --- strided rows ---

// Every second, third or fourth element of a run of vectors: kStep loads, then selections. Elements
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

template <int64_t kStep, typename T>
HWY_INLINE void DeinterleaveRow(T* HWY_RESTRICT dst, const T* HWY_RESTRICT src, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  // Strictly less: the loads of the last block would reach past the row's last element.
  for (; i + kLanes < count; i += kLanes) {
    hn::StoreU(LoadEvery<kStep>(d, src + i * kStep), d, dst + i);
  }
  for (; i < count; ++i) std::memcpy(dst + i, src + i * kStep, sizeof(T));
}

#if HWY_TARGET == HWY_AVX3
// Every third of three vectors of 4-byte elements, by two lookups in pairs of vectors (which
// Highway 1.0 does not offer).
HWY_INLINE void DeinterleaveBy3(uint32_t* HWY_RESTRICT dst, const uint32_t* HWY_RESTRICT src,
                                int64_t count) {
  // Lanes 0..10 come from the first two vectors (elements 0, 3, .. 30), the rest from the third.
  alignas(64) static constexpr uint32_t kFirst[16] = {0,  3,  6,  9, 12, 15, 18, 21,
                                                      24, 27, 30, 0, 0,  0,  0,  0};
  alignas(64) static constexpr uint32_t kSecond[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                       8, 9, 10, 17, 20, 23, 26, 29};
  const __m512i first = _mm512_load_si512(kFirst);
  const __m512i second = _mm512_load_si512(kSecond);
  int64_t i = 0;
  for (; i + 16 < count; i += 16) {
    const uint32_t* const from = src + 3 * i;
    const __m512i low =
        _mm512_permutex2var_epi32(_mm512_loadu_si512(from), first, _mm512_loadu_si512(from + 16));
    _mm512_storeu_si512(dst + i,
                        _mm512_permutex2var_epi32(low, second, _mm512_loadu_si512(from + 32)));
  }
  for (; i < count; ++i) std::memcpy(dst + i, src + 3 * i, sizeof(uint32_t));
}
#endif

template <typename T>
HWY_INLINE void CopyStridedRow(T* HWY_RESTRICT dst, int64_t dst_step, const T* HWY_RESTRICT src,
                               int64_t src_step, int64_t count) {
  if (dst_step == 1 && src_step == 2) return DeinterleaveRow<2>(dst, src, count);
  if (dst_step == 1 && src_step == 4) return DeinterleaveRow<4>(dst, src, count);
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    if (dst_step == 1 && src_step == 3) return DeinterleaveBy3(dst, src, count);
  }
#endif
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(dst + i * dst_step, src + i * src_step, sizeof(T));
  }
}

template <typename T>
void CopyStridedRowsOf(const StridedRowsJob& job) {
  for (int64_t r = 0; r < job.rows; ++r) {
    CopyStridedRow(reinterpret_cast<T*>(job.dst + job.dst_offsets[r]), job.dst_step,
                   reinterpret_cast<const T*>(job.src + job.src_offsets[r]), job.src_step,
                   job.cols);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace

#if HWY_TARGET == HWY_SCALAR
CopyRows SelectCopyRows() { return nullptr; }
CopyStridedRows SelectCopyStridedRows(int) { return nullptr; }
#else
CopyRows SelectCopyRows() { return CopyContiguousRows; }

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
#endif

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

CopyRows CopyRowsFor(Target target) {
  static constexpr CopyRows (*kTable[])() = ENGINE_TARGET_TABLE(SelectCopyRows);
  return kTable[static_cast<std::size_t>(target)]();
}

CopyStridedRows CopyStridedRowsFor(Target target, int item_bytes) {
  static constexpr CopyStridedRows (*kTable[])(int) = ENGINE_TARGET_TABLE(SelectCopyStridedRows);
  return kTable[static_cast<std::size_t>(target)](item_bytes);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
