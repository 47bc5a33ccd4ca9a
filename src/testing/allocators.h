// testing/allocators.h: allocators that count and fail.
// Test support; never installed. Not thread-safe: each test has its own.
#ifndef ENGINE_TESTING_ALLOCATORS_H_
#define ENGINE_TESTING_ALLOCATORS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "core/status.h"
#include "memory/allocator.h"

namespace engine::testing {

// Passes on to the process allocator, counts allocations and deleter runs, can fail from a chosen
// call on, and fills fresh memory with a byte pattern so that a read of it shows.
class CountingAllocator final : public memory::Allocator {
 public:
  struct Counts {
    std::int64_t allocations = 0;
    std::int64_t zeroed = 0;  // of these, how many were asked for as zeros
    std::int64_t deletions = 0;
    std::size_t last_bytes = 0;
    std::size_t last_alignment = 0;
  };

  static constexpr std::int64_t kNeverFail = -1;

  explicit CountingAllocator(std::int64_t successes = kNeverFail) : remaining_(successes) {}

  [[nodiscard]] core::StatusOr<memory::Buffer> Allocate(std::size_t bytes,
                                                        std::size_t alignment) override {
    if (remaining_ == 0) return core::OutOfMemoryError();
    if (remaining_ > 0) --remaining_;
    ENGINE_ASSIGN_OR_RETURN(memory::Buffer inner,
                            memory::DefaultCpuAllocator()->Allocate(bytes, alignment));
    ++counts_->allocations;
    counts_->last_bytes = bytes;
    counts_->last_alignment = alignment;
    void* const data = inner.data();
    if (data != nullptr) std::memset(data, kPoison, bytes);
    auto keep = std::make_shared<memory::Buffer>(std::move(inner));
    return memory::Buffer(data, bytes, device(), [keep, counts = counts_](void*) mutable {
      ++counts->deletions;
      keep.reset();
    });
  }

  [[nodiscard]] core::StatusOr<memory::Buffer> AllocateZeroed(std::size_t bytes,
                                                              std::size_t alignment) override {
    ENGINE_ASSIGN_OR_RETURN(memory::Buffer buffer, Allocate(bytes, alignment));
    ++counts_->zeroed;
    if (bytes > 0) std::memset(buffer.data(), 0, bytes);
    return buffer;
  }

  [[nodiscard]] tensor::Device device() const override { return tensor::Device::Cpu(); }

  // Outlives the allocator: a buffer may die later.
  [[nodiscard]] std::shared_ptr<const Counts> counts() const { return counts_; }

  static constexpr unsigned char kPoison = 0xA5;

 private:
  std::int64_t remaining_;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

// Storage without operator new: where that is made to fail, it fails in the code under test.
class MallocAllocator final : public memory::Allocator {
 public:
  [[nodiscard]] core::StatusOr<memory::Buffer> Allocate(std::size_t bytes,
                                                        std::size_t /*alignment*/) override {
    ++allocations;
    void* const data = bytes == 0 ? nullptr : std::malloc(bytes);
    return memory::Buffer(data, bytes, device(), [this](void* storage) {
      ++deletions;
      std::free(storage);
    });
  }
  [[nodiscard]] tensor::Device device() const override { return tensor::Device::Cpu(); }

  int allocations = 0;
  int deletions = 0;
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_ALLOCATORS_H_
