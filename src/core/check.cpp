#include "core/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace engine::core::internal {
namespace {

void PrintLocation(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s", file, line, condition);
}

[[noreturn]] void Die() {
  std::fputc('\n', stderr);
  std::fflush(stderr);
  std::abort();
}

void PrintMessage(fmt::string_view format, fmt::format_args args) {
#ifdef __cpp_exceptions
  // A long message allocates; when that fails the location and condition must still come out.
  try {
#endif
    fmt::memory_buffer text;
    fmt::vformat_to(fmt::appender(text), format, args);
    std::fputs(": ", stderr);
    std::fwrite(text.data(), 1, text.size(), stderr);
#ifdef __cpp_exceptions
  } catch (...) {
    std::fputs(": (message could not be formatted)", stderr);
  }
#endif
}

}  // namespace

void CheckFailed(const char* file, int line, const char* condition) {
  PrintLocation(file, line, condition);
  Die();
}

void CheckFailedWithMessage(const char* file, int line, const char* condition,
                            fmt::string_view format, fmt::format_args args) {
  PrintLocation(file, line, condition);
  PrintMessage(format, args);
  Die();
}

}  // namespace engine::core::internal
