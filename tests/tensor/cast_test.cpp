#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "testing/allocators.h"
#include "testing/fp_mode.h"
#include "testing/guarded_memory.h"
#include "testing/reference.h"
#include "testing/samples.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

using enum DataType;
using core::StatusCode;
using ::testing::AllOf;
using testing::BitsOf;
using testing::BorrowStorage;
using testing::Counting;
using testing::CountingAllocator;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeStorage;
using testing::StatusIs;
using testing::TensorOf;
using testing::TensorOfBits;
using testing::ValuesOf;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Shape ShapeOf(std::size_t count) { return *Shape::FromDims({static_cast<std::int64_t>(count)}); }

// The bits that cast makes of these, as a rank 1 tensor.
std::vector<std::uint64_t> CastBits(DataType dst, DataType src,
                                    const std::vector<std::uint64_t>& bits) {
  const auto result = ops::cast(TensorOfBits(ShapeOf(bits.size()), src, bits), dst);
  ENGINE_EXPECT_OK(result);
  return result.ok() ? BitsOf(*result) : std::vector<std::uint64_t>();
}

// Casting this value alone; the message on failure.
core::Status CastOne(DataType dst, DataType src, std::uint64_t bits) {
  return ops::cast(TensorOfBits({}, src, {bits}), dst).status();
}

std::uint64_t FloatBits(float value) { return std::bit_cast<std::uint32_t>(value); }

// Every pair of castable dtypes through the public operation; strided/copy_plan_test.cpp has the
// failing values one by one.
class CastPairTest : public ::testing::TestWithParam<DataType> {};

TEST_P(CastPairTest, EqualsTheReference) {
  const DataType src = GetParam();
  for (const DataType dst : testing::kCastableDTypes) {
    std::vector<std::uint64_t> bits;
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t sample : testing::SampleBits(src)) {
      const auto converted = testing::reference::ConvertBits(dst, src, sample);
      if (!converted.has_value()) continue;
      bits.push_back(sample);
      expected.push_back(*converted);
    }
    ASSERT_FALSE(bits.empty());
    const Tensor source = TensorOfBits(ShapeOf(bits.size()), src, bits);
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(source, dst));
    EXPECT_EQ(result.dtype(), dst);
    EXPECT_NE(result.data(), source.data());
    EXPECT_TRUE(BitsOf(result) == expected) << to_string(src) << " to " << to_string(dst);
    EXPECT_TRUE(BitsOf(source) == bits) << "the source has changed";
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, CastPairTest, ::testing::ValuesIn(testing::kCastableDTypes),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// To floating dtypes: through double, then float, then half.

// P04: a signalling NaN is quieted in transit and keeps the payload that fits.
TEST(CastToFloatingTest, SignallingNanIsQuieted) {
  EXPECT_THAT(CastBits(kFloat16, kFloat32, {0x7F802000, 0x7F810000}), ElementsAre(0x7E01, 0x7E08));
  EXPECT_THAT(CastBits(kBFloat16, kFloat32, {0x7F802000, 0x7F810000}), ElementsAre(0x7FC0, 0x7FC1));
  EXPECT_THAT(CastBits(kFloat32, kFloat16, {0x7C01, 0xFD00}), ElementsAre(0x7FC02000, 0xFFE00000));
}

// P13: the mandated double rounding of double to float16.
TEST(CastToFloatingTest, DoubleToHalfRoundsTwice) {
  EXPECT_THAT(CastBits(kFloat16, kFloat64,
                       {std::bit_cast<std::uint64_t>(1.00048828125000022204),
                        std::bit_cast<std::uint64_t>(65519.999999999993)}),
              ElementsAre(0x3C00, 0x7C00));
}

// P20: int64 reaches float through double.
TEST(CastToFloatingTest, Int64ToFloatRoundsTwice) {
  EXPECT_THAT(CastBits(kFloat32, kInt64, {0x7FFFFF4000000001, 0x358A09A000000002}),
              ElementsAre(0x5EFFFFFE, 0x5E562826));
}

// P21: int32 reaches bfloat16 through float.
TEST(CastToFloatingTest, Int32ToBrainFloatRoundsTwice) {
  EXPECT_THAT(CastBits(kBFloat16, kInt32, {33685505}), ElementsAre(0x4C00));
}

