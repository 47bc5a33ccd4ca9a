// A view of a temporary tensor would dangle.
#include "dense/dense_tensor.h"

namespace engine::dense {

float Read(const DenseVector<float>& tensor) { return tensor.view()(0); }
#ifdef ENGINE_COMPILE_FAIL
float ReadTemporary() { return DenseVector<float>(1).view()(0); }
#endif

}  // namespace engine::dense
