#include "memory/allocator.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/status.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using core::StatusOr;
using tensor::Device;
using testing::StatusIs;

constexpr std::size_t kSizeMax = std::numeric_limits<std::size_t>::max();

static_assert(!std::is_copy_constructible_v<CpuAllocator>);
static_assert(!std::is_copy_assignable_v<CpuAllocator>);
static_assert(std::has_virtual_destructor_v<Allocator>);
static_assert(!std::is_convertible_v<std::size_t, CpuAllocator>);

bool IsAligned(const void* data, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

// Every byte of `buffer` becomes `value`.
void FillWith(const Buffer& buffer, unsigned char value) {
  std::memset(buffer.data(), value, buffer.size_bytes());
}

bool HoldsOnly(const Buffer& buffer, unsigned char value) {
  const auto* const bytes = static_cast<const unsigned char*>(buffer.data());
  for (std::size_t i = 0; i < buffer.size_bytes(); ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

// Sizes and alignments that can be served.

TEST(CpuAllocatorTest, SizeIsExactAndAddressAligned) {
  // P47, P48: alignments below a pointer's size, and sizes that are no multiple of the alignment.
  CpuAllocator allocator;
  std::vector<Buffer> alive;
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t bytes : {1, 3, 64, 100, 4096, 100003}) {
      ENGINE_ASSERT_OK_AND_ASSIGN(Buffer buffer, allocator.Allocate(bytes, alignment));
      EXPECT_TRUE(buffer.engaged());
      EXPECT_EQ(buffer.size_bytes(), bytes);
      EXPECT_EQ(buffer.device(), Device::Cpu());
      EXPECT_FALSE(buffer.is_read_only());
      EXPECT_TRUE(IsAligned(buffer.data(), alignment)) << bytes << " aligned to " << alignment;
      FillWith(buffer, static_cast<unsigned char>(alive.size()));
      alive.push_back(std::move(buffer));
    }
  }
  for (std::size_t i = 0; i < alive.size(); ++i) {
    EXPECT_TRUE(HoldsOnly(alive[i], static_cast<unsigned char>(i))) << "buffer " << i;
  }
}

// P48: an alignment far beyond the size.
TEST(CpuAllocatorTest, LargeAlignment) {
  constexpr std::size_t kTwoMiB = std::size_t{1} << 21;
  CpuAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(Buffer buffer, allocator.Allocate(10, kTwoMiB));
  EXPECT_EQ(buffer.size_bytes(), 10u);
  EXPECT_TRUE(IsAligned(buffer.data(), kTwoMiB));
  FillWith(buffer, 1);
}

TEST(CpuAllocatorTest, DefaultAlignmentIsACacheLine) {
  CpuAllocator allocator;
  EXPECT_EQ(allocator.default_alignment(), 64u);
  EXPECT_EQ(allocator.device(), Device::Cpu());
  std::vector<Buffer> alive;
  for (std::size_t bytes = 1; bytes < 200; ++bytes) {
    ENGINE_ASSERT_OK_AND_ASSIGN(Buffer buffer, allocator.Allocate(bytes));
    EXPECT_EQ(buffer.size_bytes(), bytes);
    EXPECT_TRUE(IsAligned(buffer.data(), 64)) << bytes;
    alive.push_back(std::move(buffer));
  }
}

TEST(CpuAllocatorTest, ConfiguredDefaultAlignment) {
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    CpuAllocator allocator(alignment);
    EXPECT_EQ(allocator.default_alignment(), alignment);
    ENGINE_ASSERT_OK_AND_ASSIGN(Buffer buffer, allocator.Allocate(10));
    EXPECT_EQ(buffer.size_bytes(), 10u);
    EXPECT_TRUE(IsAligned(buffer.data(), alignment)) << alignment;
  }
}

// P49: zero bytes succeed at any alignment, expose no address and are engaged.
TEST(CpuAllocatorTest, ZeroBytes) {
  CpuAllocator allocator;
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}, std::size_t{1} << 62}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, allocator.Allocate(0, alignment));
    EXPECT_TRUE(buffer.engaged());
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(buffer.size_bytes(), 0u);
    EXPECT_EQ(buffer.device(), Device::Cpu());
  }
}

// Sizes and alignments that no machine has: a status, never a wrapped size.