// P24: negative halves, in a length that a packed path takes.
TEST(CastToFloatingTest, NegativeHalvesKeepTheirSign) {
  std::vector<std::uint64_t> bits;
  std::vector<std::uint64_t> expected;
  for (int i = 0; i < 4; ++i) {
    bits.insert(bits.end(), {0x8000, 0xBC00, 0xFBFF, 0xFC00});
    expected.insert(expected.end(),
                    {FloatBits(-0.0f), FloatBits(-1.0f), FloatBits(-65504.0f), FloatBits(-kInf)});
  }
  EXPECT_EQ(CastBits(kFloat32, kFloat16, bits), expected);
}

TEST(CastToFloatingTest, OutOfRangeBecomesInfinity) {
  EXPECT_THAT(CastBits(kFloat16, kFloat32, {FloatBits(1e6f), FloatBits(-1e6f)}),
              ElementsAre(0x7C00, 0xFC00));
  EXPECT_THAT(CastBits(kFloat16, kInt32, {65520, 65519}), ElementsAre(0x7C00, 0x7BFF));
  EXPECT_THAT(CastBits(kFloat32, kFloat64, {std::bit_cast<std::uint64_t>(1e300)}),
              ElementsAre(0x7F800000));
}

// P12: the same with subnormals flushed, or another rounding, set by the host; its mode and sticky
// flags come back, also from a cast that fails.
TEST(CastFpModeTest, NeitherResultsNorTheModeChange) {
  const Tensor brain_source =
      TensorOfBits({4}, kFloat32, {0x00400000, 0x00018000, 0x80008001, 0x3E89CCD5});
  const Tensor bad_source = TensorOf<float>({2}, {1.5f, kNaN});
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    SCOPED_TRACE(mode.name);
    core::StatusOr<Tensor> brain;
    core::Status bad;
    std::uint64_t flags_before = 0;
    std::uint64_t flags_after = 0;
    std::uint64_t control = 0;
    {
      const testing::ScopedFpControl host(mode.control);
      flags_before = testing::ReadFpFlags();
      brain = ops::cast(brain_source, kBFloat16);
      bad = ops::cast(bad_source, kInt32).status();
      flags_after = testing::ReadFpFlags();
      control = testing::ReadFpControl();
    }
    ENGINE_ASSERT_OK(brain);
    EXPECT_THAT(BitsOf(*brain), ElementsAre(0x0040, 0x0002, 0x8001, 0x3E8A));
    EXPECT_THAT(bad, StatusIs(StatusCode::kInvalidArgument, "nan at [1] (element 1)"));
    EXPECT_EQ(control, mode.control);
    EXPECT_EQ(flags_after, flags_before);
  }
}

// To integer dtypes: truncate, then the range.

// P15: the largest float below 2^31 fits, 2^31 does not.
TEST(CastToIntegerTest, Int32Bounds) {
  EXPECT_THAT(CastOne(kInt32, kFloat32, 0x4F000000),
              StatusIs(StatusCode::kInvalidArgument, "2147483648"));
  EXPECT_THAT(CastOne(kInt32, kFloat32, 0xCF000001), StatusIs(StatusCode::kInvalidArgument));
  const Tensor source = TensorOfBits({2}, kFloat32, {0x4EFFFFFF, 0xCF000000});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(source, kInt32));
  EXPECT_THAT(ValuesOf<std::int32_t>(result),
              ElementsAre(2147483520, std::numeric_limits<std::int32_t>::min()));
}

