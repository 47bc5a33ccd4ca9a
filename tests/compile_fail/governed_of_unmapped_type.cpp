// Governed tensors hold types that have a dtype.
#include "governed/governed_tensor.h"

namespace engine::governed {

GovernedTensor<double> mapped;
#ifdef ENGINE_COMPILE_FAIL
GovernedTensor<long double> unmapped;
#endif

}  // namespace engine::governed
