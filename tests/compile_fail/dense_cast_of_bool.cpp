// bool is neither floating nor integer: it is not cast.
#include "dense/operations.h"

namespace engine::dense {

auto CastIntegers(const DenseVector<int>& tensor) { return cast<float>(tensor); }
#ifdef ENGINE_COMPILE_FAIL
auto CastBools(const DenseVector<bool>& tensor) { return cast<float>(tensor); }
#endif

}  // namespace engine::dense
