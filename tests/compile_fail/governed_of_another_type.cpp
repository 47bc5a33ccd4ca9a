// A governed tensor cannot be assigned to one of another element type, not through their common
// base either.
#include "governed/governed_tensor.h"

namespace engine::governed {

void Share(GovernedTensor<float>& to, const GovernedTensor<float>& from) { to = from; }
#ifdef ENGINE_COMPILE_FAIL
void Confuse(GovernedHandle& to, const GovernedTensor<double>& from) { to = from; }
#endif

}  // namespace engine::governed
