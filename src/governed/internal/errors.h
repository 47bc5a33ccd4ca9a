// governed/internal/errors.h: makes the Status of a Failure.
#ifndef ENGINE_GOVERNED_INTERNAL_ERRORS_H_
#define ENGINE_GOVERNED_INTERNAL_ERRORS_H_

#include <fmt/core.h>

#include "core/status.h"
#include "governed/failure.h"

namespace engine::governed::internal {

[[nodiscard]] core::Status MakeFailure(Failure failure, fmt::string_view format,
                                       fmt::format_args args);

// The Status of `failure`, its name in front of the text. kOutOfMemory when it cannot be allocated:
// a Failure is never lost, but may be superseded by that one.
template <typename... Args>
[[nodiscard]] core::Status Fail(Failure failure, fmt::format_string<Args...> format,
                                Args&&... args) {
  return MakeFailure(failure, format, fmt::make_format_args(args...));
}

}  // namespace engine::governed::internal

#endif  // ENGINE_GOVERNED_INTERNAL_ERRORS_H_
