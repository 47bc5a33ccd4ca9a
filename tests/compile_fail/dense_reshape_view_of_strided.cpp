// The type of a strided source does not say in which order to walk it.
#include "dense/reshape.h"

namespace engine::dense {

auto Ordered(DenseView<float, 2, Strided> view) { return reshape_view_right(view, -1); }
#ifdef ENGINE_COMPILE_FAIL
auto Guessed(DenseView<float, 2, Strided> view) { return reshape_view(view, -1); }
#endif

}  // namespace engine::dense
