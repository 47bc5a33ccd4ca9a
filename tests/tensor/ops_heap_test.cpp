// Factories, fills and comparison when operator new fails.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "ops_test_util.h"
#include "tensor/ops.h"
#include "testing/allocators.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

// An error's text comes from the heap; without exceptions a heap that fails there aborts.
#ifdef __cpp_exceptions

namespace engine::tensor::ops {
namespace {

using testing::MallocAllocator;
using testing::PoisonedTensor;
using enum DataType;
using enum absl::StatusCode;  // clang 14 takes no alias here

core::StatusCode CodeOf(const core::Status& status) { return status.code(); }
template <typename T>
core::StatusCode CodeOf(const core::StatusOr<T>& result) {
  return result.status().code();
}

// Runs the operation with its first, second, ... allocation failing until it needs no more: every
// run ends in `expected` or, when something failed, in kOutOfMemory; nothing throws, and the heap
// holds what it held before. Returns how many runs saw a failure.
template <typename Operation>
int FailEachAllocation(core::StatusCode expected, Operation operation) {
  EXPECT_EQ(CodeOf(operation()), expected);  // whatever is made on first use
  for (int successes = 0; successes < 20; ++successes) {
    core::StatusCode code = kInternal;
    bool triggered = false;
    bool threw = false;
    const testing::ScopedHeapMeter meter;
    try {
      const testing::ScopedHeapFailure failure(successes);
      code = CodeOf(operation());
      triggered = failure.triggered();
    } catch (...) {
      threw = true;
    }
    EXPECT_EQ(meter.live_bytes(), 0) << "after " << successes << " allocations";
    EXPECT_FALSE(threw) << "after " << successes << " allocations";
    if (threw) continue;
    if (!triggered) {
      EXPECT_EQ(code, expected);
      return successes;
    }
    if (expected == kOk) {
      EXPECT_EQ(code, core::kOutOfMemory) << "after " << successes << " allocations";
    } else {
      EXPECT_TRUE(code == expected || code == core::kOutOfMemory) << code;
    }
  }
  ADD_FAILURE() << "more allocations than any of these should make";
  return -1;
}

// As above for operations without storage of their own: an error is the right one though its text
// cannot be had.
template <typename Operation>
void ExpectErrorWithoutText(core::StatusCode expected, Operation operation) {
  core::StatusCode code = kOk;
  {
    const testing::ScopedHeapFailure failure;
    code = CodeOf(operation());
  }
  EXPECT_EQ(code, expected);
  EXPECT_GT(FailEachAllocation(expected, operation), 0);
}

TEST(FactoriesHeapTest, EveryFailingAllocation) {
  MallocAllocator allocator;
  const Device cpu = Device::Cpu();
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}}) {
    for (const DataType dtype : testing::StorableDTypes()) {
      EXPECT_GT(FailEachAllocation(kOk, [&] { return zeros(shape, dtype, cpu, &allocator); }), 0);
      EXPECT_GT(FailEachAllocation(kOk, [&] { return ones(shape, dtype, cpu, &allocator); }), 0);
      EXPECT_GT(FailEachAllocation(kOk, [&] { return full(shape, 1, dtype, cpu, &allocator); }), 0);
      EXPECT_GT(FailEachAllocation(kOk, [&] { return arange(0, 2, 1, dtype, cpu, &allocator); }),
                0);
    }
  }
  const std::vector<Scalar> unrepresentable = {
      300, -1e300, 0.1f, 0.1L, std::uint64_t{1} << 63, std::numeric_limits<double>::quiet_NaN()};
  for (const Scalar& value : unrepresentable) {
    EXPECT_GT(FailEachAllocation(kInvalidArgument,
                                 [&] {
                                   return full({2, 3}, value, kInt8, cpu, &allocator);
                                 }),
              0);
  }
  EXPECT_GT(allocator.allocations, 0);
  EXPECT_EQ(allocator.allocations, allocator.deletions);
}

