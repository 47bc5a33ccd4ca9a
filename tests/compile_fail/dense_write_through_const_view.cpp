// A view of a const tensor reads.
#include "dense/dense_tensor.h"

namespace engine::dense {

void WriteView(DenseVector<float>& tensor) { tensor.view()(0) = 1; }
#ifdef ENGINE_COMPILE_FAIL
void WriteConstView(const DenseVector<float>& tensor) { tensor.view()(0) = 1; }
#endif

}  // namespace engine::dense
