// Clause: memory/pmr_allocator.h; docs/design/memory.md, "Memory resources".
#include "memory/pmr_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using ::engine::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Pair;

// Records what it is asked for, and what comes back.
class RecordingResource : public std::pmr::memory_resource {
 public:
  std::vector<std::pair<std::size_t, std::size_t>> allocated;
  std::vector<std::pair<std::size_t, std::size_t>> deallocated;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    allocated.emplace_back(bytes, alignment);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    deallocated.emplace_back(bytes, alignment);
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

TEST(PmrAllocatorTest, SizeAndAlignmentGoBoth) {
  RecordingResource resource;
  {
    auto allocator = std::make_unique<PmrAllocator>(&resource);
    EXPECT_EQ(allocator->resource(), &resource);
    EXPECT_TRUE(allocator->device().is_cpu());
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer odd, allocator->Allocate(100, 1));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer wide, allocator->Allocate(12345, 4096));
    EXPECT_EQ(odd.size_bytes(), 100U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide.data()) % 4096, 0U);
    allocator.reset();  // the Buffers outlive it
    EXPECT_TRUE(resource.deallocated.empty());
  }
  EXPECT_THAT(resource.allocated, ElementsAre(Pair(100, 1), Pair(12345, 4096)));
  EXPECT_THAT(resource.deallocated, ElementsAre(Pair(12345, 4096), Pair(100, 1)));
}

TEST(PmrAllocatorTest, ZeroBytesDoNotReachTheResource) {
  RecordingResource resource;
  PmrAllocator allocator(&resource);
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(0, 64));
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_TRUE(buffer.engaged());
  }
  EXPECT_TRUE(resource.allocated.empty());
  EXPECT_TRUE(resource.deallocated.empty());
}

// P46: some resources add size and alignment unchecked.
TEST(PmrAllocatorTest, AbsurdRequestsDoNotReachTheResource) {
  RecordingResource resource;
  PmrAllocator allocator(&resource);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 63, std::size_t{1} << 58}) {
    EXPECT_THAT(allocator.Allocate(bytes, 64), StatusIs(core::kOutOfMemory));
  }
  EXPECT_THAT(allocator.Allocate(1, std::size_t{1} << 62), StatusIs(core::kOutOfMemory));
  EXPECT_TRUE(resource.allocated.empty());
}

#ifdef __cpp_exceptions

TEST(PmrAllocatorTest, BadAllocIsOutOfMemory) {
  PmrAllocator never(std::pmr::null_memory_resource());
  EXPECT_THAT(never.Allocate(1, 1), StatusIs(core::kOutOfMemory));
  std::array<std::byte, 256> storage;
  std::pmr::monotonic_buffer_resource arena(storage.data(), storage.size(),
                                            std::pmr::null_memory_resource());
  PmrAllocator allocator(&arena);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(128, 1));
  EXPECT_GE(buffer.data(), storage.data());
  EXPECT_LT(buffer.data(), storage.data() + storage.size());
  EXPECT_THAT(allocator.Allocate(256, 1), StatusIs(core::kOutOfMemory));
}

#endif  // __cpp_exceptions

class PmrAllocatorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(PmrAllocatorDeathTest, Arguments) {
  EXPECT_DEATH(PmrAllocator(nullptr), "the resource is null");
  PmrAllocator allocator(std::pmr::new_delete_resource());
  EXPECT_DEATH(static_cast<void>(allocator.Allocate(100, 0)), "alignment 0 is not a power of two");
  EXPECT_DEATH(static_cast<void>(allocator.Allocate(100, 48)), "alignment 48 is not");
}

}  // namespace
}  // namespace engine::memory
