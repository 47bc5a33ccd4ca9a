// The same where an element is a class, to whose temporaries one could assign.
#include "dense/dense_tensor.h"
#include "dense/generated.h"

namespace engine::dense {

void WriteHalf(DenseVector<tensor::float16>& tensor) { tensor(0) = tensor::float16(1.0f); }
#ifdef ENGINE_COMPILE_FAIL
void WriteGeneratedHalf(EyeTensor<tensor::float16, 1>& tensor) {
  tensor(0) = tensor::float16(1.0f);
}
#endif

}  // namespace engine::dense
