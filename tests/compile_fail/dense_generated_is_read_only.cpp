// Elements of a generated tensor are values: there is nothing to assign to.
#include "dense/dense_tensor.h"
#include "dense/generated.h"

namespace engine::dense {

void Write(DenseMatrix<float>& tensor) { tensor(0, 0) = 1; }
#ifdef ENGINE_COMPILE_FAIL
void WriteGenerated(FullTensor<float, 2>& tensor) { tensor(0, 0) = 1; }
#endif

}  // namespace engine::dense
