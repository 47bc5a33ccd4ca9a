// testing/status_matchers.h: gmock matchers and macros for Status and StatusOr.
// Test support; never installed.
#ifndef ENGINE_TESTING_STATUS_MATCHERS_H_
#define ENGINE_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "core/status.h"

namespace engine::testing {

inline const core::Status& StatusOf(const core::Status& status) { return status; }
template <typename T>
const core::Status& StatusOf(const core::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  const core::Status status = StatusOf(arg);
  if (!status.ok()) *result_listener << "it is " << status.ToString();
  return status.ok();
}

// Matches an error of `code` whose message satisfies `message` (a gmock matcher or a plain string
// for HasSubstr).
MATCHER_P2(StatusIsImpl, code, message, "has the code and the message") {
  const core::Status status = StatusOf(arg);
  *result_listener << "it is " << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}

inline auto StatusIs(core::StatusCode code) { return StatusIsImpl(code, ::testing::_); }
inline auto StatusIs(core::StatusCode code, const char* substring) {
  return StatusIsImpl(code, ::testing::HasSubstr(substring));
}
template <typename Matcher>
auto StatusIs(core::StatusCode code, Matcher message) {
  return StatusIsImpl(code, message);
}

}  // namespace engine::testing

#define ENGINE_EXPECT_OK(...) EXPECT_THAT((__VA_ARGS__), ::engine::testing::IsOk())
#define ENGINE_ASSERT_OK(...) ASSERT_THAT((__VA_ARGS__), ::engine::testing::IsOk())

// ENGINE_ASSERT_OK_AND_ASSIGN(Tensor t, Tensor::empty(...)): fails the test on an error.
#define ENGINE_ASSERT_OK_AND_ASSIGN(lhs, ...)                                                  \
  ENGINE_INTERNAL_ASSERT_OK_AND_ASSIGN(ENGINE_INTERNAL_CONCAT(engine_test_or_, __LINE__), lhs, \
                                       __VA_ARGS__)
#define ENGINE_INTERNAL_ASSERT_OK_AND_ASSIGN(result, lhs, ...) \
  auto result = (__VA_ARGS__);                                 \
  ENGINE_ASSERT_OK(result);                                    \
  lhs = *std::move(result)

#endif  // ENGINE_TESTING_STATUS_MATCHERS_H_
