// What the suites of ops share beside testing/tensors.h.
#ifndef ENGINE_TESTS_TENSOR_OPS_TEST_UTIL_H_
#define ENGINE_TESTS_TENSOR_OPS_TEST_UTIL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include "testing/fp_mode.h"
#include "testing/reference.h"
#include "testing/tensors.h"

namespace engine::testing {

// Every dtype that can be stored.
[[nodiscard]] inline std::vector<tensor::DataType> StorableDTypes() {
  std::vector<tensor::DataType> dtypes;
  for (const tensor::DataType dtype : tensor::kAllDataTypes) {
    if (!tensor::is_reserved(dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

[[nodiscard]] inline std::vector<tensor::DataType> FloatingDTypes() {
  using tensor::DataType;
  return {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16, DataType::kFloat64};
}

// Contiguous, every byte 0xA5, `byte_offset` bytes behind a 64-byte boundary.
[[nodiscard]] inline tensor::Tensor PoisonedTensor(const tensor::Shape& shape,
                                                   tensor::DataType dtype,
                                                   std::size_t byte_offset = 0) {
  const auto bytes = static_cast<std::size_t>(shape.numel() * tensor::itemsize(dtype));
  return *tensor::Tensor::from_buffer(MakeStorage(bytes + byte_offset, 0xA5), byte_offset, shape,
                                      dtype);
}

// The bits of an integer in a dtype that represents it exactly.
[[nodiscard]] inline std::uint64_t BitsOfInteger(std::int64_t value, tensor::DataType dtype) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (dtype == tensor::DataType::kBool) return bits;
  return *reference::ConvertBits(dtype, tensor::DataType::kInt64, bits);
}

// Metadata over a made-up device address.
[[nodiscard]] inline tensor::Tensor CudaTensor(const tensor::Shape& shape, tensor::DataType dtype) {
  static std::byte address{};
  return *tensor::Tensor::from_buffer(BorrowStorage(&address, 4096, false, tensor::Device::Cuda(0)),
                                      0, shape, dtype);
}

// The elements of a contiguous tensor, seen through storage that must not be written.
[[nodiscard]] inline tensor::Tensor ReadOnlyView(const tensor::Tensor& tensor) {
  return *tensor::Tensor::from_buffer(BorrowStorage(tensor.data(), tensor.nbytes(), true), 0,
                                      tensor.shape(), tensor.dtype());
}

// Calls run() under that control word; returns what it is afterwards (`control`, sticky flags
// included, when run() kept it).
template <typename Run>
[[nodiscard, gnu::noinline]] std::uint64_t ControlAfter(std::uint64_t control, Run&& run) {
  const ScopedFpControl scope(control);
  run();
  return ReadFpControl();
}

}  // namespace engine::testing

#endif  // ENGINE_TESTS_TENSOR_OPS_TEST_UTIL_H_
