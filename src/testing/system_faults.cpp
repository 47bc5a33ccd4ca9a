#include "testing/system_faults.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace engine::testing {
namespace {

struct FaultState {
  bool active = false;
  SystemCall call = SystemCall::kOpen;
  int error = 0;
  std::int64_t successes = 0;
  std::int64_t failures = 0;
  bool triggered = false;
  std::size_t most_bytes = SIZE_MAX;
  std::int64_t short_writes = 0;
};

thread_local FaultState state;

// Whether this call is to fail; errno is then set.
bool Fails(SystemCall call) {
  if (!state.active || state.call != call) return false;
  if (state.successes > 0) {
    --state.successes;
    return false;
  }
  if (state.failures == 0) return false;
  --state.failures;
  state.triggered = true;
  errno = state.error;
  return true;
}

std::size_t BytesToWrite(std::size_t bytes) {
  if (bytes > state.most_bytes) ++state.short_writes;
  return std::min(bytes, state.most_bytes);
}

}  // namespace

const char* NameOf(SystemCall call) {
  constexpr std::array kNames = {"open",  "fstat", "mmap",  "fchmod",
                                 "write", "fsync", "close", "rename"};
  static_assert(kNames.size() == static_cast<std::size_t>(SystemCall::kRename) + 1);
  return kNames[static_cast<std::size_t>(call)];
}

ScopedSystemFault::ScopedSystemFault(SystemCall call, int error, std::int64_t successes,
                                     std::int64_t failures) {
  state.active = true;
  state.call = call;
  state.error = error;
  state.successes = successes;
  state.failures = failures;
  state.triggered = false;
}
ScopedSystemFault::~ScopedSystemFault() { state.active = false; }
bool ScopedSystemFault::triggered() const { return state.triggered; }

ScopedShortWrites::ScopedShortWrites(std::size_t most_bytes) {
  state.most_bytes = most_bytes;
  state.short_writes = 0;
}
ScopedShortWrites::~ScopedShortWrites() { state.most_bytes = SIZE_MAX; }
std::int64_t ScopedShortWrites::count() const { return state.short_writes; }

}  // namespace engine::testing

using engine::testing::BytesToWrite;
using engine::testing::Fails;
using engine::testing::SystemCall;

// The linker's names for what --wrap redirects, and for the originals.
extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_fstat(int descriptor, struct stat* info);
void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int descriptor,
                  off_t offset);
int __real_fchmod(int descriptor, mode_t mode);
ssize_t __real_write(int descriptor, const void* data, std::size_t bytes);
int __real_fsync(int descriptor);
int __real_close(int descriptor);
int __real_rename(const char* from, const char* to);

int __wrap_open(const char* path, int flags, ...);
int __wrap_fstat(int descriptor, struct stat* info);
void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int descriptor,
                  off_t offset);
int __wrap_fchmod(int descriptor, mode_t mode);
ssize_t __wrap_write(int descriptor, const void* data, std::size_t bytes);
int __wrap_fsync(int descriptor);
int __wrap_close(int descriptor);
int __wrap_rename(const char* from, const char* to);

int __wrap_open(const char* path, int flags, ...) {
  if (Fails(SystemCall::kOpen)) return -1;
  if ((flags & O_CREAT) == 0) return __real_open(path, flags);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return __real_open(path, flags, mode);
}

int __wrap_fstat(int descriptor, struct stat* info) {
  return Fails(SystemCall::kFstat) ? -1 : __real_fstat(descriptor, info);
}

void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int descriptor,
                  off_t offset) {
  return Fails(SystemCall::kMmap) ? MAP_FAILED
                                  : __real_mmap(at, bytes, protection, flags, descriptor, offset);
}

int __wrap_fchmod(int descriptor, mode_t mode) {
  return Fails(SystemCall::kFchmod) ? -1 : __real_fchmod(descriptor, mode);
}

ssize_t __wrap_write(int descriptor, const void* data, std::size_t bytes) {
  return Fails(SystemCall::kWrite) ? -1 : __real_write(descriptor, data, BytesToWrite(bytes));
}

int __wrap_fsync(int descriptor) {
  return Fails(SystemCall::kFsync) ? -1 : __real_fsync(descriptor);
}

int __wrap_close(int descriptor) {
  const int result = __real_close(descriptor);
  return Fails(SystemCall::kClose) ? -1 : result;
}

int __wrap_rename(const char* from, const char* to) {
  return Fails(SystemCall::kRename) ? -1 : __real_rename(from, to);
}

}  // extern "C"
