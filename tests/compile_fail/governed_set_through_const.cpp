// A const handle of a governed tensor neither writes nor moves to other storage.
#include "governed/governed_tensor.h"

namespace engine::governed {

core::Status Write(GovernedTensor<float>& tensor) { return tensor.Set({0}, 1); }
#ifdef ENGINE_COMPILE_FAIL
core::Status WriteConst(const GovernedTensor<float>& tensor) { return tensor.Set({0}, 1); }
#endif

}  // namespace engine::governed
