#include "memory/buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/status.h"
#include "memory/allocator.h"
#include "testing/allocators.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using tensor::Device;
using testing::CountingAllocator;

static_assert(!std::is_copy_constructible_v<Buffer>);
static_assert(!std::is_copy_assignable_v<Buffer>);
static_assert(std::is_nothrow_default_constructible_v<Buffer>);
static_assert(std::is_nothrow_move_constructible_v<Buffer>);
static_assert(std::is_nothrow_move_assignable_v<Buffer>);

void ExpectLikeDefault(const Buffer& buffer) {
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size_bytes(), 0u);
  EXPECT_EQ(buffer.device(), Device::Cpu());
  EXPECT_FALSE(buffer.is_read_only());
  EXPECT_FALSE(buffer.engaged());
}

// Lends `bytes` and records what each deleter run was given.
class Lender {
 public:
  Buffer Lend(bool read_only = false) {
    return Buffer(bytes_.data(), bytes_.size(), Device::Cuda(1), Record(), read_only);
  }
  Buffer LendNothing() { return Buffer(nullptr, 0, Device::Cpu(), Record()); }
  Buffer::Deleter Record() {
    return [this](void* data) { returned_.push_back(data); };
  }

  [[nodiscard]] void* data() { return bytes_.data(); }
  [[nodiscard]] std::size_t size_bytes() const { return bytes_.size(); }
  [[nodiscard]] std::size_t runs() const { return returned_.size(); }
  [[nodiscard]] const std::vector<void*>& returned() const { return returned_; }

 private:
  std::array<std::byte, 48> bytes_{};
  std::vector<void*> returned_;
};

// What a Buffer reports and when its deleter runs.

TEST(BufferTest, DefaultIsDisengaged) { ExpectLikeDefault(Buffer()); }

TEST(BufferTest, HoldsWhatItWasGiven) {
  Lender lender;
  const Buffer buffer = lender.Lend();
  EXPECT_TRUE(buffer.engaged());
  EXPECT_EQ(buffer.data(), lender.data());
  EXPECT_EQ(buffer.size_bytes(), 48u);
  EXPECT_EQ(buffer.device(), Device::Cuda(1));
  EXPECT_FALSE(buffer.is_read_only());
}

TEST(BufferTest, DestructionRunsTheDeleterOnceWithTheData) {
  Lender lender;
  {
    const Buffer buffer = lender.Lend();
    EXPECT_EQ(lender.runs(), 0u);
  }
  EXPECT_EQ(lender.returned(), std::vector<void*>{lender.data()});
}

// P49: zero bytes are engaged like any other allocation.
TEST(BufferTest, ZeroSizeRunsTheDeleterOnceWithNull) {
  Lender lender;
  {
    Buffer buffer = lender.LendNothing();
    EXPECT_TRUE(buffer.engaged());
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(buffer.size_bytes(), 0u);
    const Buffer moved = std::move(buffer);
    EXPECT_TRUE(moved.engaged());
    EXPECT_FALSE(buffer.engaged());
    EXPECT_EQ(lender.runs(), 0u);
  }
  EXPECT_EQ(lender.returned(), std::vector<void*>{nullptr});
}

TEST(BufferTest, CapturesLiveUntilTheDeleterHasRun) {
  auto capture = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = capture;
  // Too large for std::function to hold without the heap.
  const std::array<long, 16> ballast{1, 2, 3};
  int seen = 0;
  std::optional<Buffer> buffer(
      std::in_place, nullptr, 0, Device::Cpu(),
      [capture = std::move(capture), ballast, &seen](void*) { seen = *capture + ballast[2]; });
  Buffer moved = *std::move(buffer);
  buffer.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(seen, 0);
  moved = Buffer();
  EXPECT_EQ(seen, 10);
  EXPECT_TRUE(watch.expired());
}

// P51: moving transfers everything, the flag included, and leaves a default Buffer.

TEST(BufferTest, MoveConstructionTransfers) {
  Lender lender;
  {
    Buffer source = lender.Lend(/*read_only=*/true);
    const Buffer target(std::move(source));
    ExpectLikeDefault(source);
    EXPECT_EQ(target.data(), lender.data());
    EXPECT_EQ(target.size_bytes(), 48u);
    EXPECT_EQ(target.device(), Device::Cuda(1));
    EXPECT_TRUE(target.is_read_only());
    EXPECT_TRUE(target.engaged());
    EXPECT_EQ(lender.runs(), 0u);
  }
  EXPECT_EQ(lender.runs(), 1u);
}

