// harness/machine.h: what the figures depend on besides the code.
#ifndef ENGINE_BENCHMARKS_HARNESS_MACHINE_H_
#define ENGINE_BENCHMARKS_HARNESS_MACHINE_H_

#include <cstdint>
#include <string>

#include "core/status.h"

namespace engine::benchmarks {

// Binds the process to a processor: `cpu`, or the last one it may use when that is negative.
//   Returns  the processor.
//   Errors   InvalidArgument: the process may not run there.
[[nodiscard]] core::StatusOr<int> PinTo(int cpu);

[[nodiscard]] std::string CpuModel();
[[nodiscard]] std::string CompilerName();

// The data cache of that level which a core sees, in bytes; 0 when the kernel does not tell. Not
// from sysconf(), which reports what all cores of a socket have together on some processors.
[[nodiscard]] std::int64_t CacheBytes(int level);

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_MACHINE_H_
