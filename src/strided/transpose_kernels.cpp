// Matrix transposes in registers, for items of 1, 2, 4 and 8 bytes. Highway includes this file
// again for each target (HWY_TARGET_INCLUDE); what is outside the target namespace is compiled once
// (HWY_ONCE).
//
// Note [Transpose tile] With N lanes in a vector and L items in 16 bytes, a tile takes N source
// rows and L columns. L vectors are gathered so that the b-th 16-byte block of vector i holds
// columns c..c+L-1 of row b*L + i; log2(L) rounds of in-block interleaves then leave column c + i,
// all N rows of it, in vector i: one full store per column. Two ways to gather: 16-byte loads, or
// (full_lines) loads of 32 or 64 bytes whose blocks are exchanged between vectors, so that each
// source line is touched once, which matters when the source rows alias in the cache.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "strided/internal/highway_targets.h"
#include "strided/internal/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strided/transpose_kernels.cpp"
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

constexpr size_t Log2(size_t n) { return n <= 1 ? 0 : 1 + Log2(n / 2); }

// Source blocks (16 bytes) that one load takes in the full_lines form.
#if HWY_TARGET == HWY_AVX3
constexpr size_t kMaxBlocksPerLoad = 4;
#elif HWY_TARGET == HWY_AVX2
constexpr size_t kMaxBlocksPerLoad = 2;
#else
constexpr size_t kMaxBlocksPerLoad = 1;
#endif

#if HWY_TARGET == HWY_AVX3
// Highway 1.0 has no shuffle of 16-byte blocks from two vectors: even blocks of a then of b, and
// odd.
template <class V>
HWY_INLINE V EvenBlocks(V a, V b) {
  return V{_mm512_shuffle_i64x2(a.raw, b.raw, 0x88)};
}
template <class V>
HWY_INLINE V OddBlocks(V a, V b) {
  return V{_mm512_shuffle_i64x2(a.raw, b.raw, 0xDD)};
}
#endif

// The vector whose b-th block is 16 bytes at rows[b * kStep] + offset.
template <size_t kStep, class D>
HWY_INLINE hn::VFromD<D> GatherBlocks(D d, const std::byte* const* rows, int64_t offset) {
  using T = hn::TFromD<D>;
  constexpr size_t kBlocks = hn::MaxLanes(d) * sizeof(T) / 16;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(d, reinterpret_cast<const T*>(rows[0] + offset));
#if HWY_TARGET == HWY_AVX3
  } else if constexpr (kBlocks == 4) {
    // Masked broadcasts from memory: loads and blends, where Combine would use the shuffle port.
    const auto block = [&](size_t b) HWY_ATTR {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[b * kStep] + offset));
    };
    __m512i v = _mm512_castsi128_si512(block(0));
    v = _mm512_mask_broadcast_i32x4(v, 0x00F0, block(1));
    v = _mm512_mask_broadcast_i32x4(v, 0x0F00, block(2));
    v = _mm512_mask_broadcast_i32x4(v, 0xF000, block(3));
    return hn::VFromD<D>{v};
#endif
  } else {
    const hn::Half<D> dh;
    return hn::Combine(d, GatherBlocks<kStep>(dh, rows + kStep * kBlocks / 2, offset),
                       GatherBlocks<kStep>(dh, rows, offset));
  }
}

// Gathers the blocks of kQ neighbouring tiles with loads of kQ blocks: out[k * kStep] is what
// GatherBlocks gives for the k-th.
template <size_t kQ, size_t kStep, class D>
HWY_INLINE void GatherTiles(D d, const std::byte* const* rows, int64_t offset,
                            hn::VFromD<D>* HWY_RESTRICT out) {
  using T = hn::TFromD<D>;
  [[maybe_unused]] const auto row = [&](size_t b) {
    return reinterpret_cast<const T*>(rows[b * kStep] + offset);
  };
  if constexpr (kQ == 1) {
    out[0] = GatherBlocks<kStep>(d, rows, offset);
#if HWY_TARGET == HWY_AVX3
  } else if constexpr (kQ == 4) {
    const auto a0 = hn::LoadU(d, row(0));
    const auto a1 = hn::LoadU(d, row(1));
    const auto a2 = hn::LoadU(d, row(2));
    const auto a3 = hn::LoadU(d, row(3));
    const auto even01 = EvenBlocks(a0, a1);
    const auto odd01 = OddBlocks(a0, a1);
    const auto even23 = EvenBlocks(a2, a3);
    const auto odd23 = OddBlocks(a2, a3);
    out[0] = EvenBlocks(even01, even23);
    out[kStep] = EvenBlocks(odd01, odd23);
    out[2 * kStep] = OddBlocks(even01, even23);
    out[3 * kStep] = OddBlocks(odd01, odd23);
  } else {
    const hn::Half<D> dh;
    const auto a01 = hn::Combine(d, hn::LoadU(dh, row(1)), hn::LoadU(dh, row(0)));
    const auto a23 = hn::Combine(d, hn::LoadU(dh, row(3)), hn::LoadU(dh, row(2)));
    out[0] = EvenBlocks(a01, a23);
    out[kStep] = OddBlocks(a01, a23);
  }
#else
  } else {
    const auto a0 = hn::LoadU(d, row(0));
    const auto a1 = hn::LoadU(d, row(1));
    out[0] = hn::ConcatLowerLower(d, a1, a0);
    out[kStep] = hn::ConcatUpperUpper(d, a1, a0);
  }
