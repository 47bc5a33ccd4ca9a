#include <fmt/core.h>

#include "tensor/ops.h"

namespace ops = engine::tensor::ops;
using engine::tensor::DataType;
using engine::tensor::Tensor;

engine::core::Status Run() {
  ENGINE_ASSIGN_OR_RETURN(Tensor numbers, ops::arange(0, 12, 1, DataType::kFloat32));
  ENGINE_ASSIGN_OR_RETURN(Tensor matrix, numbers.reshape({3, 4}));  // views share storage
  ENGINE_ASSIGN_OR_RETURN(Tensor turned, matrix.transpose(0, 1));
  ENGINE_ASSIGN_OR_RETURN(Tensor halves, ops::cast(turned, DataType::kFloat16));  // new storage
  fmt::print("{}\n", ops::to_string(halves));
  return engine::core::OkStatus();
}

int main() {
  const engine::core::Status status = Run();
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
