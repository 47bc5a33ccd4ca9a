// testing/cache_sizes.cpp: lets a test run say how large the caches are.
// Test support; never installed. Linked with -Wl,--wrap=open,--wrap=sysconf.
//
// Which strategy a copy takes depends on its size relative to the caches. With pretended sizes,
// layouts of a few kilobytes take the paths meant for gigabytes, so that guard pages and random
// layouts reach those too. The kernel's description of the caches then seems to be missing, and
// sysconf, which is asked next, gives the sizes of the environment.
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

constexpr const char* kL2Variable = "ENGINE_TEST_L2_BYTES";
constexpr const char* kLastLevelVariable = "ENGINE_TEST_L3_BYTES";

}  // namespace

extern "C" {

// The linker's names for what --wrap redirects, and for the originals.
int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...);
long __real_sysconf(int name);
long __wrap_sysconf(int name);

int __wrap_open(const char* path, int flags, ...) {
  const bool pretends =
      std::getenv(kL2Variable) != nullptr || std::getenv(kLastLevelVariable) != nullptr;
  if (pretends && std::string_view(path).find("/sys/devices/system/cpu/") == 0) {
    errno = ENOENT;
    return -1;
  }
  if ((flags & O_CREAT) == 0) return __real_open(path, flags);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return __real_open(path, flags, mode);
}

long __wrap_sysconf(int name) {
  const char* variable = nullptr;
  if (name == _SC_LEVEL2_CACHE_SIZE) variable = kL2Variable;
  if (name == _SC_LEVEL3_CACHE_SIZE) variable = kLastLevelVariable;
  const char* const bytes = variable == nullptr ? nullptr : std::getenv(variable);
  return bytes == nullptr ? __real_sysconf(name) : std::strtol(bytes, nullptr, 10);
}

}  // extern "C"
