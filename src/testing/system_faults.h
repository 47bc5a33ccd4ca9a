// testing/system_faults.h: makes chosen system calls fail.
// Test support; a binary that links engine_testing_system_faults has the calls below redirected.
#ifndef ENGINE_TESTING_SYSTEM_FAULTS_H_
#define ENGINE_TESTING_SYSTEM_FAULTS_H_

#include <cstddef>
#include <cstdint>

namespace engine::testing {

enum class SystemCall { kOpen, kFstat, kMmap, kFchmod, kWrite, kFsync, kClose, kRename };

[[nodiscard]] const char* NameOf(SystemCall call);

// While it lives, such calls of this thread succeed `successes` times, then fail `failures` times
// with `error`, then succeed again. Only calls from objects and archives of this program: those
// inside of shared libraries are not redirected. A failing close does close, as Linux's does. One
// at a time.
class ScopedSystemFault {
 public:
  ScopedSystemFault(SystemCall call, int error, std::int64_t successes = 0,
                    std::int64_t failures = INT64_MAX);
  ~ScopedSystemFault();
  ScopedSystemFault(const ScopedSystemFault&) = delete;
  ScopedSystemFault& operator=(const ScopedSystemFault&) = delete;

  // Whether any call has failed yet.
  [[nodiscard]] bool triggered() const;
};

// While it lives, write on this thread takes at most so many bytes per call.
class ScopedShortWrites {
 public:
  explicit ScopedShortWrites(std::size_t most_bytes);
  ~ScopedShortWrites();
  ScopedShortWrites(const ScopedShortWrites&) = delete;
  ScopedShortWrites& operator=(const ScopedShortWrites&) = delete;

  // How many calls took less than they were given.
  [[nodiscard]] std::int64_t count() const;
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_SYSTEM_FAULTS_H_
