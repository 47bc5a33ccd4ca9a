// What strategies are chosen by. Clause: a small function of item size, strides and total size.
#include "strided/internal/policy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace engine::strided {
namespace {

TEST(PolicyTest, TheMachineHasCaches) {
  EXPECT_GT(SystemCacheSizes().l2, 0);
  EXPECT_GT(SystemCacheSizes().last_level, 0);
}

// Without this the runs as if there were other caches could silently become ordinary ones.
TEST(PolicyTest, PretendedCacheSizesReachTheLibrary) {
  const char* const l2 = std::getenv("ENGINE_TEST_L2_BYTES");
  const char* const last_level = std::getenv("ENGINE_TEST_L3_BYTES");
  if (l2 == nullptr || last_level == nullptr) GTEST_SKIP() << "nothing is pretended";
  EXPECT_EQ(SystemCacheSizes().l2, std::strtol(l2, nullptr, 10));
  EXPECT_EQ(SystemCacheSizes().last_level, std::strtol(last_level, nullptr, 10));
}

// Of 4-byte items.
TransposeShape Direct(std::int64_t dst_row_bytes, std::int64_t src_row_bytes,
                      std::int64_t total_bytes) {
  return {.item_bytes = 4,
          .cols = 4096,
          .total_bytes = total_bytes,
          .src_row_bytes = src_row_bytes,
          .dst_row_bytes = dst_row_bytes,
          .direct = true,
          .dst_rows_line_aligned = dst_row_bytes % kLineBytes == 0};
}

TEST(PolicyTest, TransposesFollowWhoseRowsAlias) {
  const std::int64_t in_cache = SystemCacheSizes().l2;
  // Neither.
  TransposePolicy policy = ChooseTranspose(Direct(4004, 4004, in_cache));
  EXPECT_FALSE(policy.pack || policy.down || policy.full_lines || policy.stream);
  // The source: whole lines, along its rows.
  policy = ChooseTranspose(Direct(4004, 8192, in_cache));
  EXPECT_TRUE(policy.full_lines);
  EXPECT_FALSE(policy.pack || policy.down);
  // The destination, a little: down its rows. Not where the source is worse.
  policy = ChooseTranspose(Direct(1024, 512, in_cache));
  EXPECT_TRUE(policy.down && policy.full_lines);
  EXPECT_FALSE(policy.pack);
  EXPECT_FALSE(ChooseTranspose(Direct(1024, 2048, in_cache)).down);
  // Backwards is as far.
  EXPECT_TRUE(ChooseTranspose(Direct(-1024, 512, in_cache)).down);
  // The destination, much: a packed block.
  EXPECT_TRUE(ChooseTranspose(Direct(8192, 512, in_cache)).pack);
  TransposeShape staged = Direct(2048, 512, in_cache);
  EXPECT_FALSE(ChooseTranspose(staged).pack);
  staged.direct = false;
  EXPECT_TRUE(ChooseTranspose(staged).pack);
}

TEST(PolicyTest, TransposesInMemoryStreamWhereRowsBeginAlike) {
  const std::int64_t in_memory = SystemCacheSizes().last_level + 1;
  TransposePolicy policy = ChooseTranspose(Direct(4032, 4004, in_memory));
  EXPECT_TRUE(policy.stream && policy.full_lines);
  EXPECT_EQ(policy.prefetch_bytes, 256);
  EXPECT_FALSE(ChooseTranspose(Direct(4004, 4004, in_memory)).stream);
  // Few destination rows at a time, the next rows asked for.
  policy = ChooseTranspose(Direct(8192, 4004, in_memory));
  EXPECT_EQ(policy.block_cols, 64);
  EXPECT_GT(policy.prefetch_rows, 0);
  EXPECT_FALSE(policy.pack);
}

TEST(PolicyTest, PatternsAreLookedUpWhereThatPays) {
  constexpr std::int64_t kTransposed3x3[] = {0, 3, 6, 1, 4, 7, 2, 5, 8};
  const auto fits = [&](Target target, std::int64_t item, std::int64_t rows) {
    return PeriodFits(target, item, kTransposed3x3, 9, 9, rows);
  };
  EXPECT_TRUE(fits(Target::kAvx3, 4, 10000));
  EXPECT_TRUE(fits(Target::kAvx3Bf16, 2, 10000));
  // No target but AVX-512; no bytes, no items of 8; no backwards rows; not for a few rows.
  EXPECT_FALSE(fits(Target::kAvx2, 4, 10000));
  EXPECT_FALSE(fits(Target::kScalar, 4, 10000));
  EXPECT_FALSE(fits(Target::kAvx3, 1, 10000));
  EXPECT_FALSE(fits(Target::kAvx3, 8, 10000));
  EXPECT_FALSE(PeriodFits(Target::kAvx3, 4, kTransposed3x3, 9, -9, 10000));
  EXPECT_TRUE(fits(Target::kAvx3, 4, kMinGroups * 16));
  EXPECT_FALSE(fits(Target::kAvx3, 4, kMinGroups * 16 - 1));
  // Eight places a vector, and no more.
  std::int64_t apart[16];
  for (std::int64_t i = 0; i < 16; ++i) apart[i] = i % 8 * 1000 + i / 8;
  EXPECT_TRUE(PeriodFits(Target::kAvx3, 4, apart, 16, 16, 10000));
  apart[15] = 20000;
  EXPECT_FALSE(PeriodFits(Target::kAvx3, 4, apart, 16, 16, 10000));
}

}  // namespace
}  // namespace engine::strided
