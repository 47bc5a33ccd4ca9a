#include "tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/checked_math.h"
#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/internal/uninitialized.h"
#include "tensor/storage.h"

namespace engine::tensor {
namespace {

// A cache line, and the widest vector of today's x86-64; as CpuAllocator's default.
constexpr std::size_t kStorageAlignment = 64;

[[nodiscard]] core::Status RequireStorable(const char* operation, const Shape& shape,
                                           DataType dtype) {
  if (!is_reserved(dtype)) return core::OkStatus();
  return core::UnimplementedError("{}: dtype {} is reserved and has no storage yet (shape {})",
                                  operation, dtype, shape);
}

// That the bytes of the elements can be counted. A layout may overlap itself, so that few bytes hold
// more elements than that.
[[nodiscard]] core::Status RequireCountable(const char* operation, const Shape& shape,
                                            DataType dtype) {
  if (core::CheckedMul<std::int64_t>(shape.numel(), itemsize(dtype))) return core::OkStatus();
  return core::InvalidArgumentError("{}: the bytes of shape {} of {} overflow int64_t", operation,
                                    shape, dtype);
}

// That the strides are ones from_strided_buffer takes.
[[nodiscard]] core::Status RequireStrides(const Shape& shape, const Strides& strides) {
  if (strides.size() != shape.rank()) {
    return core::InvalidArgumentError(
        "from_strided_buffer: {} strides {} for shape {}, expected one per axis", strides.size(),
        strides, shape);
  }
  for (int i = 0; i < shape.rank(); ++i) {
    const bool matters = shape.numel() > 0 && shape.dim(i) > 1;
    const std::int64_t least = matters ? 1 : 0;
    if (strides[i] < least) {
      return core::InvalidArgumentError(
          "from_strided_buffer: stride {} of axis {} is below {} (shape {}, strides {})",
          strides[i], i, least, shape, strides);
    }
  }
  return core::OkStatus();
}

// How many elements lie between the first and one past the last that a layout reaches; nullopt when
// that overflows. Strides are not negative.
[[nodiscard]] std::optional<std::uint64_t> ReachedElements(const Shape& shape,
                                                           const Strides& strides) {
  if (shape.numel() == 0) return 0;
  std::uint64_t reached = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto steps = static_cast<std::uint64_t>(shape.dim(i) - 1);
    const auto span = core::CheckedMul(steps, static_cast<std::uint64_t>(strides[i]));
    if (!span.has_value()) return std::nullopt;
    const auto sum = core::CheckedAdd(reached, *span);
    if (!sum.has_value()) return std::nullopt;
    reached = *sum;
  }
  return reached;
}

// That `elements` (nullopt: too many to count) from `byte_offset` on lie within the buffer.
[[nodiscard]] core::Status RequireWindow(const char* operation, const memory::Buffer& buffer,
                                         std::size_t byte_offset,
                                         std::optional<std::uint64_t> elements, const Shape& shape,
                                         const Strides& strides, DataType dtype) {
  const auto item_bytes = static_cast<std::uint64_t>(itemsize(dtype));
  if (elements.has_value()) {
    const auto bytes = core::CheckedMul(*elements, item_bytes);
    if (bytes.has_value() && byte_offset <= buffer.size_bytes() &&
        *bytes <= buffer.size_bytes() - byte_offset) {
      return core::OkStatus();
    }
  }
  return core::InvalidArgumentError(
      "{}: shape {} with strides {} of {} at byte offset {} does not fit the buffer of {} bytes",
      operation, shape, strides, dtype, byte_offset, buffer.size_bytes());
}

}  // namespace

core::StatusOr<std::shared_ptr<memory::Buffer>> AllocateStorage(
    const char* operation, const Shape& shape, DataType dtype, Device device,
    memory::Allocator* allocator, StorageInitialization initialization) {
  ENGINE_CHECK(allocator == nullptr || allocator->device() == device,
               "{}: the allocator serves {}, the tensor is to be on {}", operation,
               allocator->device(), device);
  if (!device.is_cpu()) {
    return core::UnimplementedError("{}: no backend for device {} (shape {}, {})", operation,
                                    device, shape, dtype);
  }
  ENGINE_RETURN_IF_ERROR(RequireStorable(operation, shape, dtype));
  ENGINE_RETURN_IF_ERROR(RequireCountable(operation, shape, dtype));
  const std::size_t size_bytes =
      static_cast<std::size_t>(shape.numel()) * static_cast<std::size_t>(itemsize(dtype));
  if (allocator == nullptr) allocator = memory::DefaultCpuAllocator();
  const bool zero = initialization == StorageInitialization::kZero;
  ENGINE_ASSIGN_OR_RETURN(memory::Buffer storage,
                          zero ? allocator->AllocateZeroed(size_bytes, kStorageAlignment)
                               : allocator->Allocate(size_bytes, kStorageAlignment));
  ENGINE_CHECK(storage.size_bytes() >= size_bytes,
               "{}: the allocator returned {} bytes, {} were asked for", operation,
               storage.size_bytes(), size_bytes);
  ENGINE_CHECK(storage.device() == device,
               "{}: the allocator for {} returned a buffer on device {}", operation, device,
               storage.device());
  if (!zero) internal::MarkUninitialized(storage.data(), size_bytes, dtype);
  return memory::ShareBuffer(std::move(storage));
}

