#include "core/status.h"

#include <fmt/core.h>

#include <string>

namespace engine::core::internal {

Status MakeError(StatusCode code, fmt::string_view format, fmt::format_args args) {
#ifdef __cpp_exceptions
  try {
    return Status(code, fmt::vformat(format, args));
  } catch (...) {
    // Formatting or the status' own representation ran out of memory; the bare code needs no heap.
    return Status(code, "");
  }
#else
  return Status(code, fmt::vformat(format, args));
#endif
}

}  // namespace engine::core::internal
