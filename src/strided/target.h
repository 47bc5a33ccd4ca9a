// strided/target.h: which instruction set the kernels use.
// Layer 2. Thread-safe.
#ifndef ENGINE_STRIDED_TARGET_H_
#define ENGINE_STRIDED_TARGET_H_

#include <span>
#include <string_view>

namespace engine::strided {

// The target in use, e.g. "avx3": the best one this CPU supports, or the one that the environment
// variable ENGINE_CPU named when the process first asked. An unknown or unsupported value of
// ENGINE_CPU prints one warning to stderr that names the valid ones, and is ignored. Results do not
// depend on the target; speed does.
[[nodiscard]] std::string_view ActiveTarget();

// Every target that ENGINE_CPU accepts on this CPU, best first; "scalar" is always the last.
[[nodiscard]] std::span<const std::string_view> SupportedTargets();

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_TARGET_H_
