// strided/internal/active_target.h: the target in use, as the kernel tables index it.
#ifndef ENGINE_STRIDED_INTERNAL_ACTIVE_TARGET_H_
#define ENGINE_STRIDED_INTERNAL_ACTIVE_TARGET_H_

#include <cstdint>

namespace engine::strided {

// The order of ENGINE_TARGET_TABLE; kScalar has no entry there.
enum class Target : std::uint8_t { kAvx3Bf16, kAvx3, kAvx2, kSse4, kNeon, kScalar };

// ActiveTarget() of strided/target.h. Decided once per process.
[[nodiscard]] Target ActiveTargetKind();

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_INTERNAL_ACTIVE_TARGET_H_