Tensor::Tensor(std::shared_ptr<memory::Buffer> buffer, std::size_t byte_offset, const Shape& shape,
               const Strides& strides, DataType dtype)
    : buffer_(std::move(buffer)),
      byte_offset_(byte_offset),
      shape_(shape),
      strides_(strides),
      dtype_(dtype),
      device_(buffer_->device()) {}

core::StatusOr<Tensor> Tensor::empty(Shape shape, DataType dtype, Device device,
                                     memory::Allocator* allocator) {
  ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<memory::Buffer> storage,
                          AllocateStorage("empty", shape, dtype, device, allocator,
                                          StorageInitialization::kUninitialized));
  return Tensor(std::move(storage), 0, shape, RowMajorStrides(shape), dtype);
}

core::StatusOr<Tensor> Tensor::from_buffer(std::shared_ptr<memory::Buffer> buffer,
                                           std::size_t byte_offset, Shape shape, DataType dtype) {
  ENGINE_CHECK(buffer != nullptr, "from_buffer: the buffer is null");
  ENGINE_RETURN_IF_ERROR(RequireStorable("from_buffer", shape, dtype));
  const Strides strides = RowMajorStrides(shape);
  ENGINE_RETURN_IF_ERROR(RequireWindow("from_buffer", *buffer, byte_offset,
                                       static_cast<std::uint64_t>(shape.numel()), shape, strides,
                                       dtype));
  return Tensor(std::move(buffer), byte_offset, shape, strides, dtype);
}

core::StatusOr<Tensor> Tensor::from_strided_buffer(std::shared_ptr<memory::Buffer> buffer,
                                                   std::size_t byte_offset, Shape shape,
                                                   Strides strides, DataType dtype) {
  ENGINE_CHECK(buffer != nullptr, "from_strided_buffer: the buffer is null");
  ENGINE_RETURN_IF_ERROR(RequireStorable("from_strided_buffer", shape, dtype));
  ENGINE_RETURN_IF_ERROR(RequireCountable("from_strided_buffer", shape, dtype));
  ENGINE_RETURN_IF_ERROR(RequireStrides(shape, strides));
  ENGINE_RETURN_IF_ERROR(RequireWindow("from_strided_buffer", *buffer, byte_offset,
                                       ReachedElements(shape, strides), shape, strides, dtype));
  return Tensor(std::move(buffer), byte_offset, shape, strides, dtype);
}

bool Tensor::is_aligned() const {
  CheckDefined("is_aligned");
  return reinterpret_cast<std::uintptr_t>(data()) % static_cast<std::uintptr_t>(itemsize(dtype_)) ==
         0;
}

void* Tensor::CheckedData(DataType requested, std::size_t alignment) const {
  CheckDefined("data_ptr");
  ENGINE_CHECK(dtype_ == requested, "data_ptr: the dtype is {}, not {} (shape {})", dtype_,
               requested, shape_);
  void* const address = data();
  ENGINE_CHECK(reinterpret_cast<std::uintptr_t>(address) % alignment == 0,
               "data_ptr: {} at byte offset {} is not aligned to {} bytes", dtype_, byte_offset_,
               alignment);
  return address;
}

const void* Tensor::CheckedElement(DataType requested,
                                   std::span<const std::int64_t> indices) const {
  CheckDefined("item");
  ENGINE_CHECK(device_.is_cpu(), "item: the tensor is on {}, expected cpu", device_);
  ENGINE_CHECK(dtype_ == requested, "item: the dtype is {}, not {} (shape {})", dtype_, requested,
               shape_);
  ENGINE_CHECK(indices.size() == static_cast<std::size_t>(shape_.rank()),
               "item: {} indices for shape {}", indices.size(), shape_);
  std::int64_t offset = 0;  // elements; within the buffer, so it cannot overflow
  for (int i = 0; i < shape_.rank(); ++i) {
    const std::int64_t index = indices[static_cast<std::size_t>(i)];
    ENGINE_CHECK(index >= 0 && index < shape_.dim(i),
                 "item: index {} of axis {} is outside [0, {}) (indices {}, shape {})", index, i,
                 shape_.dim(i), DimVector(indices), shape_);
    offset += index * strides_[i];
  }
  return static_cast<const std::byte*>(data()) + offset * itemsize(dtype_);
}

}  // namespace engine::tensor
