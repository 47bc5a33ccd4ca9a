// DenseTensor::span is for owners that stay: the elements of a temporary are gone at the semicolon.
#include "dense/dense_tensor.h"

namespace engine::dense {

void TakeSpan() {
  DenseMatrix<float> matrix(2, 2);
  static_cast<void>(matrix.span());
#ifdef ENGINE_COMPILE_FAIL
  static_cast<void>(DenseMatrix<float>(2, 2).span());
#endif
}

}  // namespace engine::dense
