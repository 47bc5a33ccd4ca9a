// core/check.h: aborting checks for programmer errors.
// Layer 0.
//
// A CHECK guards a precondition that only the caller's source code can break; anything that data
// (files, messages, requests, memory pressure) can break is a Status instead. See
// docs/adr/0003-errors.md.
//
//   ENGINE_CHECK(rank <= kMaxRank);
//   ENGINE_CHECK(i >= 0 && i < rank(), "dim: index {} is outside [0, {})", i, rank());
#ifndef ENGINE_CORE_CHECK_H_
#define ENGINE_CORE_CHECK_H_

#include <fmt/core.h>

#include <utility>

namespace engine::core::internal {

// Prints "FILE:LINE: CHECK failed: CONDITION[: MESSAGE]" to stderr and aborts. Never allocates for
// messages shorter than fmt's inline buffer, never throws.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
[[noreturn]] void CheckFailedWithMessage(const char* file, int line, const char* condition,
                                         fmt::string_view format, fmt::format_args args);

[[noreturn]] inline void CheckFail(const char* file, int line, const char* condition) {
  CheckFailed(file, line, condition);
}

template <typename... Args>
[[noreturn]] void CheckFail(const char* file, int line, const char* condition,
                            fmt::format_string<Args...> format, Args&&... args) {
  CheckFailedWithMessage(file, line, condition, format, fmt::make_format_args(args...));
}

}  // namespace engine::core::internal

// Aborts in every build type when `condition` is false. A condition with commas outside parentheses
// needs a pair of its own: ENGINE_CHECK((std::is_same_v<A, B>)). Usable in constexpr functions: a
// failing check makes the evaluation non-constant. The optional message is an fmt format string,
// checked at compile time; its arguments are evaluated only on failure.
#define ENGINE_CHECK(condition, ...)                                     \
  ((condition) ? static_cast<void>(0)                                    \
               : ::engine::core::internal::CheckFail(__FILE__, __LINE__, \
                                                     #condition __VA_OPT__(, ) __VA_ARGS__))

// Like ENGINE_CHECK in builds without NDEBUG; in the others the condition is compiled, not
// evaluated. For inner loops only.
#ifdef NDEBUG
#define ENGINE_DCHECK(condition, ...) \
  (true ? static_cast<void>(0) : ENGINE_CHECK(condition __VA_OPT__(, ) __VA_ARGS__))
#else
#define ENGINE_DCHECK(condition, ...) ENGINE_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif

#endif  // ENGINE_CORE_CHECK_H_
