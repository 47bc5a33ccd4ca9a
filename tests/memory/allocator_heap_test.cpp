// Clause: the closures of Buffers fit std::function's own storage, so nothing can fail once the
// memory is there (memory/pmr_allocator.h, memory/page_allocator.h).
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "memory/page_allocator.h"
#include "memory/pmr_allocator.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

TEST(AllocatorHeapTest, NoHeapBesideTheMemory) {
  std::array<std::byte, 4096> storage;
  std::pmr::monotonic_buffer_resource arena(storage.data(), storage.size());
  PmrAllocator pmr(&arena);
  PageAllocator pages({.huge_pages = true, .touch_now = true});
  const std::int64_t before = testing::HeapAllocationsOnThisThread();
  const core::StatusOr<Buffer> from_arena = pmr.Allocate(100, 64);
  const core::StatusOr<Buffer> from_pages = pages.Allocate(3 << 20, 64);
  EXPECT_EQ(testing::HeapAllocationsOnThisThread(), before);
  ENGINE_EXPECT_OK(from_arena);
  ENGINE_EXPECT_OK(from_pages);
}

}  // namespace
}  // namespace engine::memory
