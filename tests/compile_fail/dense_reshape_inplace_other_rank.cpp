// The rank is part of the type and cannot change in place.
#include "dense/reshape.h"

namespace engine::dense {

core::Status SameRank(DenseMatrix<float>& tensor) { return reshape_inplace(tensor, 2, -1); }
#ifdef ENGINE_COMPILE_FAIL
core::Status OtherRank(DenseMatrix<float>& tensor) { return reshape_inplace(tensor, 2, 2, -1); }
#endif

}  // namespace engine::dense
