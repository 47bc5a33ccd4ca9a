#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "testing/random_layout.h"
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
using testing::BytesOf;
using testing::Counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeStorage;
using testing::StatusIs;
using testing::TensorOf;
using testing::TensorOfBits;
using testing::ValuesOf;

// ops::cast_into converts as cast does, into existing elements; nothing else is written.

// The use it is made for: one step of float32 into a float16 cache [heads, steps, width].
TEST(CastIntoTest, AppendsToAHalfPrecisionCache) {
  const Tensor cache = TensorOfBits({2, 4, 3}, kFloat16, std::vector<std::uint64_t>(24, 0xFFFF));
  const Tensor step = TensorOf<float>({2, 1, 3}, {1, 2, 3, -1, 0.5f, 65520});
  ENGINE_ASSERT_OK(ops::cast_into(*cache.slice(1, 2, 3), step));
  std::vector<std::uint64_t> expected(24, 0xFFFF);
  expected[6] = 0x3C00;
  expected[7] = 0x4000;
  expected[8] = 0x4200;
  expected[18] = 0xBC00;
  expected[19] = 0x3800;
  expected[20] = 0x7C00;
  EXPECT_EQ(BitsOf(cache), expected);
}

TEST(CastIntoTest, ScalarsAndSingleElements) {
  const Tensor scalar = TensorOf<std::int8_t>({}, {0});
  ENGINE_ASSERT_OK(ops::cast_into(scalar, TensorOf<double>({}, {-7.9})));
  EXPECT_THAT(ValuesOf<std::int8_t>(scalar), ElementsAre(-7));
  const Tensor grid = Counting({4, 4}, kInt32);
  ENGINE_ASSERT_OK(
      ops::cast_into(*(*grid.slice(0, 1, 2)).slice(1, 2, 3), TensorOf<float>({1, 1}, {99.5f})));
  EXPECT_EQ(grid.item<std::int32_t>({1, 2}), 99);
  EXPECT_EQ(grid.item<std::int32_t>({1, 3}), 7);
}

TEST(CastIntoTest, TheSameDTypeCopiesBits) {
  const Tensor dst = TensorOfBits({2}, kFloat32, {0, 0});
  ENGINE_ASSERT_OK(ops::cast_into(dst, TensorOfBits({2}, kFloat32, {0x7F800001, 0xFF800001})));
  EXPECT_THAT(BitsOf(dst), ElementsAre(0x7F800001, 0xFF800001));
}

TEST(CastIntoTest, TheSameViewIsLeftAlone) {
  const Tensor t = Counting({3, 4}, kFloat32);
  ENGINE_EXPECT_OK(ops::cast_into(*t.slice(1, 1, 3), *t.slice(1, 1, 3)));
  EXPECT_EQ(BitsOf(t), BitsOf(Counting({3, 4}, kFloat32)));
}

TEST(CastIntoTest, EmptyTensorsAreANoOp) {
  ENGINE_EXPECT_OK(ops::cast_into(*Tensor::empty({0}, kInt8, Device::Cpu()),
                                  *Tensor::empty({0}, kFloat32, Device::Cpu())));
}

// P75.
TEST(CastIntoTest, MisalignedOnBothSides) {
  const auto src_storage = MakeStorage(13);
  const auto dst_storage = MakeStorage(26, 0xEE);
  const Tensor src = *Tensor::from_buffer(src_storage, 1, {3}, kInt32);
  const Tensor dst = *Tensor::from_buffer(dst_storage, 1, {3}, kFloat64);
  testing::SetBits(src, {5, 0xFFFFFFFF, 7});
  ENGINE_ASSERT_OK(ops::cast_into(dst, src));
  EXPECT_THAT(ValuesOf<double>(dst), ElementsAre(5, -1, 7));
  EXPECT_EQ(BytesOf(*dst_storage).front(), std::byte{0xEE});
  EXPECT_EQ(BytesOf(*dst_storage).back(), std::byte{0xEE});
}

// Random layouts on both sides, for every pair: values, verdict, first offender, surroundings.
class CastIntoPairTest : public ::testing::TestWithParam<DataType> {};

