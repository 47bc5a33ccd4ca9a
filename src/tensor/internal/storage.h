// tensor/internal/storage.h: the storage of fresh tensors, and what debug builds do to it.
#ifndef ENGINE_TENSOR_INTERNAL_STORAGE_H_
#define ENGINE_TENSOR_INTERNAL_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::tensor::internal {

enum class StorageInitialization : std::uint8_t { kZero, kUninitialized };

// A buffer for the elements of a contiguous tensor, at the alignment of Tensor::empty, whose errors
// and CHECKs these are; `operation` names the caller in messages.
[[nodiscard]] core::StatusOr<std::shared_ptr<memory::Buffer>> AllocateStorage(
    const char* operation, const Shape& shape, DataType dtype, Device device,
    memory::Allocator* allocator, StorageInitialization initialization);

// Makes a read of fresh storage show, where the option ENGINE_FILL_UNINITIALIZED_SNAN is on:
// elements of a floating dtype become signalling NaNs, and whatever the dtype, valgrind and
// MemorySanitizer learn that the bytes have no value yet. Otherwise nothing is written.
void MarkUninitialized(void* data, std::size_t size_bytes, DataType dtype);

}  // namespace engine::tensor::internal

#endif  // ENGINE_TENSOR_INTERNAL_STORAGE_H_