// P16: likewise at 2^63.
TEST(CastToIntegerTest, Int64Bounds) {
  EXPECT_THAT(CastOne(kInt64, kFloat32, 0x5F000000), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(CastOne(kInt64, kFloat64, 0x43E0000000000000),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(CastOne(kInt64, kFloat64, 0xC3E0000000000001),
              StatusIs(StatusCode::kInvalidArgument));
  const Tensor source = TensorOfBits({2}, kFloat32, {0x5EFFFFFF, 0xDF000000});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(source, kInt64));
  EXPECT_THAT(ValuesOf<std::int64_t>(result),
              ElementsAre(9223371487098961920, std::numeric_limits<std::int64_t>::min()));
}

// P17: the value is truncated before the range is tested.
TEST(CastToIntegerTest, TruncatesBeforeTestingTheRange) {
  const Tensor to_unsigned = TensorOf<float>({3}, {-0.99999994f, -0.0f, 255.99998f});
  ENGINE_ASSERT_OK_AND_ASSIGN(Tensor result, ops::cast(to_unsigned, kUInt8));
  EXPECT_THAT(ValuesOf<std::uint8_t>(result), ElementsAre(0, 0, 255));
  const Tensor to_signed = TensorOf<float>({4}, {-128.99998f, 127.99999f, -1.9f, 1.9f});
  ENGINE_ASSERT_OK_AND_ASSIGN(result, ops::cast(to_signed, kInt8));
  EXPECT_THAT(ValuesOf<std::int8_t>(result), ElementsAre(-128, 127, -1, 1));
  for (const float value : {-1.0f, 256.0f}) {
    EXPECT_THAT(CastOne(kUInt8, kFloat32, FloatBits(value)),
                StatusIs(StatusCode::kInvalidArgument));
  }
  for (const float value : {-129.0f, 128.0f}) {
    EXPECT_THAT(CastOne(kInt8, kFloat32, FloatBits(value)), StatusIs(StatusCode::kInvalidArgument));
  }
}

// P18: the first offender in row-major order of the view is named, not the first in memory.
TEST(CastToIntegerTest, NamesTheFirstOffenderOfAView) {
  const Tensor whole = TensorOf<float>({2, 5}, {9, 1, 2, kInf, 9, 9, kNaN, 4, 5, 9});
  const Tensor view = *whole.slice(1, 1, 4);
  EXPECT_THAT(ops::cast(view, kInt32),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("inf"), HasSubstr("[0, 2] (element 2)"),
                             HasSubstr("float32"), HasSubstr("int32"))));
  // Transposed, the NaN comes first.
  EXPECT_THAT(ops::cast(*view.transpose(0, 1), kInt32),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("nan"), HasSubstr("[0, 1] (element 1)"))));
  // Neither is in this one.
  ENGINE_EXPECT_OK(ops::cast(*view.slice(1, 1, 2), kInt32));
}

// P19: integers are narrowed with the same care.
TEST(CastToIntegerTest, NarrowingIntegersIsChecked) {
  EXPECT_THAT(
      CastOne(kInt32, kInt64, 2147483648),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("2147483648 at [] (element 0)"),
                                                   HasSubstr("int64"), HasSubstr("int32"))));
  EXPECT_THAT(CastOne(kUInt8, kInt32, 0xFFFFFFFF), StatusIs(StatusCode::kInvalidArgument, "-1 at"));
  EXPECT_THAT(CastOne(kInt8, kUInt8, 128), StatusIs(StatusCode::kInvalidArgument, "128 at"));
  EXPECT_THAT(CastOne(kInt8, kInt64, static_cast<std::uint64_t>(-129)),
              StatusIs(StatusCode::kInvalidArgument, "-129 at"));
  EXPECT_THAT(CastBits(kUInt8, kInt64, {255}), ElementsAre(255));
}

// The result is always fresh, contiguous and row-major.

TEST(CastResultTest, ALayoutBecomesRowMajor) {
  const Tensor src = *Counting({2, 3, 4}, kInt32).permute({2, 0, 1});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(src, kFloat64));
  EXPECT_EQ(result.shape(), Shape({4, 2, 3}));
  EXPECT_EQ(result.strides(), RowMajorStrides(result.shape()));
  EXPECT_EQ(result.byte_offset(), 0u);
  EXPECT_EQ(result.item<double>({3, 1, 2}), 1 * 12 + 2 * 4 + 3);
  EXPECT_EQ(result.item<double>({0, 1, 0}), 12);
}

// P29.
TEST(CastResultTest, RankEight) {
  const Tensor src = Counting({2, 1, 3, 1, 2, 1, 2, 3}, kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(src, kFloat32));
  for (std::int64_t i = 0; i < 72; ++i) {
    EXPECT_EQ(result.data_ptr<float>()[i], static_cast<float>(i));
  }
}

