// Const of an owner is deep: it is no destination.
#include "dense/dense_tensor.h"

namespace engine::dense {

core::Status CopyTo(DenseVector<float>& to, const DenseVector<float>& from) {
  return copy(to, from);
}
#ifdef ENGINE_COMPILE_FAIL
core::Status CopyToConst(const DenseVector<float>& to, const DenseVector<float>& from) {
  return copy(to, from);
}
#endif

}  // namespace engine::dense
