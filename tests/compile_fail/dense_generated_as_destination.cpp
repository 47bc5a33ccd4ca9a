// A generated tensor is no destination.
#include "dense/dense_tensor.h"
#include "dense/generated.h"

namespace engine::dense {

core::Status Copy(DenseVector<float>& to) { return copy(to, full(1.0f, 3)); }
#ifdef ENGINE_COMPILE_FAIL
core::Status CopyInto(FullTensor<float, 1>& to) { return copy(to, full(1.0f, 3)); }
#endif

}  // namespace engine::dense
