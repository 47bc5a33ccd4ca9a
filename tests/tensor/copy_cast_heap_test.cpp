#include <gtest/gtest.h>

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

// Neither copying nor converting into existing elements needs the heap: an engine may do both on
// its hot path.
class CopyCastHeapTest : public ::testing::Test {
 protected:
  const Tensor src_ = testing::Counting({6, 7, 5}, DataType::kFloat32);
  const Tensor dst_ = testing::Counting({5, 6, 7}, DataType::kFloat32);
  const Tensor half_ = testing::Counting({5, 6, 7}, DataType::kFloat16);
};

TEST_F(CopyCastHeapTest, CopyAllocatesNothing) {
  const Tensor permuted = *src_.permute({2, 0, 1});
  const std::int64_t before = testing::HeapAllocationsOnThisThread();
  const core::Status strided = ops::copy(dst_, permuted);
  const core::Status contiguous = ops::copy(dst_, dst_);
  const std::int64_t after = testing::HeapAllocationsOnThisThread();
  ENGINE_EXPECT_OK(strided);
  ENGINE_EXPECT_OK(contiguous);
  EXPECT_EQ(after, before);
}

TEST_F(CopyCastHeapTest, CastIntoAllocatesNothing) {
  const Tensor permuted = *src_.permute({2, 0, 1});
  const std::int64_t before = testing::HeapAllocationsOnThisThread();
  const core::Status status = ops::cast_into(half_, permuted);
  const std::int64_t after = testing::HeapAllocationsOnThisThread();
  ENGINE_EXPECT_OK(status);
  EXPECT_EQ(after, before);
}

// Whichever allocation of a cast fails, the result is kOutOfMemory and nothing leaks (ASan).
TEST_F(CopyCastHeapTest, EveryFailingAllocationOfACastIsOutOfMemory) {
  int failures = 0;
  for (std::int64_t successes = 0;; ++successes) {
    ASSERT_LT(successes, 20) << "cast allocates more often than it should";
    bool triggered = false;
    core::StatusOr<Tensor> result;
    {
      const testing::ScopedHeapFailure failure(successes);
      result = ops::cast(src_, DataType::kFloat64);
      triggered = failure.triggered();
    }
    if (!triggered) {
      ENGINE_EXPECT_OK(result);
      break;
    }
    ++failures;
    EXPECT_THAT(result, testing::StatusIs(core::kOutOfMemory));
  }
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace engine::tensor
