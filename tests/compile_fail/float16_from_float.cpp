// Narrowing to float16 loses bits, so it is never implicit.
#include "tensor/half.h"

namespace engine::tensor {

inline constexpr float16 kExplicit = float16(1.0f);
#ifdef ENGINE_COMPILE_FAIL
inline constexpr float16 kImplicit = 1.0f;
#endif

}  // namespace engine::tensor
