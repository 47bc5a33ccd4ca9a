#include "strided/internal/policy.h"

#include <algorithm>

namespace engine::strided {
namespace {

constexpr std::int64_t kKiB = 1024;

// Whether rows at this distance share few cache sets: a multiple of a power of two from `bytes` on.
bool IsMultiple(std::int64_t row_bytes, std::int64_t bytes) {
  return row_bytes != 0 && row_bytes % bytes == 0;
}

TransposePolicy ChooseForMemory(const TransposeShape& shape) {
  TransposePolicy policy;
  policy.stream = shape.dst_rows_line_aligned;
  policy.full_lines = true;
  const std::int64_t tile_rows = kLineBytes / shape.item_bytes;
  if (IsMultiple(shape.dst_row_bytes, 4 * kKiB)) {
    // Few destination rows at a time, in long pieces.
    policy.block_rows = 512;
    policy.block_cols = 64;
  } else {
    policy.block_rows = 256;
    policy.block_cols = kMaxBlock;
  }
  // The hardware follows long rows only, and not so many at once.
  constexpr std::int64_t kShortRowBytes = 512;
  if (std::min(policy.block_cols, shape.cols) <= kShortRowBytes / shape.item_bytes) {
    policy.prefetch_rows = tile_rows;
  } else {
    policy.prefetch_bytes = 256;
  }
  return policy;
}

}  // namespace

Regime RegimeOf(std::int64_t total_bytes) {
  const CacheSizes& sizes = SystemCacheSizes();
  if (total_bytes <= sizes.l2) return Regime::kL2;
  // The rest of the last level holds what others use.
  return total_bytes <= sizes.last_level / 4 * 3 ? Regime::kLastLevel : Regime::kMemory;
}

bool LooksUpPeriods(Target target, std::int64_t item_bytes) {
  // No lookup of bytes before AVX512_VBMI.
  return (target == Target::kAvx3 || target == Target::kAvx3Bf16) && item_bytes > 1;
}

std::int64_t StripCols(std::int64_t src_item, std::int64_t dst_item, bool gathers) {
  const std::int64_t item = gathers ? std::max(dst_item, src_item) : dst_item;
  return std::min(kStripCols, kStripBytes / (kLineBytes / dst_item * item));
}

TransposePolicy ChooseTranspose(const TransposeShape& shape) {
  const Regime regime = RegimeOf(shape.total_bytes);
  if (regime == Regime::kMemory) return ChooseForMemory(shape);
  TransposePolicy policy;
  if (IsMultiple(shape.dst_row_bytes, (shape.direct ? 4 : 2) * kKiB)) {
    // Every destination row maps to the same sets: write long pieces of one at a time.
    policy.pack = true;
    policy.full_lines = true;
    policy.block_rows = kPackedRowBytes / shape.item_bytes;
    policy.block_cols = kPackedCols;
    return policy;
  }
  // Whose rows share fewer sets: the largest power of two that divides their distance.
  const auto alias = [](std::int64_t bytes) {
    const auto bits = static_cast<std::uint64_t>(bytes);
    return bits & (~bits + 1);
  };
  policy.down = IsMultiple(shape.dst_row_bytes, kKiB) &&
                alias(shape.dst_row_bytes) >= alias(shape.src_row_bytes);
  policy.full_lines =
      policy.down || IsMultiple(shape.src_row_bytes, regime == Regime::kL2 ? 4 * kKiB : 256);
  policy.block_rows = 256;
  policy.block_cols = 1024;
  if (regime == Regime::kL2) policy.block_rows = policy.block_cols = kMaxBlock;
  return policy;
}

}  // namespace engine::strided
