// Buffers and tensors for the suites of tensor.h.
#ifndef ENGINE_TESTS_TENSOR_TENSOR_TEST_SUPPORT_H_
#define ENGINE_TESTS_TENSOR_TENSOR_TEST_SUPPORT_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "core/check.h"
#include "memory/buffer.h"
#include "tensor/tensor.h"

namespace engine::tensor {

inline void PrintTo(const Shape& shape, std::ostream* out) { *out << fmt::format("{}", shape); }
inline void PrintTo(const DimVector& values, std::ostream* out) {
  *out << fmt::format("{}", values);
}
inline void PrintTo(DataType dtype, std::ostream* out) { *out << fmt::format("{}", dtype); }
inline void PrintTo(const Device& device, std::ostream* out) { *out << device.ToString(); }

// A handle to an expected tensor; CHECKs that there is one.
inline Tensor Value(core::StatusOr<Tensor> tensor) {
  ENGINE_CHECK(tensor.ok(), "{}", tensor.status().ToString());
  return *std::move(tensor);
}

// `bytes` zero bytes of exactly that size, so that a sanitizer sees any step outside. `deletions`,
// where given, counts runs of the deleter.
inline std::shared_ptr<memory::Buffer> MakeBuffer(std::size_t bytes, int* deletions = nullptr,
                                                  bool read_only = false) {
  void* const data = bytes == 0 ? nullptr : std::calloc(bytes, 1);
  return std::make_shared<memory::Buffer>(
      data, bytes, Device::Cpu(),
      [deletions](void* memory) {
        if (deletions != nullptr) ++*deletions;
        std::free(memory);
      },
      read_only);
}

// A buffer that claims to be device memory: its address must never be dereferenced.
inline std::shared_ptr<memory::Buffer> MakeCudaBuffer(std::size_t bytes) {
  return std::make_shared<memory::Buffer>(reinterpret_cast<void*>(std::uintptr_t{0x1000}), bytes,
                                          Device::Cuda(0), [](void*) {});
}

// A contiguous int32 tensor in a buffer of its own, `byte_offset` bytes in, element i holding i.
inline Tensor Iota(const Shape& shape, std::size_t byte_offset = 0) {
  const auto count = static_cast<std::size_t>(shape.numel());
  const std::shared_ptr<memory::Buffer> buffer =
      MakeBuffer(byte_offset + count * sizeof(std::int32_t));
  auto* to = static_cast<std::byte*>(buffer->data()) + byte_offset;
  for (std::size_t i = 0; i < count; ++i, to += sizeof(std::int32_t)) {
    const auto value = static_cast<std::int32_t>(i);
    std::memcpy(to, &value, sizeof(value));
  }
  return Value(Tensor::from_buffer(buffer, byte_offset, shape, DataType::kInt32));
}

// The elements in row-major order, each read by its coordinates.
inline std::vector<std::int32_t> Elements(const Tensor& tensor) {
  std::vector<std::int32_t> elements;
  if (tensor.numel() == 0) return elements;
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.shape().rank()), 0);
  for (;;) {
    elements.push_back(tensor.item<std::int32_t>(index));
    int axis = tensor.shape().rank() - 1;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (++index[a] < tensor.shape().dim(axis)) break;
      index[a] = 0;
    }
    if (axis < 0) return elements;
  }
}

// Where data() lies from the start of the buffer.
inline std::ptrdiff_t BytesIntoBuffer(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data()) - static_cast<std::byte*>(tensor.buffer()->data());
}

}  // namespace engine::tensor

#endif  // ENGINE_TESTS_TENSOR_TENSOR_TEST_SUPPORT_H_
