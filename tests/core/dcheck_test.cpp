// Built twice: with NDEBUG and without.
#include <gtest/gtest.h>

#include <type_traits>

#include "core/check.h"
#include "testing/death_test_style.h"

namespace engine::core {
namespace {

#ifdef NDEBUG
constexpr bool kEvaluated = false;
#else
constexpr bool kEvaluated = true;
#endif

// In builds with NDEBUG a DCHECK neither evaluates nor aborts, but its condition still compiles.
constexpr int Identity(int value) {
  ENGINE_DCHECK(value >= 0, "{} is negative", value);
  ENGINE_DCHECK(value >= 0);
  return value;
}
static_assert(Identity(3) == 3);

template <int kValue>
concept HasConstantIdentity = requires {
  typename std::integral_constant<int, Identity(kValue)>;
};
static_assert(HasConstantIdentity<-1> == !kEvaluated);
static_assert(std::is_void_v<decltype(ENGINE_DCHECK(true))>);

class DcheckDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST(DcheckTest, EvaluatesTheConditionOnlyWithoutNdebug) {
  int conditions = 0;
  int arguments = 0;
  ENGINE_DCHECK(++conditions > 0, "{}", ++arguments);
  EXPECT_EQ(conditions, kEvaluated ? 1 : 0);
  EXPECT_EQ(arguments, 0);
}

// A variable used by nothing else must not become an unused-variable warning.
TEST(DcheckTest, CountsAsAUse) {
  const int only_checked = 1;
  ENGINE_DCHECK(only_checked == 1, "{}", only_checked);
}

#ifdef NDEBUG
TEST(DcheckTest, DoesNotAbortWithNdebug) {
  ENGINE_DCHECK(false);
  ENGINE_DCHECK(false, "message {}", 1);
  EXPECT_EQ(Identity(-4), -4);
}
#else
TEST_F(DcheckDeathTest, AbortsWithoutNdebug) {
  EXPECT_DEATH(ENGINE_DCHECK(1 > 2), "dcheck_test.cpp:[0-9]+: CHECK failed: 1 > 2");
  EXPECT_DEATH(static_cast<void>(Identity(-4)), "value >= 0: -4 is negative");
}
#endif

// ENGINE_CHECK is not affected by the build kind.
TEST_F(DcheckDeathTest, CheckAbortsInEveryBuildKind) {
  EXPECT_DEATH(ENGINE_CHECK(1 > 2, "always"), "CHECK failed: 1 > 2: always");
}

}  // namespace
}  // namespace engine::core