TEST(FactoriesHeapTest, ErrorsBeforeTheStorage) {
  testing::CountingAllocator allocator;
  const Device cpu = Device::Cpu();
  const auto refuse = [](core::StatusCode expected, auto operation) {
    ExpectErrorWithoutText(expected, operation);
  };
  refuse(kInvalidArgument, [&] { return arange(0, 300, 1, kInt8, cpu, &allocator); });
  refuse(kInvalidArgument, [&] { return arange(-1, 3, 1, kUInt64, cpu, &allocator); });
  refuse(kInvalidArgument, [&] { return arange(0, 3, 0, kInt8, cpu, &allocator); });
  refuse(kInvalidArgument, [&] {
    constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
    return arange(1, kMin, -1, kInt64, cpu, &allocator);
  });
  refuse(kInvalidArgument,
         [&] { return zeros({std::int64_t{1} << 61}, kFloat64, cpu, &allocator); });
  for (const DataType dtype : {kInt4, kFP8E4M3}) {
    refuse(kUnimplemented, [&] { return zeros({2}, dtype, cpu, &allocator); });
    refuse(kUnimplemented, [&] { return ones({2}, dtype, cpu, &allocator); });
    refuse(kUnimplemented, [&] { return full({2}, 0.5, dtype, cpu, &allocator); });
    refuse(kUnimplemented, [&] { return arange(0, 300, 1, dtype, cpu, &allocator); });
  }
  const Device cuda = Device::Cuda(0);
  refuse(kUnimplemented, [&] { return zeros({2}, kInt8, cuda); });
  refuse(kUnimplemented, [&] { return ones({2}, kInt8, cuda); });
  refuse(kUnimplemented, [&] { return full({2}, 300, kInt8, cuda); });
  refuse(kUnimplemented, [&] { return arange(0, 300, 1, kInt8, cuda); });
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

TEST(FactoriesHeapTest, StorageThatCannotBeAllocated) {
  testing::CountingAllocator failing(0);
  const Device cpu = Device::Cpu();
  EXPECT_EQ(
      FailEachAllocation(core::kOutOfMemory, [&] { return full({2}, 300, kInt8, cpu, &failing); }),
      0);
  EXPECT_EQ(
      FailEachAllocation(core::kOutOfMemory, [&] { return arange(0, 3, 1, kInt8, cpu, &failing); }),
      0);
}

// Writing and comparing elements needs no heap at all.
TEST(FillHeapTest, SuccessAllocatesNothing) {
  for (const DataType dtype : testing::StorableDTypes()) {
    const Tensor strided = *PoisonedTensor({3, 4}, dtype).transpose(0, 1);
    EXPECT_EQ(FailEachAllocation(kOk, [&] { return fill(strided, 1); }), 0);
    const Tensor ones = *ops::ones({4, 3}, dtype);
    EXPECT_EQ(FailEachAllocation(kOk, [&] { return allclose(strided, ones); }), 0);
    const Tensor zeros = *ops::zeros({4, 3}, dtype);
    EXPECT_EQ(FailEachAllocation(kOk, [&] { return allclose(zeros, ones); }), 0);
    if (!is_floating_point(dtype)) continue;
    EXPECT_EQ(FailEachAllocation(kOk, [&] { return fill_uniform(strided, 1); }), 0);
    EXPECT_EQ(FailEachAllocation(kOk, [&] { return fill_normal(strided, 1); }), 0);
  }
}

TEST(FillHeapTest, ErrorsKeepTheirCodeAndTheElements) {
  const Tensor bytes = PoisonedTensor({2, 3}, kInt8);
  const Tensor floats = PoisonedTensor({2, 3}, kFloat32);
  const Tensor constant = testing::ReadOnlyView(floats);
  const std::vector<std::uint64_t> bytes_before = testing::BitsOf(bytes);
  const std::vector<std::uint64_t> floats_before = testing::BitsOf(floats);
  const auto refuse = [](auto operation) { ExpectErrorWithoutText(kInvalidArgument, operation); };
  refuse([&] { return fill(bytes, 300); });
  refuse([&] { return fill(bytes, 0.1); });
  refuse([&] { return fill(bytes, std::numeric_limits<float>::quiet_NaN()); });
  refuse([&] { return fill(constant, 1); });
  refuse([&] { return fill_uniform(bytes, 1); });
  refuse([&] { return fill_uniform(floats, 1, 1, 0); });
  refuse([&] { return fill_uniform(constant, 1); });
  refuse([&] { return fill_normal(bytes, 1); });
  refuse([&] { return fill_normal(floats, 1, 0, -1); });
  refuse([&] { return fill_normal(constant, 1); });
  EXPECT_EQ(testing::BitsOf(bytes), bytes_before);
  EXPECT_EQ(testing::BitsOf(floats), floats_before);
}

TEST(AllCloseHeapTest, ErrorsKeepTheirCode) {
  const Tensor floats = PoisonedTensor({2, 3}, kFloat32);
  const Tensor turned = PoisonedTensor({3, 2}, kFloat32);
  const Tensor bytes = PoisonedTensor({2, 3}, kInt8);
  const auto refuse = [](auto operation) { ExpectErrorWithoutText(kInvalidArgument, operation); };
  refuse([&] { return allclose(floats, turned); });
  refuse([&] { return allclose(floats, bytes); });
  refuse([&] { return allclose(floats, floats, {.rtol = -1, .atol = 0}); });
}

}  // namespace
}  // namespace engine::tensor::ops

#endif  // __cpp_exceptions
