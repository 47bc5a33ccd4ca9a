// AllocateStorage: what Tensor::empty and ops::zeros stand on.
#include "tensor/storage.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "tensor/ops.h"
#include "tensor_test_support.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using ::testing::Each;
using enum StorageInitialization;

TEST(StorageTest, ZeroAsksTheAllocatorForZeros) {
  CountingAllocator allocator;
  const auto zero =
      AllocateStorage("test", {3, 5}, DataType::kFloat64, Device::Cpu(), &allocator, kZero);
  ENGINE_ASSERT_OK(zero);
  EXPECT_THAT(testing::BytesOf(**zero), Each(std::byte{0}));
  EXPECT_EQ((*zero)->size_bytes(), 120u);
  EXPECT_EQ(allocator.counts()->zeroed, 1);
  EXPECT_EQ(allocator.counts()->last_alignment, 64u);
  ENGINE_ASSERT_OK(
      AllocateStorage("test", {3}, DataType::kInt8, Device::Cpu(), &allocator, kUninitialized));
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->zeroed, 1);
}

TEST(StorageTest, ZerosOfOpsTakeTheSameWay) {
  CountingAllocator allocator;
  const Tensor tensor = Value(ops::zeros({4}, DataType::kInt32, Device::Cpu(), &allocator));
  EXPECT_THAT(testing::BitsOf(tensor), Each(0u));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->zeroed, 1);
  // From the default allocator, large enough for pages of its own.
  const Tensor large = Value(ops::zeros({1 << 20}, DataType::kFloat32));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % 64, 0u);
  EXPECT_THAT(testing::BytesOf(*large.buffer()), Each(std::byte{0}));
}

TEST(StorageTest, ErrorsNameTheCaller) {
  EXPECT_THAT(AllocateStorage("caller", {2}, DataType::kInt4, Device::Cpu(), nullptr, kZero),
              StatusIs(core::StatusCode::kUnimplemented, "caller: "));
  EXPECT_THAT(AllocateStorage("caller", {2}, DataType::kInt8, Device::Cuda(0), nullptr, kZero),
              StatusIs(core::StatusCode::kUnimplemented, "caller: no backend"));
  EXPECT_THAT(AllocateStorage("caller", {std::int64_t{1} << 61}, DataType::kFloat32, Device::Cpu(),
                              nullptr, kZero),
              StatusIs(core::StatusCode::kInvalidArgument, "caller: the bytes"));
  CountingAllocator none(/*successes=*/0);
  EXPECT_THAT(AllocateStorage("caller", {2}, DataType::kInt8, Device::Cpu(), &none, kZero),
              StatusIs(core::kOutOfMemory));
}

}  // namespace
}  // namespace engine::tensor
