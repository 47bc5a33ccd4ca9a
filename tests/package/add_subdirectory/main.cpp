// Builds a matrix, takes a column and compares it with the values it must hold.
#include <cstdint>
#include <cstdio>

#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace tensor = engine::tensor;

int main() {
  const auto values = tensor::ops::arange(0, 6);
  if (!values.ok()) return 1;
  const auto matrix = values->reshape({2, 3});
  if (!matrix.ok()) return 1;
  const auto column = matrix->slice(1, 2, 3);
  if (!column.ok()) return 1;
  if (column->item<std::int64_t>({0, 0}) != 2 || column->item<std::int64_t>({1, 0}) != 5) {
    std::fprintf(stderr, "%s\n", tensor::ops::to_string(*column).c_str());
    return 1;
  }
  return 0;
}
