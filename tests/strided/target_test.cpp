// Which target runs: the names, their order, and the override. Clause: ENGINE_CPU picks a supported
// target, an unknown value is reported with the valid ones and ignored.
#include "strided/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "testing/death_test_style.h"

namespace engine::strided {
namespace {

TEST(TargetTest, TheActiveTargetIsASupportedOne) {
  const auto targets = SupportedTargets();
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(targets.back(), "scalar");
  EXPECT_NE(std::find(targets.begin(), targets.end(), ActiveTarget()), targets.end());
}

#ifdef __aarch64__
// Part of the architecture, so never missing.
TEST(TargetTest, NeonIsTheBestTargetAndActive) {
  EXPECT_EQ(SupportedTargets().front(), "neon");
  EXPECT_EQ(ActiveTarget(), "neon");
}
#endif

// A fresh process each, in which nothing has asked for the target before ENGINE_CPU is set: the
// choice is made once.
class TargetDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }

  // Exits with 0 when the active target under ENGINE_CPU=`value` is `name`, or the best where that
  // is empty.
  static void ExitComparing(const char* value, std::string_view name) {
    setenv("ENGINE_CPU", value, 1);
    std::exit(ActiveTarget() == (name.empty() ? SupportedTargets().front() : name) ? 0 : 1);
  }
};

TEST_F(TargetDeathTest, ASupportedTargetCanBeForcedInAnyCase) {
  EXPECT_EXIT(ExitComparing("scalar", "scalar"), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ExitComparing("Scalar", "scalar"), ::testing::ExitedWithCode(0), "");
}

TEST_F(TargetDeathTest, AnUnknownValueIsReportedAndIgnored) {
  EXPECT_EXIT(ExitComparing("sse9", ""), ::testing::ExitedWithCode(0),
              "ENGINE_CPU='sse9' is not a target of this CPU; valid:.* scalar; using ");
}

TEST_F(TargetDeathTest, AnEmptyValueIsNoValue) {
  EXPECT_EXIT(ExitComparing("", ""), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace engine::strided
