// How large the caches of this machine are, asked of the system once.
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "strided/internal/policy.h"

namespace engine::strided {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

// The number at the start of a file of the kernel's cache description ("32768K" gives 32768); 0
// when there is none.
std::int64_t ReadNumber(int index, const char* name) {
  char path[96];
  std::snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  long long number = 0;
  if (std::fscanf(file, "%lld", &number) != 1) number = 0;
  std::fclose(file);
  return number;
}

// Bytes of the cache of this level. The kernel's own description comes first: for the last level of
// some CPUs, sysconf adds up the caches of all cores, of which one core can use a fraction.
std::int64_t CacheSize(int level, int sysconf_name, std::int64_t fallback) {
  constexpr int kMaxCaches = 8;
  for (int i = 0; i < kMaxCaches; ++i) {
    if (ReadNumber(i, "level") != level) continue;
    const std::int64_t bytes = ReadNumber(i, "size") * kKiB;
    if (bytes > 0) return bytes;
  }
  const long bytes = sysconf(sysconf_name);
  return bytes > 0 ? std::int64_t{bytes} : fallback;
}

}  // namespace

const CacheSizes& SystemCacheSizes() {
  static const CacheSizes sizes = {CacheSize(2, _SC_LEVEL2_CACHE_SIZE, kMiB),
                                   CacheSize(3, _SC_LEVEL3_CACHE_SIZE, 32 * kMiB)};
  return sizes;
}

}  // namespace engine::strided
