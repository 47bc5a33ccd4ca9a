// What the module asks of the heap: nothing for views and generated tensors, one control block for
// storage; a failure anywhere is kOutOfMemory and changes nothing.
#include "testing/heap.h"

#include "dense/generated.h"
#include "dense/operations.h"
#include "dense/output.h"
#include "dense/reshape.h"
#include "dense_test_util.h"
#include "testing/death_test_style.h"

namespace engine::dense {
namespace {

using ::engine::testing::HeapAllocationsOnThisThread;
using ::engine::testing::ScopedHeapFailure;
using ::engine::testing::StatusIs;

// How many allocations `operation` makes; its result is destroyed inside.
template <typename Operation>
std::int64_t AllocationsOf(Operation operation) {
  const std::int64_t before = HeapAllocationsOnThisThread();
  { [[maybe_unused]] const auto result = operation(); }
  return HeapAllocationsOnThisThread() - before;
}

TEST(DenseHeapTest, ViewsAndGeneratedTensorsDoNotAllocate) {
  DenseMatrix<float> matrix(4, 6);
  DenseMatrix<float> target(4, 6);
  EXPECT_EQ(AllocationsOf([] { return DenseMatrix<float>(); }), 0);
  EXPECT_EQ(AllocationsOf([] { return DenseMatrix<float>(0, 7); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return matrix.view(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return reshape_view(matrix, 3, -1); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return reshape_view_right(matrix, 24); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return reshape_inplace(matrix, 6, 4); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return reshape_inplace(matrix, 4, 6); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return prepare_output(matrix, {4, 6}); }), 0);
  EXPECT_EQ(AllocationsOf([] { return full(1.0f, 1000, 1000); }), 0);
  EXPECT_EQ(AllocationsOf([] { return eye<float>(1000, 1000); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return copy(target, eye<float>(4, 6)); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return copy(target, matrix); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return cast_into(target, full(3, 4, 6)); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return reshape(DenseMatrix<float>(), 0, 4); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return matrix.AsTensor(); }), 0);
  // The control block; the storage itself comes from malloc.
  EXPECT_EQ(AllocationsOf([] { return DenseMatrix<float>(4, 6); }), 1);
  EXPECT_EQ(AllocationsOf([&] { return make_tensor(matrix); }), 1);
}

TEST(DenseHeapTest, MovingThroughReshapeDoesNotAllocate) {
  DenseMatrix<float> matrix(4, 6);
  EXPECT_EQ(AllocationsOf([&] { return reshape(std::move(matrix), 24); }), 0);
}

// Runs `operation` with the first, then the second, ... allocation failing, until it succeeds.
template <typename Operation>
void ExpectOutOfMemoryUntilItFits(Operation operation) {
  for (std::int64_t successes = 0;; ++successes) {
    core::Status status;
    bool triggered = false;
    {
      const ScopedHeapFailure failure(successes);
      status = operation();
      triggered = failure.triggered();
    }
    if (!triggered) {
      ENGINE_EXPECT_OK(status);
      EXPECT_GT(successes, 0) << "nothing was allocated";
      return;
    }
    EXPECT_EQ(status.code(), core::kOutOfMemory) << "allocation " << successes;
  }
}

TEST(DenseHeapTest, EveryFailedAllocationIsOutOfMemory) {
  DenseMatrix<float> matrix(4, 6);
  matrix(1, 1) = 5;
  const float* const storage = matrix.data();
  ExpectOutOfMemoryUntilItFits([] { return DenseMatrix<float>::Create({3, 3}).status(); });
  ExpectOutOfMemoryUntilItFits([&] { return matrix.Clone().status(); });
  ExpectOutOfMemoryUntilItFits([&] { return make_tensor<ColumnMajor>(matrix).status(); });
  ExpectOutOfMemoryUntilItFits([&] { return make_tensor(eye<float>(3, 3)).status(); });
  ExpectOutOfMemoryUntilItFits([&] { return cast<double>(matrix).status(); });
  ExpectOutOfMemoryUntilItFits([&] { return allclose(matrix, eye<float>(4, 6)).status(); });
  ExpectOutOfMemoryUntilItFits([&] { return reshape(matrix, 24).status(); });
  EXPECT_EQ(matrix.data(), storage);
  EXPECT_EQ(matrix(1, 1), 5);
}

// A read-only handle is the one place where a std::function may allocate.
#ifdef __cpp_exceptions
TEST(DenseHeapTest, ReadOnlyHandles) {
  const DenseMatrix<float> matrix(4, 6);
  ExpectOutOfMemoryUntilItFits([&] { return matrix.AsTensor().status(); });
}
#endif

TEST(DenseHeapTest, FailedReplacementKeepsTheOld) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  const std::int32_t* const storage = matrix.data();
  core::Status status;
  {
    const ScopedHeapFailure failure;
    status = matrix.reset_shape(5, 5);
  }
  EXPECT_THAT(status, StatusIs(core::kOutOfMemory));
  EXPECT_EQ(matrix.data(), storage);
  EXPECT_THAT(matrix, ::testing::ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST(DenseHeapTest, AdoptedBufferThatCannotBeSharedIsReleased) {
  std::array<float, 4> memory{};
  int deletions = 0;
  memory::Buffer buffer(memory.data(), sizeof(memory), tensor::Device::Cpu(),
                        [&](void*) { ++deletions; });
  core::Status status;
  {
    const ScopedHeapFailure failure;
    status = DenseVector<float>::Adopt(std::move(buffer), {4}).status();
  }
  EXPECT_THAT(status, StatusIs(core::kOutOfMemory));
  EXPECT_EQ(deletions, 1);
}

// Copy construction and assignment have no Status to return.
class DenseHeapDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(DenseHeapDeathTest, CopiesWithoutMemory) {
  const DenseVector<float> source(2);
  DenseVector<float> target;
  EXPECT_DEATH(
      {
        const ScopedHeapFailure failure;
        const DenseVector<float> copy(source);
      },
      "out of memory");
  EXPECT_DEATH(
      {
        const ScopedHeapFailure failure;
        target = source;
      },
      "out of memory");
  EXPECT_DEATH(
      {
        const ScopedHeapFailure failure;
        const DenseVector<float> copy(eye<float>(2));
      },
      "out of memory");
}

}  // namespace
}  // namespace engine::dense
