// Elements cannot be read through a C++ type that no DataType stores.
#include "tensor/tensor.h"

namespace engine::tensor {

const double* Mapped(const Tensor& tensor) { return tensor.data_ptr<const double>(); }
#ifdef ENGINE_COMPILE_FAIL
const long double* Unmapped(const Tensor& tensor) { return tensor.data_ptr<const long double>(); }
#endif

}  // namespace engine::tensor
