// The allocator for users' tests. Clause: what is written outside of a buffer, or into a freed one,
// ends the process with a message that names the buffer and the byte; correct use passes unnoticed.
#include "testing/redzone_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/status.h"
#include "memory/buffer.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "testing/death_test_style.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

#if defined(__SANITIZE_ADDRESS__)
#define ENGINE_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ENGINE_TEST_ASAN 1
#endif
#endif

namespace engine::testing {
namespace {

using memory::Buffer;

volatile unsigned char* Bytes(const Buffer& buffer) {
  return static_cast<volatile unsigned char*>(buffer.data());
}

TEST(RedzoneAllocatorTest, GivesWhatIsAskedAlignedNoBetter) {
  RedzoneAllocator allocator;
  EXPECT_TRUE(allocator.device().is_cpu());
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t bytes : {1, 7, 8, 64, 1000}) {
      ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(bytes, alignment));
      EXPECT_EQ(buffer.size_bytes(), bytes);
      EXPECT_TRUE(buffer.device().is_cpu());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (2 * alignment), alignment);
    }
  }
  allocator.CheckIntact();
}

TEST(RedzoneAllocatorTest, FreshBytesAreMarkedAndAllUsable) {
  RedzoneAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(100, 4));
  volatile unsigned char* const bytes = Bytes(buffer);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(bytes[i], RedzoneAllocator::kFresh) << i;
    bytes[i] = static_cast<unsigned char>(i);
  }
  allocator.CheckIntact();
}

TEST(RedzoneAllocatorTest, EmptyBuffersHaveNoDataAndCountAsLive) {
  RedzoneAllocator allocator;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer empty, allocator.Allocate(0, 64));
    EXPECT_TRUE(empty.engaged());
    EXPECT_EQ(empty.data(), nullptr);
    EXPECT_EQ(empty.size_bytes(), 0u);
    EXPECT_EQ(allocator.live_buffers(), 1);
  }
  EXPECT_EQ(allocator.live_buffers(), 0);
}

