#include "strided/internal/policy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "core/checked_math.h"

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

bool PeriodFits(Target target, std::int64_t item_bytes, const std::int64_t* table,
                std::int64_t period, std::int64_t row_items, std::int64_t rows) {
  // No lookup of bytes before AVX512_VBMI; items of 8 bytes are too few in a vector to win.
  const bool looks_up = (target == Target::kAvx3 || target == Target::kAvx3Bf16) &&
                        (item_bytes == 2 || item_bytes == 4);
  if (!looks_up || row_items < 0) return false;
  const std::int64_t lanes = kLineBytes / item_bytes;
  const std::int64_t group_rows = lanes / std::gcd(lanes, period);
  if (rows < kMinGroups * group_rows) return false;
  // Each lookup takes a vector from the first item that is missing.
  std::int64_t lookups = 0;
  for (std::int64_t v = 0; v < group_rows * period; v += lanes) {
    std::array<std::int64_t, kLineBytes / 2> from;
    for (std::int64_t i = 0; i < lanes; ++i) {
      from[static_cast<std::size_t>(i)] = core::SaturatingAdd(
          core::SaturatingMul((v + i) / period, row_items), table[(v + i) % period]);
    }
    std::sort(from.begin(), from.begin() + lanes);
    // Unsigned: of a layout that no memory holds, the difference may not fit.
    const auto at = [&](std::int64_t i) {
      return static_cast<std::uint64_t>(from[static_cast<std::size_t>(i)]);
    };
    std::int64_t here = 0;
    for (std::int64_t i = 0; i < lanes; ++here) {
      const std::uint64_t first = at(i);
      while (i < lanes && at(i) - first < static_cast<std::uint64_t>(lanes)) ++i;
    }
    lookups += here;
    if (here > kMaxLookupsPerVector || lookups > kMaxLookups) return false;
  }
  return true;
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
