// testing/redzone_allocator.h: an allocator for tests, which notices writes outside of its buffers.
// Layer 3. For tests of code that takes a memory::Allocator; every byte is written several times.
//
//   engine::testing::RedzoneAllocator allocator;
//   const auto tensor = Tensor::empty(shape, dtype, Device::Cpu(), &allocator);
//   ...                      // an overrun aborts, at the latest when the buffer is freed
//   EXPECT_EQ(allocator.live_buffers(), 0);
#ifndef ENGINE_TESTING_REDZONE_ALLOCATOR_H_
#define ENGINE_TESTING_REDZONE_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/device.h"

namespace engine::testing {

// How much a RedzoneAllocator watches.
struct RedzoneOptions {
  // Watched before and behind each buffer.
  std::size_t margin_bytes = 64;
  // How much freed memory is kept back and watched, margins included. The oldest is given up first.
  std::size_t quarantine_bytes = std::size_t{1} << 20;
};

// Host memory with a pattern before and behind each buffer, and over each buffer that was freed. A
// changed pattern is a CHECK failure that names the buffer (they are numbered from 1), the byte and
// its value: for a margin when the buffer is freed, for a write after that when the memory leaves the
// quarantine or the allocator dies, and for both in CheckIntact(). In a program with
// AddressSanitizer margins and freed memory are also poisoned, so that reads too are reported, at
// the instruction at fault.
//
// Fresh memory holds kFresh in every byte. Addresses are aligned as asked and no better: code that
// silently relies on more meets an address without it.
//
// Thread-safe. Its buffers may outlive it.
class RedzoneAllocator final : public memory::Allocator {
 public:
  static constexpr unsigned char kFresh = 0xCB;   // memory that nobody has written yet
  static constexpr unsigned char kMargin = 0xFD;  // before and behind a buffer
  static constexpr unsigned char kFreed = 0xDD;   // what a buffer held

  // CHECKs that there is memory for its books.
  explicit RedzoneAllocator(const RedzoneOptions& options = {});
  // CHECKs the freed memory in the quarantine. Live buffers are watched on, until they are freed.
  ~RedzoneAllocator() override;

  // As memory::Allocator; operator new is not called.
  [[nodiscard]] core::StatusOr<memory::Buffer> Allocate(std::size_t bytes,
                                                        std::size_t alignment) override;
  // The cpu.
  [[nodiscard]] tensor::Device device() const override;

  // CHECKs the margins of every live buffer, and the freed memory in the quarantine.
  void CheckIntact() const;
  // Buffers, empty ones too, that have not been freed.
  [[nodiscard]] std::int64_t live_buffers() const;

 private:
  class Pool;
  // Its own last user destroys it: this allocator, or a buffer that outlives it.
  Pool* pool_;
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_REDZONE_ALLOCATOR_H_
