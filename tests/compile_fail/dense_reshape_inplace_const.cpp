// Neither a const tensor nor a view can take another mapping in place.
#include "dense/reshape.h"

namespace engine::dense {

core::Status Mutable(DenseMatrix<float>& tensor) { return reshape_inplace(tensor, 2, -1); }
#ifdef ENGINE_COMPILE_FAIL
core::Status Const(const DenseMatrix<float>& tensor) { return reshape_inplace(tensor, 2, -1); }
#endif

}  // namespace engine::dense
