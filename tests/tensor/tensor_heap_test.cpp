// What Tensor asks of the heap: nothing in views and handles, and in empty nothing that may throw.
#include "testing/heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "tensor/tensor.h"
#include "tensor_test_support.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::HeapAllocationsOnThisThread;
using ::engine::testing::MallocAllocator;
using ::engine::testing::ScopedHeapFailure;

// How many allocations `operation` makes; its result is destroyed inside.
template <typename Operation>
std::int64_t AllocationsOf(Operation operation) {
  const std::int64_t before = HeapAllocationsOnThisThread();
  { [[maybe_unused]] const auto result = operation(); }
  return HeapAllocationsOnThisThread() - before;
}

TEST(TensorHeapTest, HandlesAndViewsDoNotAllocate) {
  Tensor base = Iota({2, 1, 3, 4});
  EXPECT_EQ(AllocationsOf([&] { return Tensor(base); }), 0);
  EXPECT_EQ(AllocationsOf([&] {
              Tensor copy = base;
              return Tensor(std::move(copy));
            }),
            0);
  EXPECT_EQ(AllocationsOf([&] { return base.slice(3, 1, 3); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.slice(0, 2, 2); }), 0);
  EXPECT_EQ(AllocationsOf([&] {
              return base.strided_slice({{0, 2}, {0, 1}, {0, 3, 2}, {1, 4, 3}});
            }),
            0);
  EXPECT_EQ(AllocationsOf([&] { return base.select(2, 1); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.permute({3, 1, 0, 2}); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.transpose(0, 3); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.squeeze(1); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.unsqueeze(4); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.reshape({6, 4}); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.view_as_dtype(DataType::kFloat32); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return base.item<std::int32_t>({1, 0, 2, 3}); }), 0);
  EXPECT_EQ(AllocationsOf(
                [&] { return Tensor::from_buffer(base.buffer(), 0, Shape{24}, DataType::kInt32); }),
            0);
  EXPECT_GT(AllocationsOf([&] { return Iota({2}); }), 0);  // the counter works
}

TEST(TensorHeapTest, ControlBlockThatCannotBeAllocatedIsOutOfMemory) {
  MallocAllocator allocator;
  {
    const ScopedHeapFailure failure;
    const core::StatusOr<Tensor> tensor =
        Tensor::empty({2, 3}, DataType::kFloat32, Device::Cpu(), &allocator);
    EXPECT_TRUE(failure.triggered());
    EXPECT_EQ(tensor.status().code(), core::kOutOfMemory);
  }
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_EQ(allocator.deletions, 1);
  ENGINE_EXPECT_OK(Tensor::empty({2, 3}, DataType::kFloat32, Device::Cpu(), &allocator));
  EXPECT_EQ(allocator.deletions, 2);
}

TEST(TensorHeapTest, DefaultAllocatorNeedsTheHeapForTheControlBlockOnly) {
  ENGINE_ASSERT_OK(Tensor::empty({1}, DataType::kInt8, Device::Cpu()));  // it is made on first use
  EXPECT_EQ(AllocationsOf([] { return Tensor::empty({64}, DataType::kInt8, Device::Cpu()); }), 1);
  const ScopedHeapFailure failure;
  const core::StatusOr<Tensor> tensor = Tensor::empty({64}, DataType::kInt8, Device::Cpu());
  EXPECT_EQ(tensor.status().code(), core::kOutOfMemory);
}

#ifdef __cpp_exceptions
// An error whose text cannot be allocated keeps its code. (Without exceptions this aborts.)
TEST(TensorHeapTest, ErrorsWithoutTextKeepTheirCode) {
  const Tensor base = Iota({2, 3});
  core::StatusCode slice = core::StatusCode::kOk;
  core::StatusCode reshape = core::StatusCode::kOk;
  core::StatusCode empty = core::StatusCode::kOk;
  {
    const ScopedHeapFailure failure;
    slice = base.slice(0, 0, 9).status().code();
    reshape = base.reshape({7}).status().code();
    empty = Tensor::empty({2}, DataType::kInt4, Device::Cpu()).status().code();
  }
  EXPECT_EQ(slice, core::StatusCode::kInvalidArgument);
  EXPECT_EQ(reshape, core::StatusCode::kInvalidArgument);
  EXPECT_EQ(empty, core::StatusCode::kUnimplemented);
}
#endif

}  // namespace
}  // namespace engine::tensor