#endif
}

// Rounds kRound.. of the interleaves: afterwards v[i] holds column i.
template <size_t kRound, class D>
HWY_INLINE void InterleaveRounds(D d, hn::VFromD<D>* HWY_RESTRICT v) {
  using T = hn::TFromD<D>;
  constexpr size_t kItems = 16 / sizeof(T);
  if constexpr (kRound < Log2(kItems)) {
    const hn::Repartition<UInt<(sizeof(T) << kRound)>, D> wide;
    constexpr size_t kHalf = size_t{1} << kRound;
    hn::VFromD<D> next[kItems];
    HWY_UNROLL(16)
    for (size_t i = 0; i < kItems / 2; ++i) {
      // Group g of 2 * kHalf vectors, position j in its lower half.
      const size_t g = i / kHalf * 2 * kHalf;
      const size_t j = i % kHalf;
      const auto a = hn::BitCast(wide, v[g + j]);
      const auto b = hn::BitCast(wide, v[g + j + kHalf]);
      next[g + 2 * j] = hn::BitCast(d, hn::InterleaveLower(wide, a, b));
      next[g + 2 * j + 1] = hn::BitCast(d, hn::InterleaveUpper(wide, a, b));
    }
    HWY_UNROLL(16)
    for (size_t i = 0; i < kItems; ++i) v[i] = next[i];
    InterleaveRounds<kRound + 1>(d, v);
  }
}

// Columns [c, c + kQ * L) of N rows.
template <size_t kQ, bool kStream, class D>
HWY_INLINE void TransposeTiles(D d, const std::byte* const* rows, std::byte* dst,
                               const int64_t* dst_offsets, int64_t c) {
  using T = hn::TFromD<D>;
  constexpr size_t kItems = 16 / sizeof(T);
  hn::VFromD<D> v[kItems * kQ];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kItems; ++i) {
    GatherTiles<kQ, kItems>(d, rows + i, c * int64_t{sizeof(T)}, v + i);
  }
  HWY_UNROLL(4)
  for (size_t k = 0; k < kQ; ++k) InterleaveRounds<0>(d, v + k * kItems);
  HWY_UNROLL(16)
  for (size_t i = 0; i < kItems * kQ; ++i) {
    T* const to = reinterpret_cast<T*>(dst + dst_offsets[c + static_cast<int64_t>(i)]);
    if constexpr (kStream) {
      hn::Stream(v[i], d, to);
    } else {
      hn::StoreU(v[i], d, to);
    }
  }
}

// What TransposeJob says of prefetching, for the `count` rows from `row` on.
class TilePrefetch {
 public:
  TilePrefetch(const TransposeJob& job, int64_t row, int64_t count, int64_t item_bytes)
      : src_(job.src),
        offsets_(job.src_offsets + row + job.prefetch_rows),
        count_(row + job.prefetch_rows + count <= job.rows ? count : 0),
        item_bytes_(item_bytes),
        ahead_(job.prefetch_bytes),
        row_bytes_(job.cols * item_bytes) {}

  // Called at each tile; a line of the source may span several.
  HWY_INLINE void Ask(int64_t col) const {
    const int64_t byte = col * item_bytes_;
    if (byte % kLineBytes != 0 || byte + ahead_ >= row_bytes_) return;
    for (int64_t i = 0; i < count_; ++i) hwy::Prefetch(src_ + offsets_[i] + byte + ahead_);
  }

