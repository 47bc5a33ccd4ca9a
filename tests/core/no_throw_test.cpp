#include "core/no_throw.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/status.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::core {
namespace {

using ::engine::testing::IsOk;
using ::engine::testing::ScopedHeapFailure;
using ::engine::testing::StatusIs;

// Whatever the body returns comes back.
TEST(WithoutBadAllocTest, PassesResultsOn) {
  EXPECT_THAT(WithoutBadAlloc([] { return OkStatus(); }), IsOk());
  EXPECT_THAT(WithoutBadAlloc([] { return NotFoundError("no {}", 1); }),
              StatusIs(StatusCode::kNotFound, "no 1"));
  // A move-only value, from a body that can be called once.
  auto body = [value = std::make_unique<int>(7)]() mutable -> StatusOr<std::unique_ptr<int>> {
    return std::move(value);
  };
  const StatusOr<std::unique_ptr<int>> moved = WithoutBadAlloc(std::move(body));
  ENGINE_ASSERT_OK(moved);
  EXPECT_EQ(**moved, 7);
}

#ifdef __cpp_exceptions

TEST(WithoutBadAllocTest, FailedAllocationsAreOutOfMemory) {
  const auto allocate = []() -> StatusOr<std::string> { return std::string(1000, 'x'); };
  Status status;
  {
    const ScopedHeapFailure failure;
    status = WithoutBadAlloc(allocate).status();
  }
  EXPECT_THAT(status, StatusIs(kOutOfMemory));
  EXPECT_EQ(status.message(), "");
  // A derived exception: new[] of a length that no machine has.
  EXPECT_THAT(WithoutBadAlloc([]() -> Status { throw std::bad_array_new_length(); }),
              StatusIs(kOutOfMemory));
}

// Other exceptions are no lack of memory.
TEST(WithoutBadAllocTest, OtherExceptionsPass) {
  EXPECT_THROW((void)WithoutBadAlloc([]() -> Status { throw std::out_of_range("of the body"); }),
               std::out_of_range);
}

#endif  // __cpp_exceptions

}  // namespace
}  // namespace engine::core
