// memory/allocator.h: where Buffers come from.
// Layer 2.
// Source: docs/design/tensor.md, "Buffer and Allocator".
#ifndef ENGINE_MEMORY_ALLOCATOR_H_
#define ENGINE_MEMORY_ALLOCATOR_H_

#include <cstddef>

#include "core/status.h"
#include "memory/buffer.h"
#include "tensor/device.h"

namespace engine::memory {

// The source of Buffers for one device. Implementations must be thread-safe: Allocate may run
// concurrently on any threads. There is no Deallocate; the Buffer's deleter gives the memory back.
class Allocator {
 public:
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  virtual ~Allocator() = default;

  // `bytes` of uninitialised memory, aligned to `alignment` bytes; size_bytes() of the result is
  // exactly `bytes`. Zero bytes give an engaged Buffer with null data whose deleter still runs
  // once. Never throws.
  //   Errors   kOutOfMemory: not enough memory, or a size or alignment no machine has.
  //   CHECKs   alignment is a power of two (1, 2 and 4 are).
  [[nodiscard]] virtual core::StatusOr<Buffer> Allocate(std::size_t bytes,
                                                        std::size_t alignment) = 0;

  // The same, every byte zero. The default writes the zeros into what Allocate returns; override it
  // where zeroed memory costs less than that.
  //   CHECKs   the default: device() is the cpu, for it writes through the pointer; Allocate
  //            returned what was asked for.
  [[nodiscard]] virtual core::StatusOr<Buffer> AllocateZeroed(std::size_t bytes,
                                                              std::size_t alignment);

  // Where the memory is: the device of every Buffer that Allocate returns.
  [[nodiscard]] virtual tensor::Device device() const = 0;
};

// Host memory. The default alignment of 64 bytes is a cache line and the widest vector of today's
// x86-64. Its Buffers may outlive it.
class CpuAllocator final : public Allocator {
 public:
  // CHECKs that default_alignment is a power of two.
  explicit CpuAllocator(std::size_t default_alignment = 64);

  [[nodiscard]] core::StatusOr<Buffer> Allocate(std::size_t bytes, std::size_t alignment) override;
  // By calloc(3), which hands out large blocks as pages that the kernel zeroes at the first touch,
  // and never clears a block twice. The padding that a wide alignment needs is part of the block.
  [[nodiscard]] core::StatusOr<Buffer> AllocateZeroed(std::size_t bytes,
                                                      std::size_t alignment) override;
  // Allocate at default_alignment().
  [[nodiscard]] core::StatusOr<Buffer> Allocate(std::size_t bytes);

  // The cpu.
  [[nodiscard]] tensor::Device device() const override;
  // Bytes; what Allocate(bytes) aligns to.
  [[nodiscard]] std::size_t default_alignment() const { return default_alignment_; }

 private:
  std::size_t default_alignment_;
};

// The process-wide CpuAllocator. Never destroyed, so that it can be used during static destruction.
[[nodiscard]] Allocator* DefaultCpuAllocator();

}  // namespace engine::memory

#endif  // ENGINE_MEMORY_ALLOCATOR_H_
