// Narrowing to bfloat16 is never implicit, from double neither.
#include "tensor/half.h"

namespace engine::tensor {

inline constexpr bfloat16 kExplicit = bfloat16(1.0f);
#ifdef ENGINE_COMPILE_FAIL
inline constexpr bfloat16 kImplicit = 1.0;
#endif

}  // namespace engine::tensor
