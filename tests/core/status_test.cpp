#include "core/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "testing/death_test_style.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::core {
namespace {

using ::engine::testing::HeapAllocationsOnThisThread;
using ::engine::testing::IsOk;
using ::engine::testing::ScopedHeapFailure;
using ::engine::testing::StatusIs;
using ::testing::StrEq;

// Each maker carries its own code and the formatted text, unchanged.
TEST(StatusMakersTest, CodeAndTextOfEachMaker) {
  EXPECT_THAT(InvalidArgumentError("rank {} is above {}", 9, 8),
              StatusIs(StatusCode::kInvalidArgument, StrEq("rank 9 is above 8")));
  EXPECT_THAT(UnimplementedError("{:>6}|{:x}", "int4", 255),
              StatusIs(StatusCode::kUnimplemented, StrEq("  int4|ff")));
  EXPECT_THAT(NotFoundError("no tensor '{}'", std::string("wte")),
              StatusIs(StatusCode::kNotFound, StrEq("no tensor 'wte'")));
  EXPECT_THAT(PermissionDeniedError("open"),
              StatusIs(StatusCode::kPermissionDenied, StrEq("open")));
  EXPECT_THAT(FailedPreconditionError("{} of {} bytes", 1, 2),
              StatusIs(StatusCode::kFailedPrecondition, StrEq("1 of 2 bytes")));
  EXPECT_THAT(InternalError("errno {}", 5), StatusIs(StatusCode::kInternal, StrEq("errno 5")));
  EXPECT_THAT(OkStatus(), IsOk());
  EXPECT_EQ(OkStatus().code(), StatusCode::kOk);
}

TEST(StatusMakersTest, BracesEmptyTextAndLongText) {
  EXPECT_THAT(InvalidArgumentError("{{{}}}", 1),
              StatusIs(StatusCode::kInvalidArgument, StrEq("{1}")));
  EXPECT_THAT(InvalidArgumentError(""), StatusIs(StatusCode::kInvalidArgument, StrEq("")));
  // Longer than fmt's inline buffer of 500 characters.
  EXPECT_THAT(InvalidArgumentError("{:>2000}", 'x'),
              StatusIs(StatusCode::kInvalidArgument, StrEq(std::string(1999, ' ') + "x")));
}

TEST(StatusMakersTest, TakesLvaluesConstsAndTemporaries) {
  int lvalue = 1;
  const std::string constant = "two";
  EXPECT_THAT(InternalError("{} {} {}", lvalue, constant, std::string("three")),
              StatusIs(StatusCode::kInternal, StrEq("1 two three")));
}

// Makers only read their arguments, rvalues included.
TEST(StatusMakersTest, LeavesItsArgumentsAlone) {
  std::string name = "a name longer than any small-string buffer";
  const std::string copy = name;
  static_cast<void>(InternalError("{}", std::move(name)));
  EXPECT_EQ(name, copy);  // NOLINT(bugprone-use-after-move)
}

// Out of memory: the code of Abseil's ResourceExhausted and nothing that lives on the heap.
TEST(OutOfMemoryTest, IsTheBareCode) {
  static_assert(kOutOfMemory == StatusCode::kResourceExhausted);
  EXPECT_THAT(OutOfMemoryError(), StatusIs(kOutOfMemory, StrEq("")));
  EXPECT_THAT(OutOfMemoryError("{} bytes at alignment {}", 64, 8),
              StatusIs(kOutOfMemory, StrEq("")));
}

TEST(OutOfMemoryTest, IsRecognised) {
  EXPECT_TRUE(IsOutOfMemory(OutOfMemoryError()));
  EXPECT_TRUE(IsOutOfMemory(OutOfMemoryError("{}", 1)));
  EXPECT_FALSE(IsOutOfMemory(OkStatus()));
  EXPECT_FALSE(IsOutOfMemory(InternalError("out of memory")));
}

TEST(OutOfMemoryTest, NeverAllocates) {
  const std::string text(100, 'x');
  bool all_out_of_memory = true;
  const std::int64_t before = HeapAllocationsOnThisThread();
  {
    const Status bare = OutOfMemoryError();
    const Status described = OutOfMemoryError("{} bytes for {}", std::int64_t{1} << 40, text);
    const Status copy = described;
    const StatusOr<int> result = described;
    all_out_of_memory =
        IsOutOfMemory(bare) && IsOutOfMemory(copy) && IsOutOfMemory(result.status());
  }
  EXPECT_EQ(HeapAllocationsOnThisThread(), before);
  EXPECT_TRUE(all_out_of_memory);
}

// The counter above would be worthless if operator new were not the counting one.
TEST(OutOfMemoryTest, OtherMakersDoAllocate) {
  const std::int64_t before = HeapAllocationsOnThisThread();
  const Status status = InternalError("text");
  EXPECT_GT(HeapAllocationsOnThisThread(), before);
}

#ifdef __cpp_exceptions
// When a text cannot be allocated, the code still comes out: every allocation of a maker fails in
// turn.
void ExpectCodeSurvivesHeapFailures(StatusCode code, const std::string& text, Status (*make)()) {
  constexpr int kMostAllocations = 20;
  for (int successes = 0; successes < kMostAllocations; ++successes) {
    Status status;
    bool failed = false;
    {
      const ScopedHeapFailure failure(successes);
      status = make();
      failed = failure.triggered();
    }
    SCOPED_TRACE(successes);
    EXPECT_THAT(status, StatusIs(code, StrEq(failed ? "" : text)));
    if (!failed) {
      EXPECT_GT(successes, 0);  // the first attempt must have met a failure
      return;
    }
  }
  ADD_FAILURE() << "more allocations than expected";
}

TEST(StatusFallbackTest, ShortText) {
  ExpectCodeSurvivesHeapFailures(
      StatusCode::kInvalidArgument, "x1", +[] { return InvalidArgumentError("x{}", 1); });
}

TEST(StatusFallbackTest, LongText) {
  ExpectCodeSurvivesHeapFailures(
      StatusCode::kUnimplemented, std::string(2999, ' ') + "7",
      +[] { return UnimplementedError("{:>3000}", 7); });
}
#endif

// ENGINE_RETURN_IF_ERROR

template <typename A, typename B>
Status FailUnlessSame() {
  if constexpr (std::is_same_v<A, B>) {
    return OkStatus();
  } else {
    return NotFoundError("types differ");
  }
}

TEST(ReturnIfErrorTest, ContinuesOnOkAndReturnsTheErrorUnchanged) {
  int reached = 0;
  const auto run = [&reached](const Status& status) -> Status {
    ENGINE_RETURN_IF_ERROR(status);
    ++reached;
    return OkStatus();
  };
  EXPECT_THAT(run(OkStatus()), IsOk());
  EXPECT_EQ(reached, 1);
  EXPECT_THAT(run(InternalError("io {}", 3)), StatusIs(StatusCode::kInternal, StrEq("io 3")));
  EXPECT_EQ(reached, 1);
}

TEST(ReturnIfErrorTest, TakesCommasInTemplateArguments) {
  const auto same = []() -> Status {
    ENGINE_RETURN_IF_ERROR(FailUnlessSame<int, int>());
    return OkStatus();
  };
  const auto different = []() -> Status {
    ENGINE_RETURN_IF_ERROR(FailUnlessSame<int, long>());
    return OkStatus();
  };
  EXPECT_THAT(same(), IsOk());
  EXPECT_THAT(different(), StatusIs(StatusCode::kNotFound, StrEq("types differ")));
}

TEST(ReturnIfErrorTest, EvaluatesItsArgumentOnce) {
  int calls = 0;
  const auto next = [&calls] { return ++calls == 1 ? OkStatus() : InternalError("twice"); };
  const auto run = [&next]() -> Status {
    ENGINE_RETURN_IF_ERROR(next());
    return OkStatus();
  };
  EXPECT_THAT(run(), IsOk());
  EXPECT_EQ(calls, 1);
}

TEST(ReturnIfErrorTest, WorksInStatusOrFunctionsAndUnbracedIf) {
  const auto run = [](bool check) -> StatusOr<int> {
    if (check)
      ENGINE_RETURN_IF_ERROR(InvalidArgumentError("bad"));
    else
      ENGINE_RETURN_IF_ERROR(OkStatus());
    return 7;
  };
  EXPECT_THAT(run(true), StatusIs(StatusCode::kInvalidArgument, StrEq("bad")));
  ASSERT_THAT(run(false), IsOk());
  EXPECT_EQ(*run(false), 7);
}

// ENGINE_ASSIGN_OR_RETURN

StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgumentError("{} is odd", value);
  return value / 2;
}

