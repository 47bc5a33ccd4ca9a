// Counting: every reference counts once, the memory dies once, with the last of them.
#include "governed/shared_storage.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "core/check.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"

namespace engine::governed::internal {
namespace {

class SharedStorageTest : public ::testing::Test {
 protected:
  memory::Buffer MakeBuffer() {
    auto buffer = allocator_.Allocate(64, 64);
    ENGINE_CHECK(buffer.ok());
    return *std::move(buffer);
  }
  SharedStorage MakeStorage() {
    auto storage = SharedStorage::Adopt(MakeBuffer());
    ENGINE_CHECK(storage.ok());
    return *std::move(storage);
  }
  std::int64_t deletions() const { return allocator_.counts()->deletions; }

  testing::CountingAllocator allocator_;
};

TEST_F(SharedStorageTest, NothingCountsZero) {
  const SharedStorage none;
  EXPECT_FALSE(none.defined());
  EXPECT_EQ(none.count(), 0);
  EXPECT_FALSE(none.IsExclusive());
  const SharedStorage copy = none;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.count(), 0);
}

TEST_F(SharedStorageTest, CopiesCountAndMovesDoNot) {
  {
    SharedStorage a = MakeStorage();
    EXPECT_TRUE(a.IsExclusive());
    EXPECT_EQ(a.size_bytes(), 64u);
    SharedStorage b = a;
    EXPECT_EQ(a.count(), 2);
    EXPECT_FALSE(a.IsExclusive());
    EXPECT_EQ(b.data(), a.data());
    const SharedStorage c = std::move(b);
    EXPECT_FALSE(b.defined());  // NOLINT(bugprone-use-after-move): that is the promise
    EXPECT_EQ(c.count(), 2);
    b = c;
    EXPECT_EQ(a.count(), 3);
    b = SharedStorage();
    EXPECT_EQ(a.count(), 2);
    a = c;  // the same storage
    EXPECT_EQ(a.count(), 2);
    EXPECT_EQ(deletions(), 0);
  }
  EXPECT_EQ(deletions(), 1);
}

TEST_F(SharedStorageTest, AssignmentDropsTheOldStorage) {
  SharedStorage a = MakeStorage();
  a = MakeStorage();
  EXPECT_EQ(deletions(), 1);
  SharedStorage& same = a;
  a = same;
  EXPECT_EQ(a.count(), 1);
  EXPECT_EQ(deletions(), 1);
}

TEST_F(SharedStorageTest, ALoanCountsOnceHoweverOftenItIsShared) {
  std::shared_ptr<memory::Buffer> outlives;
  {
    const SharedStorage a = MakeStorage();
    ENGINE_ASSERT_OK_AND_ASSIGN(std::shared_ptr<memory::Buffer> loan, a.Lend());
    EXPECT_EQ(loan->data(), a.data());
    EXPECT_EQ(loan->size_bytes(), a.size_bytes());
    EXPECT_TRUE(loan->is_read_only());
    EXPECT_EQ(a.count(), 2);
    outlives = loan;
    EXPECT_EQ(a.count(), 2);
    ENGINE_ASSERT_OK_AND_ASSIGN(const std::shared_ptr<memory::Buffer> second, a.Lend());
    EXPECT_EQ(a.count(), 3);
  }
  EXPECT_EQ(deletions(), 0);
  outlives.reset();
  EXPECT_EQ(deletions(), 1);
}

TEST_F(SharedStorageTest, ReadOnlyMemoryIsNeverExclusive) {
  int deleted = 0;
  float lent = 1;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(
        const SharedStorage a,
        SharedStorage::Adopt(memory::Buffer(
            &lent, sizeof(lent), tensor::Device::Cpu(), [&](void*) { ++deleted; }, true)));
    EXPECT_EQ(a.count(), 2);
    EXPECT_FALSE(a.IsExclusive());
    const SharedStorage b = a;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_EQ(b.count(), 3);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
}

}  // namespace
}  // namespace engine::governed::internal
