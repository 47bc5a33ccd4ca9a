// Converts to half precision, takes the result through the file format, and back within tolerance.
#include <cstdio>
#include <memory>
#include <utility>

#include "interop/safetensors.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace tensor = engine::tensor;

int main() {
  const auto values = tensor::ops::full({4, 5}, 0.1, tensor::DataType::kFloat32);
  if (!values.ok()) return 1;
  const auto halves = tensor::ops::cast(*values, tensor::DataType::kFloat16);
  if (!halves.ok()) return 1;
  const engine::safetensors::NamedTensor named[] = {{"weight", *halves}};
  auto bytes = engine::safetensors::Serialize(named);
  if (!bytes.ok()) return 1;
  const auto file = engine::safetensors::File::FromBuffer(
      std::make_shared<engine::memory::Buffer>(*std::move(bytes)));
  if (!file.ok()) return 1;
  const auto read = file->Get("weight");
  if (!read.ok()) return 1;
  const auto back = tensor::ops::cast(*read, tensor::DataType::kFloat32);
  if (!back.ok()) return 1;
  const auto near = tensor::ops::allclose(*back, *values, {.rtol = 1e-3, .atol = 0});
  const auto exact = tensor::ops::allclose(*back, *values, {.rtol = 0, .atol = 0});
  if (!near.ok() || !near->close || !exact.ok() || exact->close) {
    std::fprintf(stderr, "0.1 through float16 is off\n");
    return 1;
  }
  return 0;
}