TEST(RedzoneAllocatorTest, CountsLiveBuffers) {
  RedzoneAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(Buffer first, allocator.Allocate(1, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(Buffer second, allocator.Allocate(2, 2));
  EXPECT_EQ(allocator.live_buffers(), 2);
  first = Buffer();
  EXPECT_EQ(allocator.live_buffers(), 1);
  second = Buffer();
  EXPECT_EQ(allocator.live_buffers(), 0);
}

TEST(RedzoneAllocatorTest, AbsurdSizesAreOutOfMemory) {
  RedzoneAllocator allocator;
  EXPECT_THAT(allocator.Allocate(SIZE_MAX, 1), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(allocator.Allocate(SIZE_MAX - 300, 1), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(allocator.Allocate(SIZE_MAX / 2, 1), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(allocator.Allocate(1, std::size_t{1} << 63), StatusIs(core::kOutOfMemory));
  EXPECT_EQ(allocator.live_buffers(), 0);
  RedzoneAllocator wide({.margin_bytes = SIZE_MAX / 2});
  EXPECT_THAT(wide.Allocate(1, 1), StatusIs(core::kOutOfMemory));
}

TEST(RedzoneAllocatorTest, NeedsNoOperatorNew) {
  RedzoneAllocator allocator;
  const std::int64_t before = HeapAllocationsOnThisThread();
  bool ok = false;
  {
    const core::StatusOr<Buffer> buffer = allocator.Allocate(100, 16);
    ok = buffer.ok();
  }
  EXPECT_TRUE(ok);
  EXPECT_EQ(HeapAllocationsOnThisThread(), before);
}

TEST(RedzoneAllocatorTest, BuffersMayOutliveIt) {
  std::optional<RedzoneAllocator> allocator(std::in_place);
  ENGINE_ASSERT_OK_AND_ASSIGN(Buffer first, allocator->Allocate(10, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer second, allocator->Allocate(10, 1));
  allocator.reset();
  Bytes(first)[9] = 1;
  first = Buffer();
  Bytes(second)[0] = 1;
}

TEST(RedzoneAllocatorTest, ServesTensors) {
  RedzoneAllocator allocator;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const tensor::Tensor ones,
                                tensor::ops::full({3, 5}, 1, tensor::DataType::kFloat32,
                                                  tensor::Device::Cpu(), &allocator));
    ENGINE_ASSERT_OK_AND_ASSIGN(const tensor::Tensor turned, ones.transpose(0, 1));
    ENGINE_ASSERT_OK_AND_ASSIGN(const tensor::Tensor halves,
                                tensor::ops::cast(turned, tensor::DataType::kFloat16, &allocator));
    EXPECT_EQ(allocator.live_buffers(), 2);
    EXPECT_EQ(halves.data_ptr<tensor::float16>()[14].to_bits(), 0x3C00);
    allocator.CheckIntact();
  }
  EXPECT_EQ(allocator.live_buffers(), 0);
}

// Run under ThreadSanitizer: buffers come and go on several threads, one of which checks all.
TEST(RedzoneAllocatorTest, IsThreadSafe) {
  RedzoneAllocator allocator({.quarantine_bytes = 2000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator, t] {
      for (int i = 0; i < 200; ++i) {
        core::StatusOr<Buffer> buffer = allocator.Allocate(static_cast<std::size_t>(i), 8);
        if (buffer.ok() && i > 0) Bytes(*buffer)[i - 1] = 1;
        if (t == 0) allocator.CheckIntact();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.live_buffers(), 0);
}

// AddressSanitizer, where present, is first to notice, at the access itself.
#ifdef ENGINE_TEST_ASAN
constexpr const char* kPastTheEnd = "use-after-poison";
constexpr const char* kTwoPastTheEnd = "use-after-poison";
constexpr const char* kBeforeTheStart = "use-after-poison";
constexpr const char* kFarBeforeTheStart = "use-after-poison";
constexpr const char* kAfterFree = "use-after-poison";
#else
constexpr const char* kPastTheEnd =
    "byte 0 past the end of buffer #2 \\(100 bytes\\) was overwritten with 0x07";
constexpr const char* kTwoPastTheEnd =
    "byte 2 past the end of buffer #2 \\(100 bytes\\) was overwritten with 0x07";
constexpr const char* kBeforeTheStart =
    "byte 1 before buffer #2 \\(100 bytes\\) was overwritten with 0x07";
constexpr const char* kFarBeforeTheStart =
    "byte 64 before buffer #2 \\(100 bytes\\) was overwritten with 0x07";
constexpr const char* kAfterFree =
    "byte 99 of buffer #2 \\(100 bytes\\) was overwritten with 0x07 after it had been freed";
#endif

class RedzoneAllocatorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }

  // Writes one byte relative to the start of the second of three buffers; all are freed.
  static void WriteAt(std::ptrdiff_t offset) {
    RedzoneAllocator allocator;
    const auto first = allocator.Allocate(10, 8);
    const auto second = allocator.Allocate(100, 8);
    const auto third = allocator.Allocate(10, 8);
    if (first.ok() && second.ok() && third.ok()) Bytes(*second)[offset] = 7;
  }

  // Writes the last byte of a buffer that has been freed, and returns the allocator.
  static std::unique_ptr<RedzoneAllocator> WriteAfterFree() {
    auto allocator = std::make_unique<RedzoneAllocator>(RedzoneOptions{.quarantine_bytes = 1000});
    const auto first = allocator->Allocate(10, 8);
    volatile unsigned char* freed = nullptr;
    if (const auto second = allocator->Allocate(100, 8); second.ok()) freed = Bytes(*second);
    freed[99] = 7;
    return allocator;
  }
};

TEST_F(RedzoneAllocatorDeathTest, WritesPastTheEnd) {
  EXPECT_DEATH(WriteAt(100), kPastTheEnd);
  EXPECT_DEATH(WriteAt(102), kTwoPastTheEnd);
}

TEST_F(RedzoneAllocatorDeathTest, WritesBeforeTheStart) {
  EXPECT_DEATH(WriteAt(-1), kBeforeTheStart);
  EXPECT_DEATH(WriteAt(-64), kFarBeforeTheStart);
}

// Not only by the allocator's end, when whatever was at fault is far away.
TEST_F(RedzoneAllocatorDeathTest, MarginsAreCheckedWhenTheBufferIsFreed) {
  EXPECT_DEATH(
      {
        RedzoneAllocator allocator;
        const auto first = allocator.Allocate(10, 8);
        {
          const auto second = allocator.Allocate(100, 8);
          Bytes(*second)[100] = 7;
        }
        std::quick_exit(0);
      },
      kPastTheEnd);
}

TEST_F(RedzoneAllocatorDeathTest, CheckIntactSeesLiveBuffers) {
  EXPECT_DEATH(
      {
        RedzoneAllocator allocator;
        const auto first = allocator.Allocate(10, 8);
        const auto second = allocator.Allocate(100, 8);
        Bytes(*second)[100] = 7;
        allocator.CheckIntact();
        // Not to be noticed by the deleter instead.
        std::quick_exit(0);
      },
      kPastTheEnd);
}

// Three ways for the write to come out: asked for, as the memory leaves the quarantine, and with the
// allocator.
TEST_F(RedzoneAllocatorDeathTest, WritesAfterFree) {
  EXPECT_DEATH(
      {
        const auto allocator = WriteAfterFree();
        allocator->CheckIntact();
        std::quick_exit(0);
      },
      kAfterFree);
  EXPECT_DEATH(
      {
        const auto allocator = WriteAfterFree();
        static_cast<void>(allocator->Allocate(900, 8));
        std::quick_exit(0);
      },
      kAfterFree);
  EXPECT_DEATH(WriteAfterFree().reset(), kAfterFree);
}

#ifdef ENGINE_TEST_ASAN
TEST_F(RedzoneAllocatorDeathTest, ReadsToo) {
  RedzoneAllocator allocator;
  volatile unsigned char* freed = nullptr;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(100, 8));
    freed = Bytes(buffer);
    EXPECT_DEATH(static_cast<void>(freed[100]), "use-after-poison");
    EXPECT_DEATH(static_cast<void>(freed[-1]), "use-after-poison");
  }
  EXPECT_DEATH(static_cast<void>(freed[0]), "use-after-poison");
}
#else
TEST_F(RedzoneAllocatorDeathTest, FreedBytesAreMarked) {
  RedzoneAllocator allocator;
  volatile unsigned char* freed = nullptr;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(100, 8));
    freed = Bytes(buffer);
    freed[0] = 1;
  }
  EXPECT_EQ(freed[0], RedzoneAllocator::kFreed);
}
#endif

TEST_F(RedzoneAllocatorDeathTest, NoMemoryForItsBooks) {
  EXPECT_DEATH(
      {
        const ScopedHeapFailure failure;
        const RedzoneAllocator allocator;
      },
      "RedzoneAllocator: no memory for its books");
}

TEST_F(RedzoneAllocatorDeathTest, AlignmentThatIsNoPowerOfTwo) {
  RedzoneAllocator allocator;
  EXPECT_DEATH(static_cast<void>(allocator.Allocate(1, 3)), "alignment 3 is not a power of two");
  EXPECT_DEATH(static_cast<void>(allocator.Allocate(1, 0)), "alignment 0 is not a power of two");
}

}  // namespace
}  // namespace engine::testing