TEST(BufferTest, MoveAssignmentDestroysTheOldThenTransfers) {
  Lender old_lender;
  Lender new_lender;
  {
    Buffer target = old_lender.Lend(/*read_only=*/true);
    {
      Buffer source = new_lender.Lend();
      target = std::move(source);
      EXPECT_EQ(old_lender.returned(), std::vector<void*>{old_lender.data()});
      ExpectLikeDefault(source);
    }
    EXPECT_EQ(new_lender.runs(), 0u);
    EXPECT_EQ(target.data(), new_lender.data());
    EXPECT_EQ(target.size_bytes(), 48u);
    EXPECT_EQ(target.device(), Device::Cuda(1));
    EXPECT_FALSE(target.is_read_only());
  }
  EXPECT_EQ(old_lender.runs(), 1u);
  EXPECT_EQ(new_lender.runs(), 1u);
}

TEST(BufferTest, TheOldDeleterRunsBeforeTheTransfer) {
  Lender lender;
  Buffer target;
  bool engaged_inside = true;
  void* data_inside = lender.data();
  target = Buffer(lender.data(), 1, Device::Cpu(), [&](void*) {
    engaged_inside = target.engaged();
    data_inside = target.data();
  });
  target = lender.Lend();
  EXPECT_FALSE(engaged_inside);
  EXPECT_EQ(data_inside, nullptr);
  EXPECT_EQ(target.data(), lender.data());
}

TEST(BufferTest, AssigningADisengagedBufferDisengages) {
  Lender lender;
  Buffer target = lender.Lend(/*read_only=*/true);
  target = Buffer();
  EXPECT_EQ(lender.runs(), 1u);
  ExpectLikeDefault(target);
  target = Buffer();
  EXPECT_EQ(lender.runs(), 1u);
}

TEST(BufferTest, SelfMoveKeepsEverything) {
  Lender lender;
  {
    Buffer buffer = lender.Lend(/*read_only=*/true);
    Buffer& itself = buffer;
    buffer = std::move(itself);
    EXPECT_EQ(lender.runs(), 0u);
    EXPECT_TRUE(buffer.engaged());
    EXPECT_EQ(buffer.data(), lender.data());
    EXPECT_EQ(buffer.size_bytes(), 48u);
    EXPECT_EQ(buffer.device(), Device::Cuda(1));
    EXPECT_TRUE(buffer.is_read_only());
  }
  EXPECT_EQ(lender.runs(), 1u);

  Buffer disengaged;
  Buffer& itself = disengaged;
  disengaged = std::move(itself);
  ExpectLikeDefault(disengaged);
}

TEST(BufferTest, MovesAndSwapsNeverRunTheDeleter) {
  Lender first;
  Lender second;
  {
    Buffer a = first.Lend();
    Buffer b = second.Lend();
    std::swap(a, b);
    EXPECT_EQ(a.data(), second.data());
    EXPECT_EQ(b.data(), first.data());
    std::vector<Buffer> grown;
    grown.push_back(std::move(a));
    for (int i = 0; i < 20; ++i) grown.emplace_back();  // reallocates
    EXPECT_EQ(grown[0].data(), second.data());
    EXPECT_EQ(first.runs() + second.runs(), 0u);
  }
  EXPECT_EQ(first.runs(), 1u);
  EXPECT_EQ(second.runs(), 1u);
}

// Deleters that reach back to their Buffer run once all the same.

TEST(BufferTest, DeleterMayResetItsOwnBuffer) {
  Lender lender;
  int runs = 0;
  Buffer buffer;
  buffer = Buffer(lender.data(), 1, Device::Cpu(), [&](void*) {
    ++runs;
    buffer = Buffer();
  });
  buffer = Buffer();
  EXPECT_EQ(runs, 1);
  ExpectLikeDefault(buffer);
}

