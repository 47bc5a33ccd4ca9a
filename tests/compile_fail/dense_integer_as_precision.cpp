// An integer too many is no precision.
#include "dense/dense_tensor.h"

namespace engine::dense {

DenseMatrix<float> WithPrecision() { return DenseMatrix<float>(2, 3, Precision(24)); }
#ifdef ENGINE_COMPILE_FAIL
DenseMatrix<float> WithInteger() { return DenseMatrix<float>(2, 3, 24); }
#endif

}  // namespace engine::dense
