// An owning reshape guesses no order either.
#include "dense/reshape.h"

namespace engine::dense {

auto OwnedFlat(const DenseMatrix<float>& tensor) { return reshape(tensor, -1); }
#ifdef ENGINE_COMPILE_FAIL
auto GuessedFlat(const DenseMatrix<float, Strided>& tensor) { return reshape(tensor, -1); }
#endif

}  // namespace engine::dense