// P41.
TEST(CastResultTest, AxesOfExtentOneStillHoldAnElement) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result,
                              ops::cast(TensorOf<float>({1, 1, 1}, {7.5f}), kInt8));
  EXPECT_EQ(result.item<std::int8_t>({0, 0, 0}), 7);
  const Tensor corner = *(*Counting({4, 4}, kInt32).slice(0, 2, 3)).slice(1, 3, 4);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor one, ops::cast(corner, kFloat16));
  EXPECT_EQ(one.item<float16>({0, 0}).to_bits(), 0x4980);  // 11
}

TEST(CastResultTest, TheSameDTypeIsADeepCopyOfTheBits) {
  const std::vector<std::uint64_t> bits = {0x7F800001, 0x80000000, 0xFFC00001, 0x00000001};
  const Tensor src = TensorOfBits({2, 2}, kFloat32, bits);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(src, kFloat32));
  EXPECT_EQ(BitsOf(result), bits);
  EXPECT_NE(result.buffer(), src.buffer());
  testing::SetBits(src, {0, 0, 0, 0});
  EXPECT_EQ(BitsOf(result), bits);
  const Tensor view = *TensorOfBits({2, 2}, kFloat32, bits).transpose(0, 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor transposed, ops::cast(view, kFloat32));
  EXPECT_TRUE(transposed.is_contiguous());
  EXPECT_THAT(BitsOf(transposed), ElementsAre(bits[0], bits[2], bits[1], bits[3]));
}

// P45: no element.
TEST(CastResultTest, EmptyTensorsKeepTheirShape) {
  const Tensor src = *Tensor::empty({3, 0, 2}, kFloat32, Device::Cpu());
  for (const DataType dtype : {kFloat32, kInt8, kFloat64}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(src, dtype));
    EXPECT_EQ(result.shape(), Shape({3, 0, 2}));
    EXPECT_EQ(result.dtype(), dtype);
    EXPECT_TRUE(result.defined());
  }
}

// P75: a source address that is no multiple of the item size.
TEST(CastResultTest, MisalignedSource) {
  const auto storage = MakeStorage(13);
  const Tensor odd = *Tensor::from_buffer(storage, 1, {3}, kFloat32);
  testing::SetBits(odd, {FloatBits(1.5f), FloatBits(-2.0f), FloatBits(3.25f)});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor doubles, ops::cast(odd, kFloat64));
  EXPECT_THAT(ValuesOf<double>(doubles), ElementsAre(1.5, -2.0, 3.25));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor copied, ops::cast(odd, kFloat32));
  EXPECT_THAT(ValuesOf<float>(copied), ElementsAre(1.5f, -2.0f, 3.25f));
}

// A source whose strides are smaller than its extents reads elements more than once.
TEST(CastResultTest, OverlappingSource) {
  const auto storage = MakeStorage(6);
  const Tensor windows = *Tensor::from_strided_buffer(storage, 0, {4, 3}, {1, 1}, kInt8);
  testing::SetBits(*Tensor::from_buffer(storage, 0, {6}, kInt8), {1, 2, 3, 4, 5, 6});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(windows, kInt32));
  EXPECT_THAT(ValuesOf<std::int32_t>(result), ElementsAre(1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6));
}

// P43, P44: the source ends at an inaccessible page, at every misalignment.
TEST(CastResultTest, StaysInsideGuardPages) {
  const testing::GuardedMemory memory(4096);
  const auto storage = BorrowStorage(memory.begin(), memory.size_bytes());
  const DataType halves[] = {kFloat32, kFloat16, kBFloat16};
  std::memset(memory.begin(), 0x3C, memory.size_bytes());
  for (const DataType src : halves) {
    const auto item = static_cast<std::size_t>(itemsize(src));
    const std::uint64_t element = testing::reference::LoadBits(memory.begin(), itemsize(src));
    for (const DataType dst : halves) {
      const std::uint64_t converted = *testing::reference::ConvertBits(dst, src, element);
      for (std::size_t count = 0; count <= 70; ++count) {
        for (std::size_t shift = 0; shift < 64; shift += item) {
          const std::size_t start = memory.size_bytes() - shift - count * item;
          const Tensor source = *Tensor::from_buffer(storage, start, ShapeOf(count), src);
          ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result, ops::cast(source, dst));
          ASSERT_EQ(BitsOf(result), std::vector<std::uint64_t>(count, converted));
        }
      }
    }
  }
}

