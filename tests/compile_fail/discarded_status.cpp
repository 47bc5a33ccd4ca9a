// An ignored error is a warning everywhere, and an error here.
#include "tensor/ops.h"

namespace engine::tensor {

core::Status Right(const Tensor& tensor) { return ops::fill(tensor, 0); }
#ifdef ENGINE_COMPILE_FAIL
#pragma GCC diagnostic error "-Wunused-result"
void Wrong(const Tensor& tensor) { ops::fill(tensor, 0); }
#endif

}  // namespace engine::tensor
