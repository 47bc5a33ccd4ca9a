// Elements of a governed tensor cannot be written through the pointer that reading takes.
#include "governed/governed_tensor.h"

namespace engine::governed {

float Read(const GovernedTensor<float>& tensor) { return tensor.data()[0]; }
#ifdef ENGINE_COMPILE_FAIL
void Write(GovernedTensor<float>& tensor) {
  float* const element = tensor.data();
  *element = 1;
}
#endif

}  // namespace engine::governed
