#include "strided/internal/policy.h"

#include <unistd.h>

namespace engine::strided {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

CacheSizes ReadCacheSizes() {
  const auto size_or = [](int name, std::int64_t fallback) {
    const long bytes = sysconf(name);
    return bytes > 0 ? std::int64_t{bytes} : fallback;
  };
  return {size_or(_SC_LEVEL2_CACHE_SIZE, kMiB), size_or(_SC_LEVEL3_CACHE_SIZE, 32 * kMiB)};
}

// Whether rows at this distance share few cache sets: a multiple of a power of two from `bytes` on.
bool IsMultiple(std::int64_t row_bytes, std::int64_t bytes) {
  return row_bytes != 0 && row_bytes % bytes == 0;
}

}  // namespace

const CacheSizes& SystemCacheSizes() {
  static const CacheSizes sizes = ReadCacheSizes();
  return sizes;
}

bool PaysToStream(std::int64_t total_bytes) { return total_bytes > SystemCacheSizes().last_level; }

TransposePolicy ChooseTranspose(const TransposeShape& shape) {
  TransposePolicy policy;
  const bool streams = PaysToStream(shape.total_bytes);
  const bool in_l2 = !streams && shape.total_bytes <= SystemCacheSizes().l2;
  if (IsMultiple(shape.dst_row_bytes, 4 * kKiB) && !streams) {
    // Every destination row maps to the same sets: write long pieces of one at a time.
    policy.pack = true;
    policy.full_lines = true;
    policy.block_rows = kPackedRowBytes / shape.item_bytes;
    policy.block_cols = kPackedCols;
    return policy;
  }
  policy.stream = streams && shape.dst_rows_line_aligned;
  policy.full_lines = IsMultiple(shape.src_row_bytes, in_l2 ? 4 * kKiB : 256);
  policy.block_rows = 256;
  policy.block_cols = streams ? kMaxBlock : 1024;
  if (in_l2) policy.block_rows = policy.block_cols = kMaxBlock;
  return policy;
}

}  // namespace engine::strided
