// A generated tensor has no order and nothing to alias.
#include "dense/generated.h"
#include "dense/reshape.h"

namespace engine::dense {

auto Owned() { return reshape(eye<float>(2, 2), 4); }
#ifdef ENGINE_COMPILE_FAIL
auto Aliased(EyeTensor<float, 2>& tensor) { return reshape_view(tensor, 4); }
#endif

}  // namespace engine::dense