// P46: size plus alignment wraps, or exceeds what a pointer difference can express.
TEST(CpuAllocatorTest, SizesThatWrapAreOutOfMemory) {
  CpuAllocator allocator;
  for (const std::size_t bytes :
       {kSizeMax, kSizeMax - 3, kSizeMax - 63, kSizeMax - 64, std::size_t{1} << 63,
        (std::size_t{1} << 63) - 1, (std::size_t{1} << 63) - 64, std::size_t{1} << 62}) {
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}, std::size_t{1} << 62}) {
      const StatusOr<Buffer> result = allocator.Allocate(bytes, alignment);
      EXPECT_THAT(result, StatusIs(core::kOutOfMemory)) << bytes << " aligned to " << alignment;
    }
    EXPECT_THAT(allocator.Allocate(bytes), StatusIs(core::kOutOfMemory)) << bytes;
  }
}

// P48: absurd alignments.
TEST(CpuAllocatorTest, AbsurdAlignmentsAreOutOfMemory) {
  CpuAllocator allocator;
  for (const int shift : {50, 62, 63}) {
    const std::size_t alignment = std::size_t{1} << shift;
    EXPECT_THAT(allocator.Allocate(1, alignment), StatusIs(core::kOutOfMemory)) << shift;
    EXPECT_THAT(CpuAllocator(alignment).Allocate(1), StatusIs(core::kOutOfMemory)) << shift;
  }
}

// AllocateZeroed: as Allocate, and every byte is 0. Recycled blocks are cleared: each size is taken
// twice, and left dirty.
TEST(CpuAllocatorTest, ZeroedMemoryIsZero) {
  CpuAllocator allocator;
  for (const std::size_t bytes : {1u, 3u, 63u, 64u, 100u, 4096u, 100000u, 1u << 20}) {
    for (const std::size_t alignment : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 4096u, 1u << 21}) {
      for (int round = 0; round < 2; ++round) {
        StatusOr<Buffer> buffer = allocator.AllocateZeroed(bytes, alignment);
        ASSERT_TRUE(buffer.ok());
        EXPECT_EQ(buffer->size_bytes(), bytes);
        EXPECT_TRUE(IsAligned(buffer->data(), alignment));
        EXPECT_TRUE(HoldsOnly(*buffer, 0)) << bytes << " bytes at " << alignment;
        FillWith(*buffer, 0xFF);
      }
    }
  }
}

// P46, P48, P49 hold for zeroed memory too.
TEST(CpuAllocatorTest, ZeroedMemoryHasTheSameLimits) {
  CpuAllocator allocator;
  for (const std::size_t bytes : {kSizeMax, kSizeMax - 3, kSizeMax - 63, std::size_t{1} << 63}) {
    EXPECT_THAT(allocator.AllocateZeroed(bytes, 64), StatusIs(core::kOutOfMemory));
  }
  EXPECT_THAT(allocator.AllocateZeroed(1, std::size_t{1} << 62), StatusIs(core::kOutOfMemory));
  StatusOr<Buffer> none = allocator.AllocateZeroed(0, 64);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->data(), nullptr);
  EXPECT_TRUE(none->engaged());
}

// What an allocator inherits that knows no cheaper zeros.
class DirtyAllocator : public Allocator {
 public:
  explicit DirtyAllocator(Device device) : device_(device) {}
  StatusOr<Buffer> Allocate(std::size_t bytes, std::size_t alignment) override {
    StatusOr<Buffer> buffer = CpuAllocator().Allocate(bytes, alignment);
    if (buffer.ok() && bytes > 0) FillWith(*buffer, 0xA5);
    return buffer;
  }
  Device device() const override { return device_; }

 private:
  Device device_;
};

TEST(AllocatorTest, ZeroedMemoryByDefault) {
  DirtyAllocator allocator(Device::Cpu());
  StatusOr<Buffer> buffer = allocator.AllocateZeroed(1000, 64);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->size_bytes(), 1000u);
  EXPECT_TRUE(HoldsOnly(*buffer, 0));
  EXPECT_TRUE(allocator.AllocateZeroed(0, 64).ok());
  EXPECT_THAT(allocator.AllocateZeroed(kSizeMax, 64), StatusIs(core::kOutOfMemory));
}

TEST(CpuAllocatorTest, WorksAfterAFailure) {
  CpuAllocator allocator;
  ASSERT_THAT(allocator.Allocate(kSizeMax, 64), StatusIs(core::kOutOfMemory));
  ENGINE_ASSERT_OK_AND_ASSIGN(Buffer buffer, allocator.Allocate(100, 64));
  FillWith(buffer, 2);
}

// Lifetimes and threads.

// P52: the deleter needs nothing of the allocator.
TEST(CpuAllocatorTest, BuffersOutliveTheAllocator) {
  std::optional<CpuAllocator> allocator(std::in_place, 128);
  ENGINE_ASSERT_OK_AND_ASSIGN(Buffer buffer, allocator->Allocate(1000));
  allocator.reset();
  FillWith(buffer, 3);
  EXPECT_TRUE(HoldsOnly(buffer, 3));
}

