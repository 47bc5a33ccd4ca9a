// Copies of contiguous rows. Highway includes this file again for each target
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

// kVectors vectors. In the L2 cache, load and store had better take turns; beyond it, all loads come
// first, so that more of them are in flight.
template <int64_t kVectors, bool kLoadsFirst>
HWY_INLINE void CopyVectors(uint8_t* dst, const uint8_t* src) {
  const DBytes d;
  if constexpr (kLoadsFirst) {
    hn::VFromD<DBytes> v[kVectors];
    HWY_UNROLL(8)
    for (int64_t k = 0; k < kVectors; ++k) v[k] = hn::LoadU(d, src + k * kVectorBytes);
    HWY_UNROLL(8)
    for (int64_t k = 0; k < kVectors; ++k) hn::StoreU(v[k], d, dst + k * kVectorBytes);
  } else {
    HWY_UNROLL(8)
    for (int64_t k = 0; k < kVectors; ++k) {
      hn::StoreU(hn::LoadU(d, src + k * kVectorBytes), d, dst + k * kVectorBytes);
    }
  }
}

template <bool kLoadsFirst>
HWY_INLINE void CopyRow(uint8_t* dst, const uint8_t* src, int64_t bytes) {
  if (bytes < kVectorBytes) return CopyShort(dst, src, bytes);
  int64_t i = 0;
  for (; i + 2 * kVectorBytes <= bytes; i += 2 * kVectorBytes) {
    CopyVectors<2, kLoadsFirst>(dst + i, src + i);
  }
  if (i + kVectorBytes <= bytes) CopyVectors<1, false>(dst + i, src + i);
  const int64_t last = bytes - kVectorBytes;
  if (bytes % kVectorBytes != 0) CopyVectors<1, false>(dst + last, src + last);
}

// Calls copy(dst, src) for each row. The job's fields go into registers first: reloaded after every
// store, which might have changed them, they cost a third of the time.
template <class Copy>
HWY_INLINE void ForEachRow(const RowsJob& job, Copy&& copy) {
  auto* dst = reinterpret_cast<uint8_t*>(job.dst);
  auto* src = reinterpret_cast<const uint8_t*>(job.src);
  const int64_t rows = job.rows;
  if (job.dst_offsets == nullptr) {
    const int64_t dst_step = job.dst_step;
    const int64_t src_step = job.src_step;
    for (int64_t r = 0; r < rows; ++r, dst += dst_step, src += src_step) copy(dst, src);
  } else {
    const int64_t* const dst_offsets = job.dst_offsets;
    const int64_t* const src_offsets = job.src_offsets;
    for (int64_t r = 0; r < rows; ++r) copy(dst + dst_offsets[r], src + src_offsets[r]);
  }
}

// Rows of kVectors whole vectors and less than one more, which overlaps the last whole one.
template <int64_t kVectors, bool kLoadsFirst>
HWY_INLINE void CopyRowsOfVectors(const RowsJob& job) {
  const int64_t last = job.row_bytes - kVectorBytes;
  if (job.row_bytes == kVectors * kVectorBytes) {
    return ForEachRow(job, CopyVectors<kVectors, kLoadsFirst>);
  }
  ForEachRow(job, [last](uint8_t* dst, const uint8_t* src) HWY_ATTR {
    CopyVectors<kVectors, kLoadsFirst>(dst, src);
    CopyVectors<1, false>(dst + last, src + last);
  });
}

template <bool kLoadsFirst>
HWY_INLINE void CopyEachRow(const RowsJob& job) {
  // Without a loop per row, rows of 256 bytes are copied a fifth faster.
  switch (job.row_bytes / kVectorBytes) {
    case 1:
      return CopyRowsOfVectors<1, kLoadsFirst>(job);
    case 2:
      return CopyRowsOfVectors<2, kLoadsFirst>(job);
    case 4:
      return CopyRowsOfVectors<4, kLoadsFirst>(job);
    case 8:
      return CopyRowsOfVectors<8, kLoadsFirst>(job);
    default:
      break;
  }
  const int64_t bytes = job.row_bytes;
  ForEachRow(job, [bytes](uint8_t* dst, const uint8_t* src)
                      HWY_ATTR { CopyRow<kLoadsFirst>(dst, src, bytes); });
}

// --- contiguous rows whose stores bypass the caches ---

// What one turn of a stream moves: all its loads, then its stores, since alternating the two leaves
// fewer loads in flight.
constexpr int64_t kPiece = 4 * kLineBytes;

template <int64_t kBytes>
HWY_INLINE void StreamBytes(uint8_t* HWY_RESTRICT dst, const uint8_t* HWY_RESTRICT src) {
  const DBytes d;
  constexpr int64_t kVectors = kBytes / kVectorBytes;
  hn::VFromD<DBytes> v[kVectors];
  HWY_UNROLL(16)
  for (int64_t k = 0; k < kVectors; ++k) v[k] = hn::LoadU(d, src + k * kVectorBytes);
  HWY_UNROLL(16)
  for (int64_t k = 0; k < kVectors; ++k) hn::Stream(v[k], d, dst + k * kVectorBytes);
}

