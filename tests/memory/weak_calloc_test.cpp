// Clause: CpuAllocator::AllocateZeroed stays within its block whatever calloc's alignment is. The
// standard asks of a small block only what an object of its size can need, and the heaps that programs
// link in place of glibc's (jemalloc, mimalloc, tcmalloc) give no more.
//
// Linked with -Wl,--wrap=calloc,--wrap=free.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "testing/status_matchers.h"

namespace {

constexpr std::size_t kWeakAlignment = 8;

// While `weak` is set calloc serves one block at a time, at an address that is aligned no better.
struct WeakHeap {
  bool weak = false;
  std::byte* block = nullptr;
  std::size_t bytes = 0;
};
WeakHeap heap;

}  // namespace

extern "C" {

// The linker's names for what --wrap redirects, and for the originals.
void* __real_calloc(std::size_t count, std::size_t bytes);
void __real_free(void* data);
void* __wrap_calloc(std::size_t count, std::size_t bytes);
void __wrap_free(void* data);

void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  if (!heap.weak || heap.block != nullptr) return __real_calloc(count, bytes);
  heap.bytes = count * bytes;
  // The original's blocks are multiples of 16.
  heap.block =
      static_cast<std::byte*>(__real_calloc(1, heap.bytes + kWeakAlignment)) + kWeakAlignment;
  return heap.block;
}

void __wrap_free(void* data) {
  if (data == nullptr || data != heap.block) return __real_free(data);
  __real_free(heap.block - kWeakAlignment);
  heap.block = nullptr;
}

}  // extern "C"

namespace engine::memory {
namespace {

TEST(WeakCallocTest, ZeroedMemoryLiesWithinItsBlock) {
  CpuAllocator allocator;
  for (std::size_t alignment = 1; alignment <= 128; alignment *= 2) {
    for (std::size_t bytes = 1; bytes <= 40; ++bytes) {
      heap.weak = true;
      core::StatusOr<Buffer> buffer = allocator.AllocateZeroed(bytes, alignment);
      heap.weak = false;
      ENGINE_ASSERT_OK(buffer);
      ASSERT_NE(heap.block, nullptr) << "not from calloc";
      const auto* const data = static_cast<const std::byte*>(buffer->data());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0U);
      EXPECT_GE(data, heap.block) << bytes << " at " << alignment;
      EXPECT_LE(data + bytes, heap.block + heap.bytes) << bytes << " at " << alignment;
      *buffer = Buffer();
      ASSERT_EQ(heap.block, nullptr) << "not given back";
    }
  }
}

}  // namespace
}  // namespace engine::memory