TEST(CpuAllocatorTest, ConcurrentAllocation) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  CpuAllocator allocator;
  std::vector<int> failures(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&allocator, &failure = failures[t], t] {
      std::vector<Buffer> alive;
      const auto value = static_cast<unsigned char>(t + 1);
      for (int i = 0; i < kRounds; ++i) {
        StatusOr<Buffer> buffer = allocator.Allocate(static_cast<std::size_t>(i) * 7 + 1, 64);
        if (!buffer.ok() || !IsAligned(buffer->data(), 64)) {
          ++failure;
          continue;
        }
        FillWith(*buffer, value);
        alive.push_back(*std::move(buffer));
      }
      for (const Buffer& buffer : alive) failure += HoldsOnly(buffer, value) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, std::vector<int>(kThreads, 0));
}

// P52: written by the thread that allocated, read and given back by whichever drops it last. The
// shared_ptr is all that orders the two.
TEST(CpuAllocatorTest, LastHandleIsDroppedOnAnotherThread) {
  for (int round = 0; round < 50; ++round) {
    std::shared_ptr<Buffer> handle;
    bool deleted = false;
    std::thread maker([&] {
      StatusOr<Buffer> memory = DefaultCpuAllocator()->Allocate(4096, 64);
      ASSERT_TRUE(memory.ok());
      FillWith(*memory, 5);
      auto inner = std::make_shared<Buffer>(*std::move(memory));
      void* const data = inner->data();
      Buffer counted(data, 4096, Device::Cpu(), [inner, &deleted](void*) { deleted = true; });
      StatusOr<std::shared_ptr<Buffer>> shared = ShareBuffer(std::move(counted));
      ASSERT_TRUE(shared.ok());
      handle = *std::move(shared);
    });
    maker.join();
    std::thread dropper([handle] { EXPECT_TRUE(HoldsOnly(*handle, 5)); });
    std::thread second([handle] { EXPECT_TRUE(HoldsOnly(*handle, 5)); });
    handle.reset();
    dropper.join();
    second.join();
    EXPECT_TRUE(deleted);
  }
}

TEST(DefaultCpuAllocatorTest, IsOneInstanceForTheProcess) {
  Allocator* const here = DefaultCpuAllocator();
  ASSERT_NE(here, nullptr);
  EXPECT_EQ(here->device(), Device::Cpu());
  EXPECT_EQ(DefaultCpuAllocator(), here);
  Allocator* there = nullptr;
  std::thread([&there] { there = DefaultCpuAllocator(); }).join();
  EXPECT_EQ(there, here);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Buffer buffer, here->Allocate(100, 64));
  EXPECT_EQ(buffer.size_bytes(), 100u);
  EXPECT_TRUE(IsAligned(buffer.data(), 64));
}

// Alignments are constants of the caller's source: a wrong one is a programmer error.
class AllocatorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

// P47: zero and numbers that are not powers of two, whatever the size.
TEST_F(AllocatorDeathTest, AlignmentMustBeAPowerOfTwo) {
  CpuAllocator allocator;
  EXPECT_DEATH((void)allocator.Allocate(100, 0), "alignment 0 is not a power of two");
  EXPECT_DEATH((void)allocator.Allocate(100, 3), "alignment 3 is not a power of two");
  EXPECT_DEATH((void)allocator.Allocate(100, 48), "alignment 48 is not a power of two");
  EXPECT_DEATH((void)allocator.Allocate(0, 48), "alignment 48 is not a power of two");
  EXPECT_DEATH((void)allocator.Allocate(kSizeMax, 48), "alignment 48 is not a power of two");
  EXPECT_DEATH((void)DefaultCpuAllocator()->Allocate(1, kSizeMax), "is not a power of two");
}

TEST_F(AllocatorDeathTest, ZeroedMemory) {
  EXPECT_DEATH((void)CpuAllocator().AllocateZeroed(100, 48), "alignment 48 is not a power of two");
  DirtyAllocator elsewhere(Device::Cuda(0));
  EXPECT_DEATH((void)elsewhere.AllocateZeroed(100, 64), "the allocator for cuda:0 has to override");
}

TEST_F(AllocatorDeathTest, DefaultAlignmentMustBeAPowerOfTwo) {
  EXPECT_DEATH(CpuAllocator(0), "alignment 0 is not a power of two");
  EXPECT_DEATH(CpuAllocator(3), "alignment 3 is not a power of two");
  EXPECT_DEATH(CpuAllocator(48), "alignment 48 is not a power of two");
}

}  // namespace
}  // namespace engine::memory