StatusOr<std::unique_ptr<int>> Box(int value) {
  if (value < 0) return OutOfMemoryError("{}", value);
  return std::make_unique<int>(value);
}

template <typename A, typename B>
StatusOr<std::pair<A, B>> MakePair(A a, B b) {
  return std::pair<A, B>(a, b);
}

TEST(AssignOrReturnTest, DeclaresAssignsAndReturnsTheErrorUnchanged) {
  const auto quarter = [](int value) -> StatusOr<int> {
    ENGINE_ASSIGN_OR_RETURN(const int half, Half(value));
    int result = -1;
    ENGINE_ASSIGN_OR_RETURN(result, Half(half));
    return result;
  };
  ASSERT_THAT(quarter(12), IsOk());
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_THAT(quarter(5), StatusIs(StatusCode::kInvalidArgument, StrEq("5 is odd")));
  EXPECT_THAT(quarter(6), StatusIs(StatusCode::kInvalidArgument, StrEq("3 is odd")));
}

TEST(AssignOrReturnTest, LeavesTheTargetAloneOnError) {
  int target = 42;
  const auto assign = [&target](int value) -> Status {
    ENGINE_ASSIGN_OR_RETURN(target, Half(value));
    return OkStatus();
  };
  EXPECT_THAT(assign(3), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(target, 42);
  EXPECT_THAT(assign(4), IsOk());
  EXPECT_EQ(target, 2);
}

TEST(AssignOrReturnTest, MovesMoveOnlyValues) {
  const auto unbox = [](int value) -> StatusOr<std::unique_ptr<int>> {
    ENGINE_ASSIGN_OR_RETURN(std::unique_ptr<int> box, Box(value));
    StatusOr<std::unique_ptr<int>> held = std::move(box);
    ENGINE_ASSIGN_OR_RETURN(auto again, std::move(held));
    return again;
  };
  StatusOr<std::unique_ptr<int>> result = unbox(9);
  ASSERT_THAT(result, IsOk());
  ASSERT_NE(*result, nullptr);
  EXPECT_EQ(**result, 9);
  EXPECT_THAT(unbox(-1), StatusIs(kOutOfMemory));
}

TEST(AssignOrReturnTest, TakesCommasInTheExpression) {
  const auto sum = []() -> StatusOr<long> {
    ENGINE_ASSIGN_OR_RETURN(const auto pair, MakePair<int, long>(1, 2));
    return pair.first + pair.second;
  };
  ASSERT_THAT(sum(), IsOk());
  EXPECT_EQ(*sum(), 3);
}

TEST(AssignOrReturnTest, EvaluatesTheExpressionOnce) {
  int calls = 0;
  const auto next = [&calls]() -> StatusOr<int> { return ++calls; };
  const auto run = [&next]() -> Status {
    ENGINE_ASSIGN_OR_RETURN(const int value, next());
    return value == 1 ? OkStatus() : InternalError("evaluated twice");
  };
  EXPECT_THAT(run(), IsOk());
  EXPECT_EQ(calls, 1);
}

TEST(AssignOrReturnTest, AssignsThroughAnyLvalue) {
  std::array<int, 2> values = {0, 0};
  const auto run = [&values]() -> Status {
    ENGINE_ASSIGN_OR_RETURN(values[1], Half(8));
    return OkStatus();
  };
  EXPECT_THAT(run(), IsOk());
  EXPECT_EQ(values[1], 4);
}

// Reading an error's value ends loudly instead of reading garbage.
class StatusOrDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(StatusOrDeathTest, DereferencingAnErrorAborts) {
  const StatusOr<int> error = InvalidArgumentError("no value");
  EXPECT_DEATH(static_cast<void>(*error), "no value");
}

#ifdef __cpp_exceptions
TEST(StatusOrTest, ValueOfAnErrorThrows) {
  const StatusOr<int> error = InvalidArgumentError("no value");
  EXPECT_THROW(static_cast<void>(error.value()), absl::BadStatusOrAccess);
}
#endif

}  // namespace
}  // namespace engine::core
