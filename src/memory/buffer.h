// memory/buffer.h: the owning handle to one contiguous allocation.
// Layer 2.
// Source: docs/design/tensor.md, "Buffer and Allocator".
#ifndef ENGINE_MEMORY_BUFFER_H_
#define ENGINE_MEMORY_BUFFER_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "core/status.h"
#include "tensor/device.h"

namespace engine::memory {

// Move-only owner of one contiguous allocation. Destroying an engaged Buffer runs its deleter
// exactly once, for zero-size buffers too. A moved-from Buffer equals a default-constructed one:
// null data, zero size, cpu, no deleter.
//
// The deleter is a closure, so memory of any origin can be lent with whatever it needs to be given
// back; it must hold all of that itself, never a pointer to an Allocator that may die first. It
// must not throw. When it runs, this Buffer is already disengaged.
//
// Thread safety: none of its own; a Buffer is owned by one place at a time and shared through
// std::shared_ptr<Buffer>. The deleter runs on the thread that drops the last reference.
class Buffer {
 public:
  // Gives the memory back; called with data(), which is null for a buffer of zero bytes.
  using Deleter = std::function<void(void*)>;

  Buffer() = default;  // disengaged
  // Takes over `data`. `read_only` marks memory that must not be written (a file mapping, say);
  // tensors over it refuse copies and fills.
  //   CHECKs   deleter is non-null; data is null exactly when size_bytes is 0.
  Buffer(void* data, std::size_t size_bytes, tensor::Device device, Deleter deleter,
         bool read_only = false);
  Buffer(Buffer&& other) noexcept;
  // Runs the current deleter, then takes over `other`. Self-move keeps everything.
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  // Runs the deleter, if engaged.
  ~Buffer();

  // The first byte; null exactly when size_bytes() is 0. Const is shallow: the bytes may be written
  // unless is_read_only().
  [[nodiscard]] void* data() const { return data_; }
  // The bytes that may be used, as they were asked for.
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  // Where the bytes are. Host code may dereference data() only on the cpu.
  [[nodiscard]] tensor::Device device() const { return device_; }
  // Whether writing the bytes is a fault. Fixed when the Buffer is made; tensors over it inherit it.
  [[nodiscard]] bool is_read_only() const { return read_only_; }
  // False for default-constructed and moved-from buffers.
  [[nodiscard]] bool engaged() const { return static_cast<bool>(deleter_); }

 private:
  void Reset() noexcept;
  void Swap(Buffer& other) noexcept;

  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  tensor::Device device_;
  bool read_only_ = false;
  Deleter deleter_;
};

// Moves `buffer` behind a shared_ptr, with the control block in one allocation beside it.
//   Errors   kOutOfMemory: the control block could not be allocated; the buffer's deleter has run.
//            Never throws, unlike std::make_shared.
[[nodiscard]] core::StatusOr<std::shared_ptr<Buffer>> ShareBuffer(Buffer buffer);

}  // namespace engine::memory

#endif  // ENGINE_MEMORY_BUFFER_H_
