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
#include <type_traits>

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

// Where the rows of a tile are, by table.
template <size_t kRows>
struct TabledRows {
  const std::byte* at[kRows];

  TabledRows(const TransposeJob& job, int64_t row) {
    for (size_t i = 0; i < kRows; ++i) {
      at[i] = job.src + job.src_offsets[row + static_cast<int64_t>(i)];
    }
  }
  HWY_INLINE const std::byte* operator()(size_t i) const { return at[i]; }
};

// At equal distances: a fourth as many pointers, which the registers hold.
template <size_t kRows>
struct RegularRows {
  const std::byte* at[HWY_MAX(kRows / 4, size_t{1})];
  int64_t step;

  RegularRows(const TransposeJob& job, int64_t row) : step(job.src_step) {
    for (size_t i = 0; i < kRows; i += 4) {
      at[i / 4] = job.src + job.src_offsets[row + static_cast<int64_t>(i)];
    }
  }
  HWY_INLINE void Advance() {
    for (size_t i = 0; i < kRows; i += 4) at[i / 4] += static_cast<int64_t>(kRows) * step;
  }
  HWY_INLINE const std::byte* operator()(size_t i) const {
    return at[i / 4] + static_cast<int64_t>(i % 4) * step;
  }
};

// The vector whose b-th block is 16 bytes at rows(kFirst + b * kStep) + offset.
template <size_t kFirst, size_t kStep, class D, class Rows>
HWY_INLINE hn::VFromD<D> GatherBlocks(D d, const Rows& rows, int64_t offset) {
  using T = hn::TFromD<D>;
  constexpr size_t kBlocks = hn::MaxLanes(d) * sizeof(T) / 16;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(d, reinterpret_cast<const T*>(rows(kFirst) + offset));
#if HWY_TARGET == HWY_AVX3
  } else if constexpr (kBlocks == 4) {
    // Masked broadcasts from memory: loads and blends, where Combine would use the shuffle port.
    const auto block = [&](size_t b) HWY_ATTR {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows(kFirst + b * kStep) + offset));
    };
    __m512i v = _mm512_castsi128_si512(block(0));
    v = _mm512_mask_broadcast_i32x4(v, 0x00F0, block(1));
    v = _mm512_mask_broadcast_i32x4(v, 0x0F00, block(2));
    v = _mm512_mask_broadcast_i32x4(v, 0xF000, block(3));
    return hn::VFromD<D>{v};
#endif
  } else {
    const hn::Half<D> dh;
    return hn::Combine(d, GatherBlocks<kFirst + kStep * kBlocks / 2, kStep>(dh, rows, offset),
                       GatherBlocks<kFirst, kStep>(dh, rows, offset));
  }
}

