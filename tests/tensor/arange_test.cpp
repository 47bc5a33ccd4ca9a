#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "ops_test_util.h"
#include "tensor/ops.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"

namespace engine::tensor::ops {
namespace {

using testing::BitsOf;
using ::testing::ElementsAre;
using testing::StatusIs;
using testing::ValuesOf;
using enum DataType;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> Int64s(core::StatusOr<Tensor> tensor) {
  ENGINE_EXPECT_OK(tensor);
  if (!tensor.ok()) return {-1};
  EXPECT_EQ(tensor->dtype(), kInt64);
  EXPECT_EQ(tensor->shape().rank(), 1);
  return ValuesOf<std::int64_t>(*tensor);
}

// arange: start + i * step in int64_t, without `end`.
TEST(ArangeTest, StartStepAndDefaults) {
  EXPECT_THAT(Int64s(arange(0, 5)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Int64s(arange(-3, 8, 4)), ElementsAre(-3, 1, 5));
  EXPECT_THAT(Int64s(arange(-3, 9, 4)), ElementsAre(-3, 1, 5));
  EXPECT_THAT(Int64s(arange(-3, 10, 4)), ElementsAre(-3, 1, 5, 9));
  EXPECT_THAT(Int64s(arange(5, -1, -2)), ElementsAre(5, 3, 1));
  EXPECT_THAT(Int64s(arange(5, -2, -2)), ElementsAre(5, 3, 1, -1));
}

TEST(ArangeTest, EveryDType) {
  for (const DataType dtype : testing::StorableDTypes()) {
    const std::int64_t end = dtype == kBool ? 2 : 100;
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, arange(0, end, 1, dtype));
    EXPECT_EQ(tensor.dtype(), dtype);
    const std::vector<std::uint64_t> bits = BitsOf(tensor);
    ASSERT_EQ(static_cast<std::int64_t>(bits.size()), end);
    for (std::int64_t i = 0; i < end; ++i) {
      EXPECT_EQ(bits[static_cast<std::size_t>(i)], testing::BitsOfInteger(i, dtype));
    }
  }
}

// P53: end - start + step - 1 would overflow; a step beyond the span gives one element.
TEST(ArangeTest, StepFarLargerThanTheSpan) {
  EXPECT_THAT(Int64s(arange(0, 137, 9223372036854775672)), ElementsAre(0));
  EXPECT_THAT(Int64s(arange(0, 1, 5)), ElementsAre(0));
  EXPECT_THAT(Int64s(arange(0, kMax, kMax - 1)), ElementsAre(0, kMax - 1));
}

// P54: spans and counts around 2^63.
TEST(ArangeTest, ExtremeSpans) {
  EXPECT_THAT(arange(0, kMin, -1), StatusIs(kInvalid, "9223372036854775808 elements"));
  EXPECT_THAT(Int64s(arange(0, kMin, kMin)), ElementsAre(0));
  EXPECT_THAT(Int64s(arange(0, kMin, kMin + 1)), ElementsAre(0, kMin + 1));
  EXPECT_THAT(Int64s(arange(-1, kMin, kMin / 2)), ElementsAre(-1, kMin / 2 - 1));
  EXPECT_THAT(Int64s(arange(kMin, -1, kMax)), ElementsAre(kMin));
  EXPECT_THAT(Int64s(arange(kMin, 0 - 1, kMax / 2)),
              ElementsAre(kMin, kMin + kMax / 2, kMin + 2 * (kMax / 2)));
  EXPECT_THAT(arange(kMin, kMax, 1), StatusIs(kInvalid, "overflows int64_t"));
  EXPECT_THAT(arange(kMax, kMin, -1), StatusIs(kInvalid, "overflows int64_t"));
  EXPECT_THAT(arange(0, kMax, 1, kInt64), ::testing::Not(testing::IsOk()));  // 2^66 bytes
}

// P55: element i is start + i * step rounded once; a running sum in the dtype would stall.
TEST(ArangeTest, NoRunningSumInFloatingDTypes) {
  EXPECT_THAT(ValuesOf<float>(*arange(16777215, 16777222, 1, kFloat32)),
              ElementsAre(16777215.f, 16777216.f, 16777216.f, 16777218.f, 16777220.f, 16777220.f,
                          16777220.f));
  std::vector<float> values;
  for (const std::uint64_t bits : BitsOf(*arange(254, 264, 1, kBFloat16))) {
    values.push_back(bfloat16::from_bits(static_cast<std::uint16_t>(bits)));
  }
  EXPECT_THAT(values, ElementsAre(254, 255, 256, 256, 258, 260, 260, 260, 262, 264));
}

// P56: the elements must fit, the end need not.
TEST(ArangeTest, TheEndItselfNeedNotFit) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor bytes, arange(0, 256, 1, kUInt8));
  EXPECT_EQ(bytes.numel(), 256);
  EXPECT_EQ(bytes.item<std::uint8_t>({255}), 255);
  EXPECT_THAT(arange(0, 257, 1, kUInt8),
              StatusIs(kInvalid, "arange: value 256 is not representable in uint8 (shape [257])"));
  EXPECT_THAT(ValuesOf<std::int8_t>(*arange(0, 200, 100, kInt8)), ElementsAre(0, 100));
  EXPECT_THAT(ValuesOf<std::int8_t>(*arange(127, -129, -255, kInt8)), ElementsAre(127, -128));
  EXPECT_THAT(arange(-1, 3, 1, kUInt64), StatusIs(kInvalid, "-1 is not representable in uint64"));
  EXPECT_THAT(BitsOf(*arange(65500, 65540, 10, kFloat16)),
              ElementsAre(0x7BFF, 0x7BFF, 0x7C00, 0x7C00));
}

