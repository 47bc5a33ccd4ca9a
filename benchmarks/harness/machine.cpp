#include "harness/machine.h"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace engine::benchmarks {

core::StatusOr<int> PinTo(int cpu) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return core::InternalError("sched_getaffinity: {}", std::strerror(errno));
  }
  const bool any = cpu < 0;
  for (int i = 0; any && i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) cpu = i;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    return core::InvalidArgumentError("processor {}: {}", cpu, std::strerror(errno));
  }
  return cpu;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string CompilerName() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::int64_t CacheBytes(int level) {
  for (int index = 0;; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    int found = 0;
    std::string type;
    std::int64_t kib = 0;
    if (!(std::ifstream(folder + "level") >> found)) return 0;
    if (!(std::ifstream(folder + "type") >> type) || !(std::ifstream(folder + "size") >> kib)) {
      continue;
    }
    if (found == level && type != "Instruction") return kib * 1024;
  }
}

}  // namespace engine::benchmarks