TEST_P(CastIntoPairTest, RandomLayoutsEqualTheReference) {
  const DataType src_dtype = GetParam();
  const int src_item = itemsize(src_dtype);
  const std::vector<std::uint64_t> samples = testing::SampleBits(src_dtype);
  for (const DataType dst_dtype : testing::kCastableDTypes) {
    const int dst_item = itemsize(dst_dtype);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(::testing::Message() << "to " << to_string(dst_dtype) << " seed " << seed);
      testing::RandomDraw draw(seed);
      const Shape shape = testing::DrawShape(draw, 60);
      const testing::DrawnLayout to = testing::DrawLayout(draw, shape, false);
      const testing::DrawnLayout from = testing::DrawLayout(draw, shape, seed % 4 == 0);
      const auto src_storage =
          MakeStorage(static_cast<std::size_t>(from.storage_size * src_item) + 7);
      const auto dst_storage =
          MakeStorage(static_cast<std::size_t>(to.storage_size * dst_item) + 7, 0xEE);
      const auto src_start = static_cast<std::size_t>(from.first * src_item + draw(0, 7));
      const auto dst_start = static_cast<std::size_t>(to.first * dst_item + draw(0, 7));
      ENGINE_ASSERT_OK_AND_ASSIGN(
          const Tensor src,
          Tensor::from_strided_buffer(src_storage, src_start, shape, from.strides, src_dtype));
      ENGINE_ASSERT_OK_AND_ASSIGN(
          const Tensor dst,
          Tensor::from_strided_buffer(dst_storage, dst_start, shape, to.strides, dst_dtype));
      // Two seeds of three convert throughout: their values are retried until representable.
      std::vector<std::uint64_t> bits;
      while (static_cast<std::int64_t>(bits.size()) < shape.numel()) {
        const std::uint64_t sample = samples[static_cast<std::size_t>(
            draw(0, static_cast<std::int64_t>(samples.size()) - 1))];
        const bool keep = seed % 3 == 0 ||
                          testing::reference::ConvertBits(dst_dtype, src_dtype, sample).has_value();
        if (keep) bits.push_back(sample);
      }
      testing::SetBits(src, bits);
      std::vector<std::byte> expected = BytesOf(*dst_storage);
      const std::optional<std::int64_t> offender =
          testing::reference::ConvertStrided(shape, dst_dtype, expected.data() + dst_start,
                                             to.strides, src_dtype, src.data(), from.strides);
      const core::Status status = ops::cast_into(dst, src);
      if (!offender.has_value()) {
        ENGINE_ASSERT_OK(status);
        ASSERT_TRUE(BytesOf(*dst_storage) == expected);
        continue;
      }
      ASSERT_THAT(status, StatusIs(StatusCode::kInvalidArgument,
                                   HasSubstr("(element " + std::to_string(*offender) + ")")));
      // The elements are unspecified now; everything around them is as it was.
      testing::SetBits(dst, std::vector<std::uint64_t>(bits.size(), 0xEEEEEEEEEEEEEEEE));
      ASSERT_TRUE(BytesOf(*dst_storage) ==
                  std::vector<std::byte>(dst_storage->size_bytes(), std::byte{0xEE}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, CastIntoPairTest, ::testing::ValuesIn(testing::kCastableDTypes),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// Refusals, in their order: device, reserved, bool, shape, read-only, values.

TEST(CastIntoErrorTest, BoolIsExcludedOnBothSides) {
  const Tensor boolean = TensorOfBits({2}, kBool, {2, 0});
  EXPECT_THAT(ops::cast_into(boolean, Counting({2}, kInt8)),
              StatusIs(StatusCode::kInvalidArgument, "bool"));
  EXPECT_THAT(ops::cast_into(Counting({2}, kInt8), boolean),
              StatusIs(StatusCode::kInvalidArgument, "bool"));
  EXPECT_THAT(ops::cast_into(boolean, boolean), StatusIs(StatusCode::kInvalidArgument, "bool"));
  EXPECT_THAT(BitsOf(boolean), ElementsAre(2, 0));
}

TEST(CastIntoErrorTest, ShapesMustBeEqual) {
  EXPECT_THAT(ops::cast_into(Counting({2, 3}, kFloat16), Counting({6}, kFloat32)),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("cast_into"), HasSubstr("[2, 3]"), HasSubstr("[6]"),
                             HasSubstr("float16"), HasSubstr("float32"))));
}

TEST(CastIntoErrorTest, ReadOnlyDestinationsAreRefused) {
  std::int32_t values[2] = {1, 2};
  const auto storage = BorrowStorage(values, sizeof(values), /*read_only=*/true);
  const Tensor locked = *Tensor::from_buffer(storage, 0, {2}, kInt32);
  EXPECT_THAT(ops::cast_into(locked, Counting({2}, kFloat32)),
              StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_EQ(values[0], 1);
  const Tensor dst = Counting({2}, kFloat32);
  ENGINE_EXPECT_OK(ops::cast_into(dst, locked));
  EXPECT_THAT(ValuesOf<float>(dst), ElementsAre(1, 2));
}

TEST(CastIntoErrorTest, CudaTensorsAreUnimplementedBeforeAnythingElse) {
  std::byte bytes[8] = {};
  const auto storage = BorrowStorage(bytes, sizeof(bytes), false, Device::Cuda(3));
  const Tensor remote = *Tensor::from_buffer(storage, 0, {2}, kFloat32);
  const Tensor boolean = TensorOfBits({5}, kBool, {0, 0, 0, 0, 0});
  EXPECT_THAT(ops::cast_into(boolean, remote), StatusIs(StatusCode::kUnimplemented, "cuda:3"));
  EXPECT_THAT(ops::cast_into(remote, boolean), StatusIs(StatusCode::kUnimplemented, "cuda:3"));
}

TEST(CastIntoErrorTest, TheFirstOffenderIsNamed) {
  const Tensor dst = TensorOf<std::uint8_t>({2, 2}, {0, 0, 0, 0});
  const Tensor src = *TensorOf<std::int32_t>({2, 2}, {1, 300, -2, 4}).transpose(0, 1);
  EXPECT_THAT(
      ops::cast_into(dst, src),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("-2"), HasSubstr("[0, 1] (element 1)"),
                                                   HasSubstr("int32"), HasSubstr("uint8"))));
}

}  // namespace
}  // namespace engine::tensor
