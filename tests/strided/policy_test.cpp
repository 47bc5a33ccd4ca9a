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

}  // namespace
}  // namespace engine::strided
