// Failures: the contract's nine names, carried by a Status and read back.
#include "governed/failure.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "core/status.h"
#include "governed/governed_tensor.h"
#include "governed/internal/errors.h"
#include "governed_test_util.h"

namespace engine::governed {
namespace {

TEST(FailureTest, NamesAndCodes) {
  using enum Failure;
  using core::StatusCode;
  struct Row {
    Failure failure;
    const char* name;
    StatusCode code;
  };
  const Row rows[] = {
      {kEmptyTensor, "EmptyTensor", StatusCode::kInvalidArgument},
      {kOutOfMemory, "OutOfMemory", StatusCode::kResourceExhausted},
      {kDimensionMismatch, "DimensionMismatch", StatusCode::kInvalidArgument},
      {kInvalidSliceRange, "InvalidSliceRange", StatusCode::kInvalidArgument},
      {kInvalidPermutation, "InvalidPermutation", StatusCode::kInvalidArgument},
      {kShapeMismatch, "ShapeMismatch", StatusCode::kInvalidArgument},
      {kNotContiguous, "NotContiguous", StatusCode::kFailedPrecondition},
      {kNotExclusive, "NotExclusive", StatusCode::kFailedPrecondition},
      {kIndexOutOfBounds, "IndexOutOfBounds", StatusCode::kInvalidArgument},
  };
  static_assert(std::size(rows) == kNumFailures);
  for (const Row& row : rows) {
    EXPECT_EQ(to_string(row.failure), row.name);
    const core::Status status = internal::Fail(row.failure, "the {} reason", 3);
    EXPECT_EQ(status.code(), row.code) << row.name;
    EXPECT_EQ(FailureOf(status), row.failure) << row.name;
    const std::string text(status.message());
    EXPECT_EQ(text, row.failure == kOutOfMemory ? "" : std::string(row.name) + ": the 3 reason");
  }
}

TEST(FailureTest, NoneInOtherStatuses) {
  EXPECT_EQ(FailureOf(core::OkStatus()), std::nullopt);
  // The carrier is not the text.
  EXPECT_EQ(FailureOf(core::InvalidArgumentError("EmptyTensor: somebody else's")), std::nullopt);
  core::Status foreign = core::InvalidArgumentError("x");
  foreign.SetPayload("engine.governed.Failure", absl::Cord("NoSuchName"));
  EXPECT_EQ(FailureOf(foreign), std::nullopt);
}

TEST(FailureTest, EveryOutOfMemoryIsOne) {
  EXPECT_EQ(FailureOf(core::OutOfMemoryError()), Failure::kOutOfMemory);
}

TEST(FailureTest, SurvivesCopies) {
  const auto failed = GovernedTensor<float>::Alloc({0});
  const core::Status copy = failed.status();
  EXPECT_EQ(FailureOf(copy), Failure::kEmptyTensor);
}

// What was found and what was expected.
TEST(FailureTest, TextsNameTheArguments) {
  auto t = Counting({2, 3});
  EXPECT_THAT(t.View({{0, 2}, {1, 9, 2}}).status().ToString(),
              ::testing::HasSubstr("[1, 9) in steps of 2 along axis 1 of shape [2, 3]"));
  EXPECT_THAT(t.Transpose({1, 1}).ToString(),
              ::testing::HasSubstr("2 axes [1, 1] are not a permutation of the 2 axes"));
  EXPECT_THAT(t.Reshape({4}).ToString(),
              ::testing::HasSubstr("6 elements of [2, 3] do not fill 1 axes of extents [4]"));
  EXPECT_THAT(t.Get({0, 3}).status().ToString(),
              ::testing::HasSubstr("Get: [0, 3] is outside shape [2, 3]"));
  EXPECT_THAT(t.Set({0}, 1).ToString(),
              ::testing::HasSubstr("Set: 1 coordinates for shape [2, 3]"));
}

}  // namespace
}  // namespace engine::governed
