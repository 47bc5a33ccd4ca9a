// A generated tensor has no elements in memory.
#include "dense/dense_tensor.h"
#include "dense/generated.h"

namespace engine::dense {

const float* DataOf(const DenseVector<float>& tensor) { return tensor.data(); }
#ifdef ENGINE_COMPILE_FAIL
const float* DataOfGenerated(const FullTensor<float, 1>& tensor) { return tensor.data(); }
#endif

}  // namespace engine::dense
