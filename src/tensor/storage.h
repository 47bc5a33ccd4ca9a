// tensor/storage.h: the storage of fresh tensors, for owners that are no Tensor.
// Layer 3. Thread-safe.
// Source: docs/design/tensor.md, "Tensor".
#ifndef ENGINE_TENSOR_STORAGE_H_
#define ENGINE_TENSOR_STORAGE_H_

#include <cstdint>
#include <memory>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::tensor {

// What fresh storage holds.
enum class StorageInitialization : std::uint8_t {
  kZero,           // every byte 0, which is the value 0 of every dtype
  kUninitialized,  // write before reading
};

// A buffer for the elements of a contiguous tensor, 64-byte aligned, from `allocator` (null: the
// default of the device). `operation` names the caller in messages.
//   Errors   as Tensor::empty, which takes its storage from here.
//   CHECKs   a given allocator serves `device` (tested first), and returned what was asked for.
[[nodiscard]] core::StatusOr<std::shared_ptr<memory::Buffer>> AllocateStorage(
    const char* operation, const Shape& shape, DataType dtype, Device device,
    memory::Allocator* allocator, StorageInitialization initialization);

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_STORAGE_H_