 private:
  const std::byte* src_;
  const int64_t* offsets_;
  int64_t count_;
  int64_t item_bytes_;
  int64_t ahead_;
  int64_t row_bytes_;
};

// The N rows from `row` on; at least L columns. The last tile overlaps its predecessor, and is then
// stored through the caches.
template <size_t kQ, bool kStream, class D>
HWY_NOINLINE void TransposeStrip(D d, const TransposeJob& job, int64_t row) {
  using T = hn::TFromD<D>;
  constexpr int64_t kItems = 16 / sizeof(T);
  constexpr size_t kRows = hn::MaxLanes(d);
  const std::byte* rows[kRows];
  for (size_t i = 0; i < kRows; ++i) {
    rows[i] = job.src + job.src_offsets[row + static_cast<int64_t>(i)];
  }
  std::byte* const dst = job.dst + row * int64_t{sizeof(T)};
  [[maybe_unused]] const TilePrefetch prefetch(job, kStream ? row : 0, kRows, sizeof(T));
  int64_t c = 0;
  for (; c + kItems * int64_t{kQ} <= job.cols; c += kItems * int64_t{kQ}) {
    if constexpr (kStream) prefetch.Ask(c);
    TransposeTiles<kQ, kStream>(d, rows, dst, job.dst_offsets, c);
  }
  if constexpr (kQ > 1) {
    for (; c + kItems <= job.cols; c += kItems) {
      TransposeTiles<1, kStream>(d, rows, dst, job.dst_offsets, c);
    }
  }
  if (c < job.cols) TransposeTiles<1, false>(d, rows, dst, job.dst_offsets, job.cols - kItems);
}

// Element by element, for matrices smaller than a 16-byte tile.
template <typename T>
HWY_INLINE void TransposeElements(const TransposeJob& job) {
  for (int64_t c = 0; c < job.cols; ++c) {
    for (int64_t r = 0; r < job.rows; ++r) {
      std::memcpy(job.dst + job.dst_offsets[c] + r * int64_t{sizeof(T)},
                  job.src + job.src_offsets[r] + c * int64_t{sizeof(T)}, sizeof(T));
    }
  }
}

// Strips of N rows, the last one overlapping; fewer rows than N take narrower vectors.
template <size_t kQ, bool kStream, class D>
HWY_INLINE void TransposeRows(D d, const TransposeJob& job) {
  using T = hn::TFromD<D>;
  constexpr int64_t kRows = hn::MaxLanes(d);
  if (job.rows >= kRows) {
    int64_t row = 0;
    for (; row + kRows <= job.rows; row += kRows) TransposeStrip<kQ, kStream>(d, job, row);
    if (row < job.rows) TransposeStrip<kQ, false>(d, job, job.rows - kRows);
  } else if constexpr (kRows * sizeof(T) > 16) {
    TransposeRows<1, false>(hn::Half<D>(), job);
  } else {
    TransposeElements<T>(job);
  }
}

template <typename T>
void TransposeMatrix(const TransposeJob& job) {
  const hn::ScalableTag<T> d;
  if (job.cols < int64_t{16 / sizeof(T)}) return TransposeElements<T>(job);
  // A narrower vector would bypass the caches with parts of lines.
  const bool stream = job.stream && hn::MaxLanes(d) * sizeof(T) == kLineBytes;
  // Loads as wide as leave all vectors of a tile in registers: 16 at most.
  constexpr size_t kQ = HWY_MIN(kMaxBlocksPerLoad, sizeof(T) == 1 ? 1 : sizeof(T) == 2 ? 2 : 4);
  if (kQ > 1 && job.full_lines) {
    stream ? TransposeRows<kQ, true>(d, job) : TransposeRows<kQ, false>(d, job);
  } else {
    stream ? TransposeRows<1, true>(d, job) : TransposeRows<1, false>(d, job);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace

Transpose SelectTranspose(int item_bytes) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(item_bytes);
  return nullptr;
#else
  switch (item_bytes) {
    case 1:
      return TransposeMatrix<uint8_t>;
    case 2:
      return TransposeMatrix<uint16_t>;
    case 4:
      return TransposeMatrix<uint32_t>;
    default:
      return TransposeMatrix<uint64_t>;
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

Transpose TransposeFor(Target target, int item_bytes) {
  static constexpr Transpose (*kTable[])(int) = ENGINE_TARGET_TABLE(SelectTranspose);
  return kTable[static_cast<std::size_t>(target)](item_bytes);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
