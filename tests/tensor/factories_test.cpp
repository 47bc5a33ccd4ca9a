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
using testing::BitsOfInteger;
using testing::CountingAllocator;
using testing::StatusIs;
using testing::StorableDTypes;
using enum DataType;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = core::StatusCode::kUnimplemented;

void ExpectEveryElement(const Tensor& tensor, const Shape& shape, DataType dtype,
                        std::uint64_t bits) {
  EXPECT_EQ(tensor.shape(), shape);
  EXPECT_EQ(tensor.dtype(), dtype);
  EXPECT_EQ(tensor.device(), Device::Cpu());
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_THAT(BitsOf(tensor), ::testing::Each(bits)) << to_string(dtype);
}

// Factories: fresh contiguous storage with the value in every element. The allocator poisons what
// it hands out, so that an element left out shows.
TEST(FactoriesTest, ZerosAndOnesOfEveryDType) {
  for (const DataType dtype : StorableDTypes()) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 5}, Shape{2, 1, 130}, Shape{65}}) {
      CountingAllocator allocator;
      ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor zero,
                                  zeros(shape, dtype, Device::Cpu(), &allocator));
      ExpectEveryElement(zero, shape, dtype, 0);
      ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor one, ones(shape, dtype, Device::Cpu(), &allocator));
      ExpectEveryElement(one, shape, dtype, BitsOfInteger(1, dtype));
      EXPECT_EQ(allocator.counts()->allocations, 2);
    }
  }
}

// Counts around the block in which contiguous elements are written.
TEST(FactoriesTest, FullOfEveryDTypeAndCount) {
  for (const DataType dtype : StorableDTypes()) {
    const int value = dtype == kBool ? 1 : 113;
    for (std::int64_t count = 0; count <= 135; ++count) {
      CountingAllocator allocator;
      ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor,
                                  full({count}, value, dtype, Device::Cpu(), &allocator));
      ExpectEveryElement(tensor, {count}, dtype, BitsOfInteger(value, dtype));
    }
  }
}

TEST(FactoriesTest, FullTakesAnyArithmeticValue) {
  const auto bits_of = [](core::StatusOr<Tensor> tensor) { return BitsOf(*tensor).front(); };
  EXPECT_EQ(bits_of(full({1}, std::numeric_limits<std::uint64_t>::max(), kUInt64)),
            0xFFFFFFFFFFFFFFFFu);
  EXPECT_EQ(bits_of(full({1}, std::numeric_limits<std::int64_t>::min(), kInt64)),
            0x8000000000000000u);
  EXPECT_EQ(bits_of(full({1}, true, kFloat16)), 0x3C00u);
  EXPECT_EQ(bits_of(full({1}, float16(0.5f), kFloat64)), 0x3FE0000000000000u);
  // Through double: 2^53 + 1 ties to 2^53.
  EXPECT_EQ(bits_of(full({1}, std::int64_t{9007199254740993}, kFloat64)), 0x4340000000000000u);
}

// P13: the value narrows in two steps. P16: the bounds of int64.
TEST(FactoriesTest, FullConvertsAsCast) {
  EXPECT_EQ(BitsOf(*full({1}, 1.00048828125000022204, kFloat16)).front(), 0x3C00u);
  EXPECT_EQ(BitsOf(*full({1}, 65519.999999999993, kFloat16)).front(), 0x7C00u);
  EXPECT_THAT(full({1}, 9223372036854775807.0, kInt64), StatusIs(kInvalid));
  EXPECT_EQ(BitsOf(*full({1}, -9223372036854775808.0, kInt64)).front(), 0x8000000000000000u);
}

