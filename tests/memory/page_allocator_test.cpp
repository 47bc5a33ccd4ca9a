// Clause: memory/page_allocator.h; docs/design/memory.md, "Pages".
#include "memory/page_allocator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "test_files.h"
#include "testing/death_test_style.h"
#include "testing/fault.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using ::engine::testing::StatusIs;

constexpr std::size_t kHuge = std::size_t{2} << 20;

// How many pages of a range are in memory.
std::size_t ResidentPages(const void* data, std::size_t bytes) {
  std::vector<unsigned char> pages((bytes + PageBytes() - 1) / PageBytes());
  ENGINE_CHECK(mincore(const_cast<void*>(data), bytes, pages.data()) == 0);
  std::size_t resident = 0;
  for (const unsigned char page : pages) resident += page & 1;
  return resident;
}

TEST(PageAllocatorTest, SizesAndAlignments) {
  for (const bool huge_pages : {false, true}) {
    PageAllocator allocator({.huge_pages = huge_pages});
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, kHuge - 1, kHuge, kHuge + 1}) {
      for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}, kHuge, 4 * kHuge}) {
        ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(bytes, alignment));
        EXPECT_EQ(buffer.size_bytes(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment, 0U);
        if (huge_pages && bytes >= kHuge) {
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kHuge, 0U);
        }
        const auto* const first = static_cast<const unsigned char*>(buffer.data());
        EXPECT_EQ(first[0], 0);
        EXPECT_EQ(first[bytes - 1], 0);
        std::memset(buffer.data(), 0xFF, bytes);
      }
    }
  }
}

// Every page of a mapping, and of what was mapped beside it for alignment, goes back.
TEST(PageAllocatorTest, GivesEverythingBack) {
  PageAllocator allocator({.huge_pages = true});
  // Not from statm: under an emulator that also counts what the emulator needs.
  const auto mapped_kilobytes = [] {
    std::ifstream maps("/proc/self/maps");
    std::size_t bytes = 0;
    for (std::string line; std::getline(maps, line);) {
      std::istringstream range(line);
      std::size_t first = 0;
      std::size_t last = 0;
      char dash = 0;
      range >> std::hex >> first >> dash >> last;
      bytes += last - first;
    }
    return bytes / 1024;
  };
  { ENGINE_ASSERT_OK(allocator.Allocate(1, 1)); }  // whatever the first call needs
  const std::size_t before = mapped_kilobytes();
  for (int i = 0; i < 100; ++i) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(kHuge + 1, 4 * kHuge));
    EXPECT_LE(mapped_kilobytes(), before + 2 * kHuge / 1024 + 1024);
  }
  EXPECT_LE(mapped_kilobytes(), before + 1024);
}

TEST(PageAllocatorTest, FirstTouch) {
  constexpr std::size_t kBytes = 64 * 4096;
  PageAllocator later;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer untouched, later.Allocate(kBytes, 64));
  EXPECT_EQ(ResidentPages(untouched.data(), kBytes), 0U);
  // Hosts may be set to bring in several pages for one. Fails on kernels that never do.
  static_cast<void>(madvise(untouched.data(), kBytes, MADV_NOHUGEPAGE));
  static_cast<char*>(untouched.data())[0] = 1;
  EXPECT_EQ(ResidentPages(untouched.data(), kBytes), 1U);
  PageAllocator now({.touch_now = true});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer touched, now.Allocate(kBytes, 64));
  EXPECT_EQ(ResidentPages(touched.data(), kBytes), kBytes / PageBytes());
}

// Zeros are what fresh pages hold: asking for them must not place the pages.
TEST(PageAllocatorTest, ZeroedMemoryIsNotTouched) {
  constexpr std::size_t kBytes = 64 * 4096;
  PageAllocator later;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer untouched, later.AllocateZeroed(kBytes, 64));
  EXPECT_EQ(ResidentPages(untouched.data(), kBytes), 0U);
  EXPECT_EQ(static_cast<const unsigned char*>(untouched.data())[kBytes / 2], 0);
  PageAllocator now({.touch_now = true});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer touched, now.AllocateZeroed(kBytes, 64));
  EXPECT_EQ(ResidentPages(touched.data(), kBytes), kBytes / PageBytes());
  EXPECT_THAT(now.AllocateZeroed(SIZE_MAX, 64), StatusIs(core::kOutOfMemory));
}

TEST(PageAllocatorTest, ZeroBytes) {
  PageAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(0, 64));
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_TRUE(buffer.engaged());
}

// P46, P48: sums that wrap, and what no machine has.
TEST(PageAllocatorTest, AbsurdRequests) {
  for (const bool huge_pages : {false, true}) {
    PageAllocator allocator({.huge_pages = huge_pages});
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 3, SIZE_MAX - 63, SIZE_MAX / 2 + 1,
                                    SIZE_MAX / 2, std::size_t{1} << 62}) {
      EXPECT_THAT(allocator.Allocate(bytes, 64), StatusIs(core::kOutOfMemory)) << bytes;
    }
    EXPECT_THAT(allocator.Allocate(1, std::size_t{1} << 62), StatusIs(core::kOutOfMemory));
    EXPECT_THAT(allocator.Allocate(1, std::size_t{1} << 63), StatusIs(core::kOutOfMemory));
  }
}

class PageAllocatorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(PageAllocatorDeathTest, Alignments) {
  PageAllocator allocator;
  EXPECT_DEATH(static_cast<void>(allocator.Allocate(100, 0)), "alignment 0 is not a power of two");
  EXPECT_DEATH(static_cast<void>(allocator.Allocate(100, 48)), "alignment 48 is not");
}

// The mapping is the Buffer's: its pages are gone with it.
TEST_F(PageAllocatorDeathTest, UseAfterTheBufferFaults) {
  EXPECT_EXIT(
      {
        PageAllocator allocator;
        core::StatusOr<Buffer> buffer = allocator.Allocate(4096, 64);
        auto* const data = static_cast<volatile char*>(buffer->data());
        *buffer = Buffer();
        data[0] = 1;
      },
      testing::kDiesOfFault, "");
}

}  // namespace
}  // namespace engine::memory