// Into bool only 0 and 1.
TEST(ArangeTest, Bool) {
  EXPECT_THAT(BitsOf(*arange(0, 2, 1, kBool)), ElementsAre(0, 1));
  EXPECT_THAT(BitsOf(*arange(1, -1, -1, kBool)), ElementsAre(1, 0));
  EXPECT_THAT(BitsOf(*arange(1, 9, 8, kBool)), ElementsAre(1));
  EXPECT_THAT(arange(0, 3, 1, kBool), StatusIs(kInvalid, "2 is not representable in bool"));
  EXPECT_THAT(arange(-1, 1, 1, kBool), StatusIs(kInvalid));
}

// P57: nothing to produce is shape [0]; step 0 is an error, not a division.
TEST(ArangeTest, EmptyAndZeroStep) {
  EXPECT_THAT(arange(0, 5, 0), StatusIs(kInvalid, "step is 0"));
  EXPECT_THAT(arange(5, 5, 0), StatusIs(kInvalid, "step is 0"));
  for (const core::StatusOr<Tensor>& tensor :
       {arange(5, 5, 1), arange(5, 0, 1), arange(0, 5, -1), arange(5, 5, -1)}) {
    ENGINE_ASSERT_OK(tensor);
    EXPECT_EQ(tensor->shape(), Shape{0});
  }
  // P45: over null storage, in every dtype.
  for (const DataType dtype : testing::StorableDTypes()) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, arange(0, 0, 1, dtype));
    EXPECT_EQ(tensor.data(), nullptr);
  }
  EXPECT_EQ(arange(300, 300, 1, kInt8)->numel(), 0);
}

TEST(ArangeTest, ErrorsOfAllocation) {
  EXPECT_THAT(arange(0, 300, 1, kInt4), StatusIs(core::StatusCode::kUnimplemented));
  EXPECT_THAT(arange(0, 3, 1, kFP8E4M3), StatusIs(core::StatusCode::kUnimplemented));
  EXPECT_THAT(arange(0, 300, 1, kInt8, Device::Cuda(0)),
              StatusIs(core::StatusCode::kUnimplemented));
  testing::CountingAllocator failing(0);
  EXPECT_THAT(arange(0, 3, 1, kInt8, Device::Cpu(), &failing), StatusIs(core::kOutOfMemory));
  testing::CountingAllocator allocator;
  // The elements are judged first: nothing is allocated for what cannot be filled.
  EXPECT_THAT(arange(0, 300, 1, kInt8, Device::Cpu(), &allocator), StatusIs(kInvalid));
  EXPECT_THAT(arange(0, 300, 1, kInt8, Device::Cpu(), &failing), StatusIs(kInvalid));
  EXPECT_THAT(arange(0, std::int64_t{1} << 62, 1, kInt32), StatusIs(kInvalid, "arange: value"));
  EXPECT_EQ(allocator.counts()->allocations, 0);
  ENGINE_EXPECT_OK(arange(0, 3, 1, kInt8, Device::Cpu(), &allocator));
  EXPECT_EQ(allocator.counts()->allocations, allocator.counts()->deletions);
}

TEST(ArangeTest, IndependentOfTheHostsFloatingPointMode) {
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    core::StatusOr<Tensor> tensor = core::InvalidArgumentError("not run");
    const std::uint64_t after = testing::ControlAfter(
        mode.control, [&] { tensor = arange(16777215, 16777222, 1, kFloat32); });
    EXPECT_EQ(after, mode.control) << mode.name;
    EXPECT_THAT(ValuesOf<float>(*tensor),
                ElementsAre(16777215.f, 16777216.f, 16777216.f, 16777218.f, 16777220.f, 16777220.f,
                            16777220.f));
  }
}

}  // namespace
}  // namespace engine::tensor::ops
