// core/status.h: the error type of the library, its makers and its propagation macros.
// Layer 0. Nothing here throws.
//
//   core::StatusOr<Tensor> Load(int64_t rows) {
//     if (rows < 0) return core::InvalidArgumentError("load: {} rows, expected >= 0", rows);
//     ENGINE_ASSIGN_OR_RETURN(Tensor weights, Tensor::empty({rows, 4}, kFloat32, Device::Cpu()));
//     ENGINE_RETURN_IF_ERROR(ops::fill(weights, 0));
//     return weights;
//   }
#ifndef ENGINE_CORE_STATUS_H_
#define ENGINE_CORE_STATUS_H_

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/core.h>

#include <utility>

namespace engine::core {

// Success, or an error: a code and a text.
using Status = absl::Status;
// What kind of error. The makers below say when each code is used.
using StatusCode = absl::StatusCode;

// A T or the Status that explains why there is none. `value()` on an error throws
// absl::BadStatusOrAccess, or aborts where exceptions are disabled; `operator*` and `operator->` on
// an error abort with Abseil's message. Test `ok()` first, as this library always does.
template <typename T>
using StatusOr = absl::StatusOr<T>;

// The code of failed allocations, host heap and control blocks included.
inline constexpr StatusCode kOutOfMemory = StatusCode::kResourceExhausted;

// Success.
[[nodiscard]] inline Status OkStatus() { return absl::OkStatus(); }

namespace internal {
// Formats and builds the status. When the text cannot be allocated the result is the bare code;
// where exceptions are disabled that last case aborts (the heap's own behaviour).
[[nodiscard]] Status MakeError(StatusCode code, fmt::string_view format, fmt::format_args args);
}  // namespace internal

// Makers. Each takes an fmt format string, checked at compile time, and names expectation, finding
// and place. Thread safety: all are reentrant.

// The argument is wrong whatever the state of the system: a bad shape, range, dtype or file
// content.
template <typename... Args>
[[nodiscard]] Status InvalidArgumentError(fmt::format_string<Args...> format, Args&&... args) {
  return internal::MakeError(StatusCode::kInvalidArgument, format, fmt::make_format_args(args...));
}

// The request is meaningful but this build has no implementation: reserved dtypes, CUDA devices.
template <typename... Args>
[[nodiscard]] Status UnimplementedError(fmt::format_string<Args...> format, Args&&... args) {
  return internal::MakeError(StatusCode::kUnimplemented, format, fmt::make_format_args(args...));
}

// A named thing (a file, a tensor of a checkpoint) does not exist.
template <typename... Args>
[[nodiscard]] Status NotFoundError(fmt::format_string<Args...> format, Args&&... args) {
  return internal::MakeError(StatusCode::kNotFound, format, fmt::make_format_args(args...));
}

// The operating system refuses access.
template <typename... Args>
[[nodiscard]] Status PermissionDeniedError(fmt::format_string<Args...> format, Args&&... args) {
  return internal::MakeError(StatusCode::kPermissionDenied, format, fmt::make_format_args(args...));
}

// The system is not in the state the call needs: a mapped file was truncated meanwhile.
template <typename... Args>
[[nodiscard]] Status FailedPreconditionError(fmt::format_string<Args...> format, Args&&... args) {
  return internal::MakeError(StatusCode::kFailedPrecondition, format,
                             fmt::make_format_args(args...));
}

// The operating system reports an I/O fault that no other code describes.
template <typename... Args>
[[nodiscard]] Status InternalError(fmt::format_string<Args...> format, Args&&... args) {
  return internal::MakeError(StatusCode::kInternal, format, fmt::make_format_args(args...));
}

// An allocation failed. The status carries the code only: its text would need the heap that has
// just run out.
[[nodiscard]] inline Status OutOfMemoryError() { return Status(kOutOfMemory, ""); }

// The same, for call sites that want to say what was being allocated. The text is checked at
// compile time like every maker's and documents the call site; it is not carried (see above).
template <typename... Args>
[[nodiscard]] Status OutOfMemoryError(fmt::format_string<Args...> /*format*/, Args&&... /*args*/) {
  return OutOfMemoryError();
}

// True for the error of a failed allocation, whichever function reports it.
[[nodiscard]] inline bool IsOutOfMemory(const Status& status) {
  return status.code() == kOutOfMemory;
}

}  // namespace engine::core

#define ENGINE_INTERNAL_CONCAT_(a, b) a##b
#define ENGINE_INTERNAL_CONCAT(a, b) ENGINE_INTERNAL_CONCAT_(a, b)

// Returns from the enclosing function when `expr` (a Status) is an error.
#define ENGINE_RETURN_IF_ERROR(...)                                  \
  do {                                                               \
    ::engine::core::Status engine_internal_status = (__VA_ARGS__);   \
    if (!engine_internal_status.ok()) return engine_internal_status; \
  } while (false)

// ENGINE_ASSIGN_OR_RETURN(lhs, expr): evaluates `expr` (a StatusOr<T>), returns its status from the
// enclosing function on error, else moves the value into `lhs`, which may declare a variable. `lhs`
// must not contain a comma (declare with `auto`, or through an alias). Expands to several
// statements: brace it after `if`.
#define ENGINE_ASSIGN_OR_RETURN(lhs, ...)                                                      \
  ENGINE_INTERNAL_ASSIGN_OR_RETURN(ENGINE_INTERNAL_CONCAT(engine_internal_or_, __LINE__), lhs, \
                                   __VA_ARGS__)
#define ENGINE_INTERNAL_ASSIGN_OR_RETURN(result, lhs, ...) \
  auto result = (__VA_ARGS__);                             \
  if (!result.ok()) return std::move(result).status();     \
  lhs = *std::move(result)

#endif  // ENGINE_CORE_STATUS_H_
