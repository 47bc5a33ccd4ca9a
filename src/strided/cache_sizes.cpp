// How large the caches of this machine are, asked of the system once.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[32];
  const ssize_t length = read(file, text, sizeof(text));
  close(file);
  std::int64_t number = 0;
  for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i) {
    number = number * 10 + (text[i] - '0');
  }
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
  static const CacheSizes sizes = [] {
    const std::int64_t l2 = CacheSize(2, _SC_LEVEL2_CACHE_SIZE, kMiB);
    // Without a third level the second is the last.
    return CacheSizes{l2, std::max(l2, CacheSize(3, _SC_LEVEL3_CACHE_SIZE, 0))};
  }();
  return sizes;
}

}  // namespace engine::strided
