// strided/internal/policy.h: the numbers behind a plan: regimes, blocks, the order of a transpose,
// and whether stores bypass the caches. A function of item size, strides and total size; which
// strategy a layout takes is in plan_builder.cpp. docs/design/strided.md cites measurements.
#ifndef ENGINE_STRIDED_INTERNAL_POLICY_H_
#define ENGINE_STRIDED_INTERNAL_POLICY_H_

#include <algorithm>
#include <cstdint>

#include "strided/internal/active_target.h"

namespace engine::strided {

// Sizes that separate the regimes, in bytes read plus written.
struct CacheSizes {
  std::int64_t l2;
  std::int64_t last_level;
};

// Of this machine; asked of the system once.
[[nodiscard]] const CacheSizes& SystemCacheSizes();

// Of every CPU that has vector kernels.
inline constexpr std::int64_t kLineBytes = 64;

// Where the bytes that a plan reads and writes fit.
enum class Regime : std::uint8_t {
  kL2,
  kLastLevel,
  kMemory,  // stores bypass the caches where whole lines are written
};

[[nodiscard]] Regime RegimeOf(std::int64_t total_bytes);

// Bytes of destination per unit of contiguous work: large against the cost of a call, small enough
// to share.
inline constexpr std::int64_t kUnitBytes = std::int64_t{1} << 18;
// Tables of offsets on the stack hold this many rows or columns; blocks are smaller by what a last
// block may take over from its successor (kMinBlock - 1).
inline constexpr std::int64_t kMaxTableEntries = 2048;
inline constexpr std::int64_t kMinBlock = 32;
inline constexpr std::int64_t kMaxBlock = 1984;
// Rows that are gathered or converted go through scratch memory of this many elements of 8 bytes.
inline constexpr std::int64_t kScratchElements = 4096;
// Transposes gather and convert a strip at a time: as many rows as make a line of the destination,
// in parts of so many bytes and columns at most.
inline constexpr std::int64_t kStripBytes = 16 * 1024;
inline constexpr std::int64_t kStripCols = 256;
inline constexpr std::int64_t kStagedRows = 256;
// A block of transposed rows, each followed by a line, so that they do not alias.
inline constexpr std::int64_t kPackBytes = 48 * 1024;
inline constexpr std::int64_t kRowPadding = 64;
// What a kernel makes of a pattern (kMaxPeriod).
inline constexpr std::int64_t kPeriodStateBytes = 12 * 1024;
inline constexpr std::int64_t kScratchBytes =
    std::max(2 * kScratchElements * 8 + kPeriodStateBytes, 2 * kStripBytes + kPackBytes);
// Runs at least this long are converted where they are; shorter ones are packed together first.
inline constexpr std::int64_t kDirectCast = 16;
// A packed block where destination rows alias.
inline constexpr std::int64_t kPackedRowBytes = 512;
inline constexpr std::int64_t kPackedCols = 48;
// Matrices with fewer elements than this, one after another, are not worth a block each.
inline constexpr std::int64_t kMinMatrix = 128;
// Rows shorter than this are joined, and their elements found by a table of at most kMaxTabled.
inline constexpr std::int64_t kShortRow = 16;
// Likewise, for rows that are contiguous on both sides.
inline constexpr std::int64_t kShortRun = 8;
inline constexpr std::int64_t kMaxTabled = 1024;
// A pattern of so many elements at most, repeated often enough, is looked up in vectors where the
// target can; with so many lookups at most, in all and for one vector.
inline constexpr std::int64_t kMaxPeriod = 128;
inline constexpr std::int64_t kMinGroups = 32;  // Note [Periodic rows]
inline constexpr std::int64_t kMaxLookups = 128;
inline constexpr std::int64_t kMaxLookupsPerVector = 8;
// The least of a matrix's sides that a register tile takes.
inline constexpr std::int64_t kTileBytes = 16;
// A block of strided rows.
inline constexpr std::int64_t kStridedRows = 64;
inline constexpr std::int64_t kStridedCols = 1024;
// Up to this many elements a nested loop beats every kernel.
inline constexpr std::int64_t kElementLoopMax = 64;

// Whether rows of a pattern, `rows` times `row_items` apart in the source, are worth looking up on
// this target: its `period` items are at `table` (in items).
[[nodiscard]] bool PeriodFits(Target target, std::int64_t item_bytes, const std::int64_t* table,
                              std::int64_t period, std::int64_t row_items, std::int64_t rows);

// Columns of a part of a strip. A gathered strip has the source's item size, a converted one the
// destination's.
[[nodiscard]] constexpr std::int64_t StripCols(std::int64_t src_item, std::int64_t dst_item,
                                               bool gathers) {
  const std::int64_t item = gathers ? std::max(dst_item, src_item) : dst_item;
  return std::min(kStripCols, kStripBytes / (kLineBytes / dst_item * item));
}

// How a matrix transpose is cut into blocks.
struct TransposePolicy {
  std::int64_t block_rows = 0;
  std::int64_t block_cols = 0;
  bool full_lines = false;  // TransposeJob
  bool down = false;        // TransposeJob
  bool pack = false;        // transpose into a dense block in the L1 cache, then copy its rows out
  bool stream = false;
  std::int64_t prefetch_bytes = 0;  // TransposeJob
  std::int64_t prefetch_rows = 0;
};

// What the choice depends on.
struct TransposeShape {
  std::int64_t item_bytes;
  std::int64_t cols;
  std::int64_t total_bytes;    // read plus written by the whole plan
  std::int64_t src_row_bytes;  // distance of source rows; of the innermost axis of several
  std::int64_t dst_row_bytes;  // distance of destination rows, likewise
  bool direct;                 // from one matrix to the other, without gathering or converting
  bool dst_rows_line_aligned;  // all destination rows begin alike within a 64-byte line
};

[[nodiscard]] TransposePolicy ChooseTranspose(const TransposeShape& shape);

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_INTERNAL_POLICY_H_