// Refusals, in their order: device, reserved target, bool.

TEST(CastErrorTest, BoolIsExcludedOnBothSides) {
  const Tensor boolean = TensorOfBits({2}, kBool, {0, 1});
  for (const DataType dtype : testing::kCastableDTypes) {
    EXPECT_THAT(ops::cast(boolean, dtype), StatusIs(StatusCode::kInvalidArgument, "bool"));
    EXPECT_THAT(ops::cast(Counting({2}, dtype), kBool),
                StatusIs(StatusCode::kInvalidArgument, "bool"));
  }
  EXPECT_THAT(ops::cast(boolean, kBool), StatusIs(StatusCode::kInvalidArgument, "bool"));
}

TEST(CastErrorTest, ReservedTargetsAreUnimplementedBeforeBool) {
  const Tensor boolean = TensorOfBits({2}, kBool, {0, 1});
  for (const DataType reserved : {kInt4, kFP8E4M3}) {
    EXPECT_THAT(ops::cast(boolean, reserved),
                StatusIs(StatusCode::kUnimplemented, to_string(reserved).data()));
    EXPECT_THAT(ops::cast(Counting({2}, kInt8), reserved), StatusIs(StatusCode::kUnimplemented));
  }
}

TEST(CastErrorTest, CudaTensorsAreUnimplementedBeforeAnythingElse) {
  std::byte bytes[8] = {};
  const auto storage = BorrowStorage(bytes, sizeof(bytes), false, Device::Cuda(0));
  const Tensor remote = *Tensor::from_buffer(storage, 0, {2}, kFloat32);
  EXPECT_THAT(ops::cast(remote, kFloat16), StatusIs(StatusCode::kUnimplemented, "cuda:0"));
  EXPECT_THAT(ops::cast(remote, kBool), StatusIs(StatusCode::kUnimplemented, "cuda:0"));
}

// The metadata alone decides; the storage behind it is one byte.
TEST(CastErrorTest, AByteSizeThatOverflowsIsRefused) {
  std::byte byte{};
  const auto storage = BorrowStorage(&byte, std::size_t{1} << 62);
  const Tensor huge = *Tensor::from_buffer(storage, 0, {std::int64_t{1} << 62}, kInt8);
  EXPECT_THAT(ops::cast(huge, kFloat64), StatusIs(StatusCode::kInvalidArgument, "overflow"));
}

// The result comes from the caller's allocator, and goes back to it when the cast fails.

TEST(CastAllocatorTest, TheResultComesFromTheGivenAllocator) {
  CountingAllocator allocator;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor result,
                                ops::cast(Counting({5}, kInt32), kFloat64, &allocator));
    EXPECT_EQ(allocator.counts()->allocations, 1);
    EXPECT_EQ(allocator.counts()->last_bytes, 40u);
    EXPECT_EQ(allocator.counts()->deletions, 0);
    EXPECT_THAT(ValuesOf<double>(result), ElementsAre(0, 1, 2, 3, 4));
  }
  EXPECT_EQ(allocator.counts()->deletions, 1);
  ENGINE_EXPECT_OK(ops::cast(Counting({5}, kInt32), kInt32, &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 2);
}

TEST(CastAllocatorTest, AFailedConversionReleasesTheResult) {
  CountingAllocator allocator;
  EXPECT_THAT(ops::cast(TensorOf<float>({2}, {1, kNaN}), kInt32, &allocator),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

TEST(CastAllocatorTest, AFailedAllocationIsOutOfMemory) {
  CountingAllocator allocator(/*successes=*/0);
  EXPECT_THAT(ops::cast(Counting({5}, kInt32), kFloat64, &allocator), StatusIs(core::kOutOfMemory));
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

TEST(CastAllocatorTest, ARefusedDTypeAllocatesNothing) {
  CountingAllocator allocator;
  EXPECT_FALSE(ops::cast(Counting({2}, kInt8), kBool, &allocator).ok());
  EXPECT_FALSE(ops::cast(Counting({2}, kInt8), kInt4, &allocator).ok());
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

}  // namespace
}  // namespace engine::tensor
