#include "core/check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <type_traits>

#include "testing/death_test_style.h"
#include "testing/heap.h"

namespace engine::core {
namespace {

using ::engine::testing::HeapAllocationsOnThisThread;
using ::engine::testing::ScopedHeapFailure;

// ENGINE_CHECK inside a constant expression: passes there, and makes the expression non-constant
// when it fails.
constexpr int HalfOf(int value) {
  ENGINE_CHECK(value % 2 == 0, "{} is odd", value);
  ENGINE_CHECK(value >= 0);
  return value / 2;
}
static_assert(HalfOf(8) == 4);

template <int kValue>
concept HasConstantHalf = requires {
  typename std::integral_constant<int, HalfOf(kValue)>;
};
static_assert(HasConstantHalf<2>);
static_assert(!HasConstantHalf<3>);
static_assert(!HasConstantHalf<-2>);

// It is one expression of type void.
static_assert(std::is_void_v<decltype(ENGINE_CHECK(true))>);
static_assert(std::is_void_v<decltype(ENGINE_CHECK(true, "{}", 1))>);

TEST(CheckTest, EvaluatesTheConditionOnceAndTheArgumentsNever) {
  int conditions = 0;
  int arguments = 0;
  ENGINE_CHECK(++conditions > 0, "{}", ++arguments);
  EXPECT_EQ(conditions, 1);
  EXPECT_EQ(arguments, 0);
}

TEST(CheckTest, FitsWhereAnExpressionFits) {
  const bool flag = true;
  if (flag)
    ENGINE_CHECK(flag);
  else
    ENGINE_CHECK(!flag);
  const int value = (ENGINE_CHECK(flag, "comma"), 3);
  EXPECT_EQ(value, 3);
}

TEST(CheckTest, AcceptsTypesThatOnlyConvertToBoolExplicitly) {
  struct Explicit {
    explicit operator bool() const { return true; }
  };
  ENGINE_CHECK(Explicit{});
  const int object = 0;
  const int* pointer = &object;
  ENGINE_CHECK(pointer);
}

TEST(CheckTest, PassingCheckAllocatesNothing) {
  const std::string text(100, 'x');
  const std::int64_t before = HeapAllocationsOnThisThread();
  ENGINE_CHECK(!text.empty(), "{}", text);
  EXPECT_EQ(HeapAllocationsOnThisThread(), before);
}

// The text on stderr: file, line, condition and, where given, the message.
class CheckDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }

  static ::testing::Matcher<const std::string&> Prints(int line, const std::string& rest) {
    return ::testing::HasSubstr(fmt::format("check_test.cpp:{}: CHECK failed: {}\n", line, rest));
  }
};

constexpr int kLineOfPlain = __LINE__ + 1;
void FailPlain(int a) { ENGINE_CHECK(a + 1 == 3); }

constexpr int kLineOfMessage = __LINE__ + 1;
void FailWithMessage(int a, const char* b) { ENGINE_CHECK(a > 5, "a is {}, b is '{:>4}'", a, b); }

TEST_F(CheckDeathTest, PrintsFileLineAndCondition) {
  EXPECT_DEATH(FailPlain(1), Prints(kLineOfPlain, "a + 1 == 3"));
}

TEST_F(CheckDeathTest, PrintsTheMessage) {
  EXPECT_DEATH(FailWithMessage(2, "no"), Prints(kLineOfMessage, "a > 5: a is 2, b is '  no'"));
}

TEST_F(CheckDeathTest, AcceptsAMessageWithoutArguments) {
  EXPECT_DEATH(ENGINE_CHECK(false, "plain text, {{braces}}"), "false: plain text, .braces.");
}

TEST_F(CheckDeathTest, PrintsMessagesLongerThanTheInlineBuffer) {
  EXPECT_DEATH(ENGINE_CHECK(false, "{:>1500}<", 'x'),
               ::testing::HasSubstr(fmt::format(": {:>1500}<\n", 'x')));
}

TEST_F(CheckDeathTest, EvaluatesMessageArgumentsOnFailure) {
  int calls = 0;
  EXPECT_DEATH(ENGINE_CHECK(false, "call {}", ++calls), "call 1");
}

TEST_F(CheckDeathTest, FailsAtRunTimeWhatIsNotAConstant) {
  volatile int odd = 7;
  EXPECT_DEATH(static_cast<void>(HalfOf(odd)), "value % 2 == 0: 7 is odd");
}

// It dies by abort(), so a core dump and a debugger see the failing frame.
TEST_F(CheckDeathTest, DiesOfSigabrt) {
  EXPECT_EXIT(ENGINE_CHECK(false), ::testing::KilledBySignal(SIGABRT), "CHECK failed: false\n");
}

// A message that fits the inline buffer must not need the heap, which may be what is broken.
TEST_F(CheckDeathTest, PrintsShortMessagesWithoutHeap) {
  EXPECT_DEATH(
      {
        const ScopedHeapFailure failure;
        ENGINE_CHECK(false, "{} and {}", 1, 2.5);
      },
      "false: 1 and 2.5\n");
}

#ifdef __cpp_exceptions
TEST_F(CheckDeathTest, KeepsTheConditionWhenALongMessageCannotBeAllocated) {
  EXPECT_DEATH(
      {
        const ScopedHeapFailure failure;
        ENGINE_CHECK(false, "{:>1500}", 1);
      },
      "CHECK failed: false: .message could not be formatted.");
}
#endif

}  // namespace
}  // namespace engine::core
