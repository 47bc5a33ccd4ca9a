// testing/tensors.h: tensors from values and values from tensors, without the operations under
// test. Test support; never installed.
#ifndef ENGINE_TESTING_TENSORS_H_
#define ENGINE_TESTING_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "testing/reference.h"

namespace engine::testing {

// Somebody else's memory as a Buffer; it must outlive every tensor over it.
[[nodiscard]] inline std::shared_ptr<memory::Buffer> BorrowStorage(
    void* data, std::size_t bytes, bool read_only = false,
    tensor::Device device = tensor::Device::Cpu()) {
  return *memory::ShareBuffer(memory::Buffer(
      bytes == 0 ? nullptr : data, bytes, device, [](void*) {}, read_only));
}

// Owned memory, every byte set to `fill`.
[[nodiscard]] inline std::shared_ptr<memory::Buffer> MakeStorage(std::size_t bytes,
                                                                 unsigned char fill = 0) {
  auto buffer = memory::DefaultCpuAllocator()->Allocate(bytes, 64);
  ENGINE_CHECK(buffer.ok());
  if (bytes > 0) std::memset(buffer->data(), fill, bytes);
  return *memory::ShareBuffer(*std::move(buffer));
}

[[nodiscard]] inline std::vector<std::byte> BytesOf(const memory::Buffer& buffer) {
  const auto* const begin = static_cast<const std::byte*>(buffer.data());
  return begin == nullptr ? std::vector<std::byte>()
                          : std::vector<std::byte>(begin, begin + buffer.size_bytes());
}

// The address of one element, by a plain sum over the coordinates.
[[nodiscard]] inline std::byte* AddressAt(const tensor::Tensor& tensor,
                                          const tensor::DimVector& coordinates) {
  return static_cast<std::byte*>(tensor.data()) +
         reference::OffsetAt(coordinates, tensor.strides()) * tensor::itemsize(tensor.dtype());
}

// The bit patterns of the elements in logical order.
[[nodiscard]] inline std::vector<std::uint64_t> BitsOf(const tensor::Tensor& tensor) {
  std::vector<std::uint64_t> bits;
  reference::ForEachCoordinates(tensor.shape(), [&](const tensor::DimVector& coordinates) {
    bits.push_back(
        reference::LoadBits(AddressAt(tensor, coordinates), tensor::itemsize(tensor.dtype())));
  });
  return bits;
}

// Sets the elements to bit patterns, in logical order.
inline void SetBits(const tensor::Tensor& tensor, const std::vector<std::uint64_t>& bits) {
  ENGINE_CHECK(static_cast<std::int64_t>(bits.size()) == tensor.numel());
  std::size_t next = 0;
  reference::ForEachCoordinates(tensor.shape(), [&](const tensor::DimVector& coordinates) {
    reference::StoreBits(AddressAt(tensor, coordinates), bits[next++],
                         tensor::itemsize(tensor.dtype()));
  });
}

// A contiguous tensor of these bit patterns.
[[nodiscard]] inline tensor::Tensor TensorOfBits(const tensor::Shape& shape, tensor::DataType dtype,
                                                 const std::vector<std::uint64_t>& bits) {
  const auto bytes = static_cast<std::size_t>(shape.numel() * tensor::itemsize(dtype));
  tensor::Tensor tensor = *tensor::Tensor::from_buffer(MakeStorage(bytes), 0, shape, dtype);
  SetBits(tensor, bits);
  return tensor;
}

template <typename T>
[[nodiscard]] std::vector<T> ValuesOf(const tensor::Tensor& tensor) {
  ENGINE_CHECK(tensor::dtype_of<T> == tensor.dtype());
  std::vector<T> values;
  for (const std::uint64_t bits : BitsOf(tensor)) {
    T value{};
    std::memcpy(&value, &bits, sizeof(T));
    values.push_back(value);
  }
  return values;
}

template <typename T>
[[nodiscard]] tensor::Tensor TensorOf(const tensor::Shape& shape, const std::vector<T>& values) {
  std::vector<std::uint64_t> bits;
  for (const T& value : values) bits.push_back(reference::LoadBits(&value, sizeof(T)));
  return TensorOfBits(shape, tensor::dtype_of<T>, bits);
}

// 0, 1, 2, ... in logical order, in any castable dtype that holds them.
[[nodiscard]] inline tensor::Tensor Counting(const tensor::Shape& shape, tensor::DataType dtype) {
  std::vector<std::uint64_t> bits;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    bits.push_back(
        *reference::ConvertBits(dtype, tensor::DataType::kInt64, static_cast<std::uint64_t>(i)));
  }
  return TensorOfBits(shape, dtype, bits);
}

}  // namespace engine::testing

#endif  // ENGINE_TESTING_TENSORS_H_
