#include "core/errno_status.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/text.h"

namespace engine::core::internal {
namespace {

// strerror_r comes in two kinds: GNU's returns the text, POSIX's fills the buffer. Unlike
// std::error_category::message, neither allocates.
[[maybe_unused]] const char* ErrorText(const char* text, const char* /*buffer*/) { return text; }
[[maybe_unused]] const char* ErrorText(int /*result*/, const char* buffer) { return buffer; }

StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case ENAMETOOLONG:
    case ENXIO:  // a socket, or a device file without a device
      return StatusCode::kInvalidArgument;
    case ENOMEM:
      return kOutOfMemory;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

Status MakeErrnoError(int error, fmt::string_view format, fmt::format_args args) {
  const StatusCode code = CodeOf(error);
  if (code == kOutOfMemory) return OutOfMemoryError();
  // Joined by the maker that cannot throw.
  const Status what = MakeError(code, format, args);
  const Escaped text{std::string_view(what.message().data(), what.message().size())};
  char buffer[128] = "";
  const char* const reason = ErrorText(strerror_r(error, buffer, sizeof(buffer)), buffer);
  return MakeError(code, "{}: {}", fmt::make_format_args(text, reason));
}

}  // namespace engine::core::internal
