// A C++ type that no DataType stores has no dtype.
#include "tensor/dtype.h"

namespace engine::tensor {

inline constexpr DataType kMapped = dtype_of<double>;
#ifdef ENGINE_COMPILE_FAIL
inline constexpr DataType kUnmapped = dtype_of<long double>;
#endif

}  // namespace engine::tensor
