// testing/cache_sizes.cpp: lets a test run say how large the caches are.
// Test support; never installed. Linked with -Wl,--wrap=fopen,--wrap=sysconf.
//
// Which strategy a copy takes depends on its size relative to the caches. With pretended sizes,
// layouts of a few kilobytes take the paths meant for gigabytes, so that guard pages and random
// layouts reach those too. The kernel's description of the caches then seems to be missing, and
// sysconf, which is asked next, gives the sizes of the environment.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr const char* kL2Variable = "ENGINE_TEST_L2_BYTES";
constexpr const char* kLastLevelVariable = "ENGINE_TEST_L3_BYTES";

}  // namespace

extern "C" {

// The linker's names for what --wrap redirects, and for the originals.
std::FILE* __real_fopen(const char* path,
                        const char* mode);  // NOLINT(bugprone-reserved-identifier)
std::FILE* __wrap_fopen(const char* path,
                        const char* mode);  // NOLINT(bugprone-reserved-identifier)
long __real_sysconf(int name);              // NOLINT(bugprone-reserved-identifier)
long __wrap_sysconf(int name);              // NOLINT(bugprone-reserved-identifier)

std::FILE* __wrap_fopen(const char* path, const char* mode) {
  const bool pretends =
      std::getenv(kL2Variable) != nullptr || std::getenv(kLastLevelVariable) != nullptr;
  if (pretends && std::string_view(path).find("/sys/devices/system/cpu/") == 0) {
    errno = ENOENT;
    return nullptr;
  }
  return __real_fopen(path, mode);
}

long __wrap_sysconf(int name) {
  const char* variable = nullptr;
  if (name == _SC_LEVEL2_CACHE_SIZE) variable = kL2Variable;
  if (name == _SC_LEVEL3_CACHE_SIZE) variable = kLastLevelVariable;
  const char* const bytes = variable == nullptr ? nullptr : std::getenv(variable);
  return bytes == nullptr ? __real_sysconf(name) : std::strtol(bytes, nullptr, 10);
}

}  // extern "C"
