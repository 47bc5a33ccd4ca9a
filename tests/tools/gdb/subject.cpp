// What the gdb transcript looks at: one variable of each kind, in a frame that gdb stops in.
#include <cstdint>
#include <memory>
#include <utility>

#include "core/check.h"
#include "memory/buffer.h"
#include "tensor/debug.h"
#include "tensor/half.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace {

using engine::tensor::DataType;
using engine::tensor::Device;
using engine::tensor::Shape;
using engine::tensor::Tensor;

template <typename T>
T Take(engine::core::StatusOr<T> result) {
  ENGINE_CHECK(result.ok());
  return *std::move(result);
}

Tensor Counting(const Shape& shape, DataType dtype) {
  const Tensor flat = Take(engine::tensor::ops::arange(0, shape.numel(), 1, dtype));
  return Take(flat.reshape(shape));
}

// gdb stops here and goes up one frame, and another one.
[[gnu::noinline]] void Stop() { asm volatile(""); }

[[gnu::noinline]] void Borrow(const Tensor& tensor_argument,
                              const engine::tensor::bfloat16& brain_argument,
                              engine::tensor::float16 half_argument) {
  Stop();
  static_cast<void>(tensor_argument);
  static_cast<void>(brain_argument);
  static_cast<void>(half_argument);
}

}  // namespace

int main() {
  const Tensor contiguous = Counting({2, 3}, DataType::kFloat32);
  const Tensor strided = Take(contiguous.transpose(0, 1));
  const Tensor offset = Take(Take(strided.slice(0, 1, 3)).select(1, 1));
  const Tensor cube = Counting({2, 2, 2}, DataType::kInt8);
  const Tensor hypercube = Counting({2, 1, 2, 1}, DataType::kUInt64);
  const Tensor lengthy = Counting({10}, DataType::kInt64);
  const Tensor seventh = Take(engine::tensor::ops::full({1}, 0.1, DataType::kFloat32));
  const Tensor third = Take(engine::tensor::ops::full({1}, 1.0 / 3, DataType::kFloat64));
  const Tensor half = Take(engine::tensor::ops::full({2}, -1.5, DataType::kFloat16));
  const Tensor brain = Take(engine::tensor::ops::full({2}, 3.0, DataType::kBFloat16));
  const Tensor flags = Counting({2}, DataType::kBool);
  const Tensor scalar = Counting({}, DataType::kInt32);
  const Tensor empty = Counting({0, 4}, DataType::kInt32);
  const Tensor undefined;
  static std::int16_t lent[2] = {-1, 7};
  const auto read_only_buffer = std::make_shared<engine::memory::Buffer>(
      lent, sizeof(lent), Device::Cpu(), [](void*) {}, /*read_only=*/true);
  const Tensor read_only = Take(Tensor::from_buffer(read_only_buffer, 0, {2}, DataType::kInt16));
  const auto cuda_buffer =
      std::make_shared<engine::memory::Buffer>(lent, sizeof(lent), Device::Cuda(1), [](void*) {});
  const Tensor cuda = Take(Tensor::from_buffer(cuda_buffer, 0, {2}, DataType::kInt16));
  const Shape shape = {4, 1};
  const engine::tensor::bfloat16 number(0.15625F);
  static std::uint32_t nan_bits[2] = {0x7fc00000, 0xffc00000};
  const auto nan_buffer = std::make_shared<engine::memory::Buffer>(nan_bits, sizeof(nan_bits),
                                                                   Device::Cpu(), [](void*) {});
  const Tensor nans = Take(Tensor::from_buffer(nan_buffer, 0, {2}, DataType::kFloat32));
  const Tensor crowd = Counting({7, 7, 7}, DataType::kInt32);
  Borrow(strided, number, engine::tensor::float16(-0.5F));
  return shape.rank() == 2 && static_cast<float>(number) > 0 ? 0 : 1;
}