// Gathers the blocks of kQ neighbouring tiles with loads of kQ blocks: out[k * kStep] is what
// GatherBlocks gives for the k-th.
template <size_t kQ, size_t kFirst, size_t kStep, class D, class Rows>
HWY_INLINE void GatherTiles(D d, const Rows& rows, int64_t offset,
                            hn::VFromD<D>* HWY_RESTRICT out) {
  using T = hn::TFromD<D>;
  [[maybe_unused]] const auto row = [&](size_t b) {
    return reinterpret_cast<const T*>(rows(kFirst + b * kStep) + offset);
  };
  if constexpr (kQ == 1) {
    out[0] = GatherBlocks<kFirst, kStep>(d, rows, offset);
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

template <size_t kQ, size_t kItems, size_t kFirst, class D, class Rows>
HWY_INLINE void GatherAll(D d, const Rows& rows, int64_t offset, hn::VFromD<D>* HWY_RESTRICT v) {
  if constexpr (kFirst < kItems) {
    GatherTiles<kQ, kFirst, kItems>(d, rows, offset, v + kFirst);
    GatherAll<kQ, kItems, kFirst + 1>(d, rows, offset, v);
  }
}

// Columns [c, c + kQ * L) of N rows.
template <size_t kQ, bool kStream, class D, class Rows>
HWY_INLINE void TransposeTiles(D d, const Rows& rows, std::byte* dst, const int64_t* dst_offsets,
                               int64_t dst_step, int64_t c) {
  using T = hn::TFromD<D>;
  constexpr size_t kItems = 16 / sizeof(T);
  hn::VFromD<D> v[kItems * kQ];
  GatherAll<kQ, kItems, 0>(d, rows, c * int64_t{sizeof(T)}, v);
  HWY_UNROLL(4)
  for (size_t k = 0; k < kQ; ++k) InterleaveRounds<0>(d, v + k * kItems);
  HWY_UNROLL(16)
  for (size_t i = 0; i < kItems * kQ; ++i) {
    T* to;
    if constexpr (std::is_same_v<Rows, RegularRows<hn::MaxLanes(d)>>) {
      to = reinterpret_cast<T*>(dst + static_cast<int64_t>(i) * dst_step);
    } else {
      to = reinterpret_cast<T*>(dst + dst_offsets[c + static_cast<int64_t>(i)]);
    }
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
  TilePrefetch(const TransposeJob& job, int64_t row, int64_t count, int64_t item_bytes) {
    if (job.next != nullptr) {
      ahead_ = *job.next;
    } else if (job.prefetch_bytes != 0 || job.prefetch_rows != 0) {
      const int64_t first = row + job.prefetch_rows;
      const int64_t skip = job.prefetch_bytes / item_bytes;
      ahead_ = {job.src + job.prefetch_bytes, job.src_offsets + first,
                first + count <= job.rows ? count : 0, job.cols - skip, item_bytes};
    }
  }

  // Called at each tile, which begins at column `col`; a line of the source may span several.
  template <int64_t kCols>
  HWY_INLINE void Ask(int64_t col) const {
    if (ahead_.rows == 0 || col >= ahead_.cols) return;
    const int64_t byte = col * ahead_.item_bytes;
    const int64_t end = byte + kCols * ahead_.item_bytes;
    // The first byte of a line that is in this tile's columns.
    for (int64_t b = (byte + kLineBytes - 1) / kLineBytes * kLineBytes; b < end; b += kLineBytes) {
      for (int64_t i = 0; i < ahead_.rows; ++i) hwy::Prefetch(ahead_.src + ahead_.offsets[i] + b);
    }
  }

 private:
  RowsAhead ahead_{};
};

// The N rows from `row` on; at least L columns. The last tile overlaps its predecessor, and is then
// stored through the caches.
template <size_t kQ, bool kStream, class Rows, class D>
HWY_INLINE void TransposeStripOf(D d, const TransposeJob& job, int64_t row) {
  using T = hn::TFromD<D>;
  constexpr int64_t kItems = 16 / sizeof(T);
  constexpr size_t kRows = hn::MaxLanes(d);
  const Rows rows(job, row);
  constexpr bool kRegular = std::is_same_v<Rows, RegularRows<kRows>>;
  std::byte* const dst = job.dst + row * int64_t{sizeof(T)};
  const int64_t dst_step = job.dst_step;
  const int64_t* const dst_offsets = job.dst_offsets;
  const int64_t cols = job.cols;
  const TilePrefetch prefetch(job, row, kRows, sizeof(T));
  const auto at = [&](int64_t c) { return kRegular ? dst + dst_offsets[0] + c * dst_step : dst; };
  int64_t c = 0;
  std::byte* to = at(0);
  for (; c + kItems * int64_t{kQ} <= cols; c += kItems * int64_t{kQ}) {
    prefetch.template Ask<kItems * int64_t{kQ}>(c);
    TransposeTiles<kQ, kStream>(d, rows, to, dst_offsets, dst_step, c);
    if (kRegular) to += kItems * int64_t{kQ} * dst_step;
  }
  if constexpr (kQ > 1) {
    for (; c + kItems <= cols; c += kItems) {
      TransposeTiles<1, kStream>(d, rows, at(c), dst_offsets, dst_step, c);
    }
  }
  if (c < cols)
    TransposeTiles<1, false>(d, rows, at(cols - kItems), dst_offsets, dst_step, cols - kItems);
}

template <size_t kQ, bool kStream, class D>
HWY_NOINLINE void TransposeStrip(D d, const TransposeJob& job, int64_t row) {
  constexpr size_t kRows = hn::MaxLanes(d);
  if (job.src_step != 0 && job.dst_step != 0)
    return TransposeStripOf<kQ, kStream, RegularRows<kRows>>(d, job, row);
  TransposeStripOf<kQ, kStream, TabledRows<kRows>>(d, job, row);
}

// Tiles in the destination's order: down all rows for each line of columns.
template <size_t kQ, class D>
HWY_NOINLINE void TransposeDown(D d, const TransposeJob& job) {
  using T = hn::TFromD<D>;
  constexpr int64_t kItems = 16 / sizeof(T);
  constexpr int64_t kCols = kItems * kQ;
  constexpr int64_t kRows = hn::MaxLanes(d);
  const int64_t cols = job.cols / kCols * kCols;
  const int64_t rows = job.rows / kRows * kRows;
  for (int64_t c = 0; c < cols; c += kCols) {
    std::byte* to = job.dst + job.dst_offsets[0] + c * job.dst_step;
    RegularRows<kRows> from(job, 0);
    for (int64_t r = 0; r < rows; r += kRows) {
      TransposeTiles<kQ, false>(d, from, to, job.dst_offsets, job.dst_step, c);
      from.Advance();
      to += kRows * int64_t{sizeof(T)};
    }
  }
  if (cols < job.cols) {
    const int64_t first = HWY_MIN(cols, job.cols - kItems);
    TransposeJob rest = job;
    rest.src += first * int64_t{sizeof(T)};
    rest.dst_offsets += first;
    rest.cols -= first;
    for (int64_t r = 0; r < rows; r += kRows) TransposeStrip<1, false>(d, rest, r);
  }
  if (rows < job.rows) TransposeStrip<kQ, false>(d, job, job.rows - kRows);
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
  if constexpr (!kStream) {
    if (job.down && job.src_step != 0 && job.dst_step != 0 && job.rows >= kRows)
      return TransposeDown<kQ>(d, job);
  }
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