HWY_INLINE void PrefetchPiece(const uint8_t* src) {
  HWY_UNROLL(4)
  for (int64_t k = 0; k < kPiece; k += kLineBytes) hwy::Prefetch(src + k);
}

// One row, piece by piece: what is before the first whole line of the destination and after the
// last goes through the caches.
class RowStream {
 public:
  RowStream(const RowsJob& job, int64_t row)
      : dst_(reinterpret_cast<uint8_t*>(job.DstRow(row))),
        src_(reinterpret_cast<const uint8_t*>(job.SrcRow(row))),
        left_(job.row_bytes) {
    const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst_) % kLineBytes);
    if (head != 0) {
      const int64_t bytes = HWY_MIN(head, left_);
      CopyShort(dst_, src_, bytes);
      Advance(bytes);
    }
  }

  bool HasPiece() const { return left_ >= kPiece; }

  void CopyPiece() {
    StreamBytes<kPiece>(dst_, src_);
    Advance(kPiece);
  }

  void Finish() {
    while (HasPiece()) CopyPiece();
    while (left_ >= kLineBytes) {
      StreamBytes<kLineBytes>(dst_, src_);
      Advance(kLineBytes);
    }
    CopyShort(dst_, src_, left_);
  }

 private:
  void Advance(int64_t bytes) {
    dst_ += bytes;
    src_ += bytes;
    left_ -= bytes;
  }

  uint8_t* dst_;
  const uint8_t* src_;
  int64_t left_;
};

// Rows `a` and `b` in turns, asking for the lines of rows `ahead` further on.
HWY_INLINE void StreamTwoRows(const RowsJob& job, int64_t a, int64_t b, int64_t ahead) {
  RowStream row_a(job, a);
  RowStream row_b(job, b);
  const bool prefetch = b + ahead < job.rows;
  auto* next_a = reinterpret_cast<const uint8_t*>(job.SrcRow(prefetch ? a + ahead : a));
  auto* next_b = reinterpret_cast<const uint8_t*>(job.SrcRow(prefetch ? b + ahead : b));
  for (; row_a.HasPiece() && row_b.HasPiece(); next_a += kPiece, next_b += kPiece) {
    if (prefetch) PrefetchPiece(next_a);
    row_a.CopyPiece();
    if (prefetch) PrefetchPiece(next_b);
    row_b.CopyPiece();
  }
  row_a.Finish();
  row_b.Finish();
}

// Rows with gaps between them defeat the hardware's prefetching, and one page at a time keeps few
// banks of the memory busy. So two pages of the source take turns, and the next two are asked for.
void StreamRows(const RowsJob& job) {
  constexpr int64_t kPage = 4096;
  constexpr int64_t kLongRow = 1024;
  const int64_t distance = job.rows > 1 ? job.SrcRow(1) - job.SrcRow(0) : kPage;
  int64_t apart = 1;
  if (job.row_bytes < kLongRow && distance > 0 && distance < kPage) {
    apart = HWY_MIN(kPage / distance, 32);
  }
  const int64_t ahead = HWY_MAX(2 * apart, 4);
  int64_t row = 0;
  for (; row + 2 * apart <= job.rows; row += 2 * apart) {
    for (int64_t r = row; r < row + apart; ++r) StreamTwoRows(job, r, r + apart, ahead);
  }
  for (; row < job.rows; ++row) RowStream(job, row).Finish();
}

void CopyContiguousRows(const RowsJob& job) {
  // Below, too little of a row is whole lines.
  constexpr int64_t kMinStream = 3 * kLineBytes;
  // From here on the library's copy is faster, in the L2 cache.
  constexpr int64_t kMinLibrary = 2048;
  if (job.regime == Regime::kMemory && job.row_bytes >= kMinStream) return StreamRows(job);
  if (job.regime != Regime::kL2) return CopyEachRow<true>(job);
  if (job.row_bytes < kMinLibrary) return CopyEachRow<false>(job);
  const auto bytes = static_cast<size_t>(job.row_bytes);
  ForEachRow(job, [bytes](uint8_t* dst, const uint8_t* src) { std::memcpy(dst, src, bytes); });
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace

#if HWY_TARGET == HWY_SCALAR
CopyRows SelectCopyRows() { return nullptr; }
#else
CopyRows SelectCopyRows() { return CopyContiguousRows; }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

void FenceStreams() { hwy::FlushStream(); }

CopyRows CopyRowsFor(Target target) {
  static constexpr CopyRows (*kTable[])() = ENGINE_TARGET_TABLE(SelectCopyRows);
  return kTable[static_cast<std::size_t>(target)]();
}

}  // namespace engine::strided
#endif  // HWY_ONCE
