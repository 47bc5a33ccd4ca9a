// Elements are of a type that some DataType stores.
#include "dense/dense_tensor.h"

namespace engine::dense {

using Mapped = DenseVector<double>;
void Use(const Mapped& tensor);
#ifdef ENGINE_COMPILE_FAIL
void UseUnmapped(const DenseVector<long double>& tensor);
#endif

}  // namespace engine::dense
