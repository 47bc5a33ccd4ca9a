// A view does not keep its source alive, so a temporary owner has none.
#include "dense/reshape.h"

namespace engine::dense {

auto ViewOf(DenseVector<float>& tensor) { return reshape_view(tensor, 2, -1); }
#ifdef ENGINE_COMPILE_FAIL
auto ViewOfTemporary() { return reshape_view(DenseVector<float>(4), 2, -1); }
#endif

}  // namespace engine::dense
