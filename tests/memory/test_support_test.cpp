// The allocators and the guarded memory that other suites rely on do what they say.
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "core/status.h"
#include "memory/buffer.h"
#include "test_files.h"
#include "testing/allocators.h"
#include "testing/death_test_style.h"
#include "testing/fault.h"
#include "testing/guarded_memory.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using testing::CountingAllocator;
using testing::GuardedMemory;
using testing::StatusIs;

TEST(CountingAllocatorTest, CountsAndPoisons) {
  CountingAllocator allocator;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(100, 32));
    EXPECT_EQ(buffer.size_bytes(), 100u);
    EXPECT_EQ(static_cast<const unsigned char*>(buffer.data())[99], CountingAllocator::kPoison);
    EXPECT_EQ(allocator.counts()->allocations, 1);
    EXPECT_EQ(allocator.counts()->deletions, 0);
    EXPECT_EQ(allocator.counts()->last_bytes, 100u);
    EXPECT_EQ(allocator.counts()->last_alignment, 32u);
    EXPECT_EQ(allocator.counts()->zeroed, 0);
  }
  EXPECT_EQ(allocator.counts()->deletions, 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer zeros, allocator.AllocateZeroed(100, 32));
  EXPECT_EQ(static_cast<const unsigned char*>(zeros.data())[99], 0);
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->zeroed, 1);
}

TEST(CountingAllocatorTest, FailsFromTheChosenCallOn) {
  CountingAllocator allocator(2);
  ENGINE_EXPECT_OK(allocator.Allocate(1, 64));
  ENGINE_EXPECT_OK(allocator.Allocate(0, 64));
  EXPECT_THAT(allocator.Allocate(1, 64), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(allocator.Allocate(0, 64), StatusIs(core::kOutOfMemory));
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->deletions, 2);
}

TEST(GuardedMemoryTest, IsWholePagesAndWritable) {
  for (const std::size_t bytes : {std::size_t{1}, PageBytes(), PageBytes() + 1}) {
    const GuardedMemory memory(bytes);
    EXPECT_GE(memory.size_bytes(), bytes);
    EXPECT_EQ(memory.size_bytes() % PageBytes(), 0u);
    EXPECT_EQ(memory.end() - memory.begin(), static_cast<std::ptrdiff_t>(memory.size_bytes()));
    *memory.begin() = std::byte{1};
    *(memory.end() - 1) = std::byte{2};
    EXPECT_EQ(*memory.begin(), std::byte{1});
  }
}

// The kernel's signal ends these, so there is no message of ours to match.
TEST(GuardedMemoryDeathTest, FaultsOnBothSides) {
  GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle);
  const GuardedMemory memory(100);
  const auto* const begin = reinterpret_cast<const volatile char*>(memory.begin());
  const auto* const end = reinterpret_cast<const volatile char*>(memory.end());
  EXPECT_EXIT((void)begin[-1], testing::kDiesOfFault, "");
  EXPECT_EXIT((void)end[0], testing::kDiesOfFault, "");
}

}  // namespace
}  // namespace engine::memory
