// tensor/ostream.h: printing to std::ostream, for those who want it.
// Layer 3. Opt-in: nothing else of the library includes <ostream>.
//
//   std::cout << tensor << '\n';
#ifndef ENGINE_TENSOR_OSTREAM_H_
#define ENGINE_TENSOR_OSTREAM_H_

#include <fmt/core.h>

#include <ostream>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace engine::tensor {

// Each prints what its fmt formatter does; a tensor what ops::to_string returns.
inline std::ostream& operator<<(std::ostream& out, DataType dtype) {
  return out << fmt::format("{}", dtype);
}
inline std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << fmt::format("{}", device);
}
inline std::ostream& operator<<(std::ostream& out, const DimVector& dims) {
  return out << fmt::format("{}", dims);
}
inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << fmt::format("{}", shape);
}
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << ops::to_string(tensor);
}

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_OSTREAM_H_
