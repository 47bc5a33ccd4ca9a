// core/errno_status.h: errors of system calls.
// Layer 0. Nothing here throws.
#ifndef ENGINE_CORE_ERRNO_STATUS_H_
#define ENGINE_CORE_ERRNO_STATUS_H_

#include <fmt/core.h>

#include "core/status.h"

namespace engine::core {

namespace internal {
[[nodiscard]] Status MakeErrnoError(int error, fmt::string_view format, fmt::format_args args);
}  // namespace internal

// The error of a system call that failed with `error` (a value of errno): the text, followed by
// ": " and the system's description. The text is escaped (core/text.h): it carries foreign names.
//
//   if (fd < 0) return core::ErrnoError(errno, "open '{}'", path);
//
// A path that does not exist is NotFound, one that the kernel does not take InvalidArgument, a
// refusal PermissionDenied, a lack of memory kOutOfMemory (without text); all others, a full disk
// included, are Internal. As with every maker, the code alone is left when the text cannot be
// allocated. (absl::ErrnoToStatus has a full disk as kResourceExhausted, which is kOutOfMemory.)
template <typename... Args>
[[nodiscard]] Status ErrnoError(int error, fmt::format_string<Args...> format, Args&&... args) {
  return internal::MakeErrnoError(error, format, fmt::make_format_args(args...));
}

}  // namespace engine::core

#endif  // ENGINE_CORE_ERRNO_STATUS_H_
