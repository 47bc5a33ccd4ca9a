// core/no_throw.h: failed allocations of foreign code as errors.
// Layer 0.
#ifndef ENGINE_CORE_NO_THROW_H_
#define ENGINE_CORE_NO_THROW_H_

#include <new>
#include <utility>

#include "core/status.h"

namespace engine::core {

// Calls `body`, which returns a Status or StatusOr, and turns a failed allocation anywhere in it
// into kOutOfMemory: for functions that use the standard containers, or libraries that do. Without
// exceptions the heap itself aborts.
template <typename Body>
[[nodiscard]] auto WithoutBadAlloc(Body&& body) -> decltype(std::forward<Body>(body)()) {
#ifdef __cpp_exceptions
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError();
  }
#else
  return std::forward<Body>(body)();
#endif
}

}  // namespace engine::core

#endif  // ENGINE_CORE_NO_THROW_H_