TEST(BufferTest, DeleterMayRefillItsOwnBuffer) {
  Lender refill;
  Lender assigned;
  {
    Buffer buffer;
    buffer = Buffer(nullptr, 0, Device::Cpu(), [&](void*) { buffer = refill.Lend(); });
    buffer = assigned.Lend();
    EXPECT_EQ(buffer.data(), assigned.data());
    EXPECT_EQ(refill.runs(), 1u) << "the refill was lost with its deleter";
    EXPECT_EQ(assigned.runs(), 0u);
  }
  EXPECT_EQ(refill.runs(), 1u);
  EXPECT_EQ(assigned.runs(), 1u);
}

TEST(BufferTest, SourceMayBelongToTheOldDeleter) {
  Lender lender;
  auto next = std::make_shared<Buffer>(lender.Lend());
  Buffer& source = *next;
  Buffer head(nullptr, 0, Device::Cpu(), [next = std::move(next)](void*) mutable { next.reset(); });
  head = std::move(source);
  EXPECT_EQ(head.data(), lender.data());
  EXPECT_EQ(lender.runs(), 0u);
}

// ShareBuffer: one owner behind any number of handles.

TEST(ShareBufferTest, HandlesShareOneBuffer) {
  Lender lender;
  ENGINE_ASSERT_OK_AND_ASSIGN(std::shared_ptr<Buffer> shared, ShareBuffer(lender.Lend(true)));
  EXPECT_EQ(shared.use_count(), 1);
  EXPECT_EQ(shared->data(), lender.data());
  EXPECT_EQ(shared->size_bytes(), 48u);
  EXPECT_EQ(shared->device(), Device::Cuda(1));
  EXPECT_TRUE(shared->is_read_only());

  std::shared_ptr<Buffer> second = shared;
  shared.reset();
  EXPECT_EQ(lender.runs(), 0u);
  second.reset();
  EXPECT_EQ(lender.runs(), 1u);
}

TEST(ShareBufferTest, WeakHandlesOutliveTheBuffer) {
  Lender lender;
  ENGINE_ASSERT_OK_AND_ASSIGN(std::shared_ptr<Buffer> shared, ShareBuffer(lender.Lend()));
  std::weak_ptr<Buffer> weak = shared;
  shared.reset();
  EXPECT_EQ(lender.runs(), 1u);
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(weak.lock(), nullptr);
}

TEST(ShareBufferTest, SharesEmptyAndDisengagedBuffers) {
  Lender lender;
  ENGINE_ASSERT_OK_AND_ASSIGN(std::shared_ptr<Buffer> empty, ShareBuffer(lender.LendNothing()));
  EXPECT_TRUE(empty->engaged());
  empty.reset();
  EXPECT_EQ(lender.runs(), 1u);
  ENGINE_ASSERT_OK_AND_ASSIGN(std::shared_ptr<Buffer> disengaged, ShareBuffer(Buffer()));
  ExpectLikeDefault(*disengaged);
}

TEST(ShareBufferTest, EveryAllocationIsDeletedOnce) {
  CountingAllocator allocator;
  const auto counts = allocator.counts();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(Buffer buffer, allocator.Allocate(bytes, 64));
    ENGINE_ASSERT_OK_AND_ASSIGN(std::shared_ptr<Buffer> shared, ShareBuffer(std::move(buffer)));
    EXPECT_EQ(counts->allocations, counts->deletions + 1);
  }
  EXPECT_EQ(counts->allocations, 3);
  EXPECT_EQ(counts->deletions, 3);
}

// The constructor's preconditions.
class BufferDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
  char byte_ = 0;
};

TEST_F(BufferDeathTest, DeleterMustNotBeNull) {
  EXPECT_DEATH(Buffer(&byte_, 1, Device::Cpu(), nullptr), "Buffer: the deleter is null");
  EXPECT_DEATH(Buffer(nullptr, 0, Device::Cpu(), Buffer::Deleter()), "the deleter is null");
  void (*const no_function)(void*) = nullptr;
  EXPECT_DEATH(Buffer(&byte_, 1, Device::Cpu(), no_function), "the deleter is null");
}

TEST_F(BufferDeathTest, DataIsNullExactlyWhenTheSizeIsZero) {
  EXPECT_DEATH(Buffer(nullptr, 16, Device::Cpu(), [](void*) {}),
               "data is null but size_bytes is 16");
  EXPECT_DEATH(Buffer(&byte_, 0, Device::Cpu(), [](void*) {}),
               "data is not null but size_bytes is 0");
}

}  // namespace
}  // namespace engine::memory