// P22: a value that the dtype cannot represent.
TEST(FactoriesTest, FullRefusesWhatTheDTypeCannotRepresent) {
  EXPECT_THAT(full({2}, 3.14, kInt32),
              StatusIs(kInvalid, "full: value 3.14 is not representable in int32 (shape [2])"));
  EXPECT_THAT(full({2, 3}, 300, kInt8),
              StatusIs(kInvalid, "full: value 300 is not representable in int8 (shape [2, 3])"));
  EXPECT_THAT(full({2}, std::numeric_limits<std::uint64_t>::max(), kInt64),
              StatusIs(kInvalid, "18446744073709551615"));
  EXPECT_THAT(full({2}, -1, kUInt8), StatusIs(kInvalid));
  EXPECT_THAT(full({2}, std::numeric_limits<double>::quiet_NaN(), kInt64), StatusIs(kInvalid));
  EXPECT_THAT(full({2}, 2, kBool), StatusIs(kInvalid));
  EXPECT_THAT(full({0}, 2, kBool), StatusIs(kInvalid));
  EXPECT_THAT(BitsOf(*full({2}, 1.0, kBool)), ::testing::Each(1u));
  EXPECT_THAT(BitsOf(*full({2}, -0.0, kInt32)), ::testing::Each(0u));
  EXPECT_THAT(BitsOf(*full({2}, 1e6, kFloat16)), ::testing::Each(0x7C00u));
}

// The value is judged after the allocation: reserved dtypes and devices come first.
TEST(FactoriesTest, ErrorsOfAllocationWin) {
  EXPECT_THAT(full({2}, 1e9, kInt4), StatusIs(kUnimplemented));
  EXPECT_THAT(full({2}, std::numeric_limits<double>::quiet_NaN(), kFP8E4M3),
              StatusIs(kUnimplemented));
  EXPECT_THAT(zeros({2}, kInt4), StatusIs(kUnimplemented));
  EXPECT_THAT(ones({2}, kFP8E4M3), StatusIs(kUnimplemented));
  EXPECT_THAT(full({2}, 300, kInt8, Device::Cuda(0)), StatusIs(kUnimplemented));
  EXPECT_THAT(zeros({2}, kInt8, Device::Cuda(1)), StatusIs(kUnimplemented));
  EXPECT_THAT(ones({2}, kInt8, Device::Cuda(1)), StatusIs(kUnimplemented));

  CountingAllocator failing(0);
  EXPECT_THAT(full({2}, 300, kInt8, Device::Cpu(), &failing), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(zeros({2}, kInt8, Device::Cpu(), &failing), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(zeros({std::int64_t{1} << 61}, kFloat32), StatusIs(kInvalid));
}

TEST(FactoriesTest, AllocatedOnceAndReleasedWhenTheValueIsRefused) {
  CountingAllocator allocator;
  EXPECT_THAT(full({2}, 300, kInt8, Device::Cpu(), &allocator), StatusIs(kInvalid));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

// P45: storage of zero bytes is null, and no memset or memcpy sees it (the undefined-behaviour
// sanitizer reports a null argument even for length 0).
TEST(FactoriesTest, EmptyTensors) {
  for (const DataType dtype : StorableDTypes()) {
    for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 4, 2}}) {
      ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor zero, zeros(shape, dtype));
      EXPECT_EQ(zero.shape(), shape);
      EXPECT_EQ(zero.data(), nullptr);
      ENGINE_EXPECT_OK(ones(shape, dtype));
      ENGINE_EXPECT_OK(full(shape, 1, dtype));
    }
  }
}

// The host's floating-point mode changes no value and stays set.
TEST(FactoriesTest, FullIsIndependentOfTheHostsFloatingPointMode) {
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    core::StatusOr<Tensor> subnormal = core::InvalidArgumentError("not run");
    core::StatusOr<Tensor> rounded = subnormal;
    core::StatusOr<Tensor> fraction = subnormal;
    const std::uint64_t after = testing::ControlAfter(mode.control, [&] {
      subnormal = full({3}, 1e-40f, kFloat32);
      rounded = full({3}, 0.1, kFloat32);
      fraction = full({3}, 1e-310, kInt8);
    });
    EXPECT_EQ(after, mode.control) << mode.name;
    EXPECT_THAT(BitsOf(*subnormal), ::testing::Each(0x000116C2u)) << mode.name;
    EXPECT_THAT(BitsOf(*rounded), ::testing::Each(0x3DCCCCCDu)) << mode.name;
    EXPECT_THAT(fraction, StatusIs(kInvalid)) << mode.name;
  }
}

}  // namespace
}  // namespace engine::tensor::ops
