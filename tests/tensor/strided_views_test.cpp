// strided_slice, select, permute, transpose, squeeze and unsqueeze.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/tensor.h"
#include "tensor_test_support.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
constexpr std::int64_t kOne = 1;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

// strided_slice: one range per axis, with a step.

TEST(TensorStridedSliceTest, StepsOnBothAxes) {
  const Tensor base = Iota({5, 7});
  const Tensor view = Value(base.strided_slice({{1, 5, 2}, {0, 7, 3}}));
  EXPECT_EQ(view.shape(), Shape({2, 3}));
  EXPECT_EQ(view.strides(), Strides({14, 3}));
  EXPECT_EQ(view.byte_offset(), 28u);
  EXPECT_THAT(Elements(view), ElementsAre(7, 10, 13, 21, 24, 27));
  view.data_ptr<std::int32_t>()[3] = -1;
  EXPECT_EQ(base.item<std::int32_t>({1, 3}), -1);
}

TEST(TensorStridedSliceTest, DefaultStepAndSpanForm) {
  const Tensor base = Iota({4, 4});
  const std::vector<SliceRange> ranges = {{.start = 1, .end = 3}, {.start = 2, .end = 4}};
  EXPECT_THAT(Elements(Value(base.strided_slice(ranges))), ElementsAre(6, 7, 10, 11));
  EXPECT_THAT(Elements(Value(Iota({5}).strided_slice({{0, 5, 2}}))), ElementsAre(0, 2, 4));
  EXPECT_EQ(Value(Iota({}).strided_slice({})).item<std::int32_t>({}), 0);
}

// ceil(length / step) elements, against the naive loop.
TEST(TensorStridedSliceTest, EveryRangeOfASmallAxis) {
  const Tensor base = Iota({6});
  for (std::int64_t start = 0; start <= 6; ++start) {
    for (std::int64_t end = start; end <= 6; ++end) {
      for (std::int64_t step = 1; step <= 8; ++step) {
        std::vector<std::int32_t> expected;
        for (std::int64_t i = start; i < end; i += step) {
          expected.push_back(static_cast<std::int32_t>(i));
        }
        const Tensor view = Value(base.strided_slice({{start, end, step}}));
        EXPECT_EQ(Elements(view), expected) << start << " " << end << " " << step;
        EXPECT_GE(view.strides()[0], 1);
      }
    }
  }
}

// A step beyond the range is the range, so that stride * step stays representable.
TEST(TensorStridedSliceTest, HugeStepIsClamped) {
  const Tensor base = Iota({3, 4});
  const Tensor view = Value(base.strided_slice({{0, 3, kInt64Max}, {1, 3, kInt64Max}}));
  EXPECT_EQ(view.shape(), Shape({1, 1}));
  EXPECT_EQ(view.strides(), Strides({12, 2}));
  EXPECT_EQ(view.item<std::int32_t>({0, 0}), 1);
  // An empty range keeps the axis' own stride.
  const Tensor none = Value(base.strided_slice({{2, 2, kInt64Max}, {0, 4, 4}}));
  EXPECT_EQ(none.shape(), Shape({0, 1}));
  EXPECT_EQ(none.strides(), Strides({4, 4}));
}

// Strides of axes that do not matter may be huge; their product with the step saturates.
TEST(TensorStridedSliceTest, HugeStrideTimesStepDoesNotOverflow) {
  const Tensor none = Value(
      Tensor::from_strided_buffer(MakeBuffer(16), 0, {0, 4}, {1, kInt64Max}, DataType::kInt8));
  const Tensor view = Value(none.strided_slice({{0, 0}, {1, 4, 2}}));
  EXPECT_EQ(view.shape(), Shape({0, 2}));
  EXPECT_EQ(view.strides(), Strides({1, kInt64Max}));
  EXPECT_EQ(BytesIntoBuffer(view), 16);
  // Offsets of several axes add up beyond int64_t.
  const Tensor two = Value(Tensor::from_strided_buffer(
      MakeBuffer(16), 0, {0, 4, 4}, {1, kOne << 61, kOne << 61}, DataType::kInt8));
  EXPECT_EQ(BytesIntoBuffer(Value(two.strided_slice({{0, 0}, {3, 4}, {3, 4}}))), 16);
}

TEST(TensorStridedSliceTest, BadArguments) {
  const Tensor base = Iota({3, 4});
  EXPECT_THAT(base.strided_slice({{0, 3}}),
              StatusIs(kInvalid, AllOf(HasSubstr("strided_slice: 1 ranges"), HasSubstr("[3, 4]"))));
  EXPECT_THAT(base.strided_slice({{0, 3}, {0, 4}, {0, 1}}), StatusIs(kInvalid, "3 ranges"));
  EXPECT_THAT(base.strided_slice({{0, 3}, {0, 5}}),
              StatusIs(kInvalid, AllOf(HasSubstr("strided_slice: range [0, 5) of axis 1"),
                                       HasSubstr("shape [3, 4]"))));
  EXPECT_THAT(base.strided_slice({{-1, 3}, {0, 4}}), StatusIs(kInvalid, "[-1, 3) of axis 0"));
  EXPECT_THAT(base.strided_slice({{2, 1}, {0, 4}}), StatusIs(kInvalid, "[2, 1) of axis 0"));
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, kInt64Min}) {
    EXPECT_THAT(base.strided_slice({{0, 3}, {0, 4, step}}),
                StatusIs(kInvalid, AllOf(HasSubstr("strided_slice: step "), HasSubstr("axis 1"),
                                         HasSubstr("[3, 4]"))));
  }
  EXPECT_EQ(base.shape(), Shape({3, 4}));
  EXPECT_EQ(base.buffer().use_count(), 1);
}

// select: one index of an axis, which disappears.

TEST(TensorSelectTest, EveryAxis) {
  const Tensor base = Iota({2, 3, 4});
  const Tensor first = Value(base.select(0, 1));
  EXPECT_EQ(first.shape(), Shape({3, 4}));
  EXPECT_EQ(first.strides(), Strides({4, 1}));
  EXPECT_EQ(first.byte_offset(), 48u);
  const Tensor middle = Value(base.select(1, 2));
  EXPECT_EQ(middle.strides(), Strides({12, 1}));
  EXPECT_THAT(Elements(middle), ElementsAre(8, 9, 10, 11, 20, 21, 22, 23));
  EXPECT_THAT(Elements(Value(base.select(2, 3))), ElementsAre(3, 7, 11, 15, 19, 23));
  const Tensor scalar = Value(Value(first.select(1, 2)).select(0, 1));
  EXPECT_EQ(scalar.shape(), Shape());
  EXPECT_EQ(scalar.item<std::int32_t>({}), 12 + 4 + 2);
}

TEST(TensorSelectTest, OutOfAnEmptyTensorOnlyThroughOtherAxes) {
  const Tensor base = Value(Tensor::empty({0, 3}, DataType::kInt32, Device::Cpu()));
  EXPECT_EQ(Value(base.select(1, 2)).shape(), Shape({0}));
  EXPECT_EQ(Value(base.select(1, 2)).numel(), 0);
  EXPECT_THAT(base.select(0, 0), StatusIs(kInvalid, "outside [0, 0)"));
}

TEST(TensorSelectTest, BadArguments) {
  const Tensor base = Iota({3, 4});
  EXPECT_THAT(base.select(1, 4),
              StatusIs(kInvalid, AllOf(HasSubstr("select: index 4 of axis 1"), HasSubstr("[0, 4)"),
                                       HasSubstr("shape [3, 4]"))));
  EXPECT_THAT(base.select(0, -1), StatusIs(kInvalid, "index -1 of axis 0"));
  EXPECT_THAT(base.select(0, kInt64Min), StatusIs(kInvalid));
  EXPECT_THAT(base.select(2, 0), StatusIs(kInvalid, "select: axis 2"));
  EXPECT_THAT(base.select(-1, 0), StatusIs(kInvalid, "select: axis -1"));
  EXPECT_THAT(Iota({}).select(0, 0), StatusIs(kInvalid, "shape []"));
  EXPECT_EQ(base.buffer().use_count(), 1);
}

// permute and transpose: axes change places, elements do not.

TEST(TensorPermuteTest, AxisKOfTheResultIsAxisAxesK) {
  const Tensor base = Iota({2, 3, 4});
  const Tensor view = Value(base.permute({2, 0, 1}));
  EXPECT_EQ(view.shape(), Shape({4, 2, 3}));
  EXPECT_EQ(view.strides(), Strides({1, 12, 4}));
  EXPECT_EQ(view.numel(), 24);
  EXPECT_FALSE(view.is_contiguous());
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        EXPECT_EQ(view.item<std::int32_t>({k, i, j}), base.item<std::int32_t>({i, j, k}));
      }
    }
  }
  EXPECT_TRUE(Value(view.permute({1, 2, 0})).is_contiguous());  // the inverse
}

TEST(TensorPermuteTest, IdentityScalarAndSpanForm) {
  const std::array<int, 2> axes = {1, 0};
  EXPECT_THAT(Elements(Value(Iota({2, 2}).permute(axes))), ElementsAre(0, 2, 1, 3));
  EXPECT_TRUE(Value(Iota({2, 2}).permute({0, 1})).is_contiguous());
  EXPECT_EQ(Value(Iota({}).permute({})).shape(), Shape());
  const Tensor eight = Value(Iota({1, 2, 1, 3, 1, 1, 2, 1}).permute({7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(eight.shape(), Shape({1, 2, 1, 1, 3, 1, 2, 1}));
  EXPECT_THAT(Elements(eight), ElementsAre(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11));
}

TEST(TensorPermuteTest, BadArguments) {
  const Tensor base = Iota({2, 3, 4});
  const auto bad = [&](std::initializer_list<int> axes, const char* text) {
    EXPECT_THAT(base.permute(axes),
                StatusIs(kInvalid, AllOf(HasSubstr("permute: "), HasSubstr(text),
                                         HasSubstr("shape [2, 3, 4]"))));
  };
  bad({0, 1}, "2 axes [0, 1]");
  bad({0, 1, 2, 3}, "4 axes [0, 1, 2, 3]");
  bad({0, 1, 3}, "[0, 1, 3]");
  bad({0, -1, 2}, "[0, -1, 2]");
  bad({0, 1, 1}, "[0, 1, 1]");
  bad({2, 2, 2}, "[2, 2, 2]");
  bad({0, 32, 64}, "[0, 32, 64]");  // shifts of a bit mask wrap at its width
  bad({}, "0 axes []");
  bad({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "10 axes");  // more than a shape can have
  EXPECT_EQ(base.strides(), Strides({12, 4, 1}));
  EXPECT_EQ(base.buffer().use_count(), 1);
}

TEST(TensorTransposeTest, SwapsTwoAxes) {
  const Tensor base = Iota({2, 3, 4});
  const Tensor view = Value(base.transpose(0, 2));
  EXPECT_EQ(view.shape(), Shape({4, 3, 2}));
  EXPECT_EQ(view.strides(), Strides({1, 4, 12}));
  EXPECT_EQ(view.item<std::int32_t>({3, 1, 1}), base.item<std::int32_t>({1, 1, 3}));
  EXPECT_EQ(Value(base.transpose(2, 0)).strides(), view.strides());
  EXPECT_TRUE(Value(base.transpose(1, 1)).is_contiguous());
  view.data_ptr<std::int32_t>()[1] = -9;
  EXPECT_EQ(base.item<std::int32_t>({0, 0, 1}), -9);
}

TEST(TensorTransposeTest, BadArguments) {
  const Tensor base = Iota({2, 3});
  EXPECT_THAT(base.transpose(0, 2),
              StatusIs(kInvalid, AllOf(HasSubstr("transpose: axis 2"), HasSubstr("shape [2, 3]"))));
  EXPECT_THAT(base.transpose(-1, 0), StatusIs(kInvalid, "transpose: axis -1"));
  EXPECT_THAT(Iota({}).transpose(0, 0), StatusIs(kInvalid));
  EXPECT_EQ(base.shape(), Shape({2, 3}));
}

// squeeze and unsqueeze: axes of extent 1 go and come.

TEST(TensorSqueezeTest, DropsAnAxisOfExtentOne) {
  const Tensor base = Value(Iota({2, 3, 4}).slice(1, 1, 2));
  const Tensor view = Value(base.squeeze(1));
  EXPECT_EQ(view.shape(), Shape({2, 4}));
  EXPECT_EQ(view.strides(), Strides({12, 1}));
  EXPECT_EQ(view.data(), base.data());
  EXPECT_THAT(Elements(view), ElementsAre(4, 5, 6, 7, 16, 17, 18, 19));
  EXPECT_EQ(Value(Iota({1}).squeeze(0)).shape(), Shape());
}

TEST(TensorSqueezeTest, BadArguments) {
  const Tensor base = Value(Tensor::empty({1, 3, 0}, DataType::kInt32, Device::Cpu()));
  EXPECT_THAT(base.squeeze(1),
              StatusIs(kInvalid, AllOf(HasSubstr("squeeze: axis 1"), HasSubstr("[1, 3, 0]"),
                                       HasSubstr("extent 3"))));
  EXPECT_THAT(base.squeeze(2), StatusIs(kInvalid, "extent 0"));
  EXPECT_THAT(base.squeeze(3), StatusIs(kInvalid, "squeeze: axis 3"));
  EXPECT_THAT(base.squeeze(-1), StatusIs(kInvalid, "squeeze: axis -1"));
  EXPECT_EQ(base.buffer().use_count(), 1);
}

TEST(TensorUnsqueezeTest, KeepsRowMajorStridesRowMajor) {
  const Tensor base = Iota({2, 3});
  const auto expect = [&](int dim, const Shape& shape, const Strides& strides) {
    const Tensor view = Value(base.unsqueeze(dim));
    EXPECT_EQ(view.shape(), shape);
    EXPECT_EQ(view.strides(), strides);
    EXPECT_EQ(view.strides(), RowMajorStrides(shape));
    EXPECT_EQ(view.numel(), 6);
    EXPECT_THAT(Elements(view), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(Value(view.squeeze(dim)).strides(), base.strides());
  };
  expect(0, {1, 2, 3}, {6, 3, 1});
  expect(1, {2, 1, 3}, {3, 3, 1});
  expect(2, {2, 3, 1}, {3, 1, 1});
  EXPECT_EQ(Value(Iota({}).unsqueeze(0)).strides(), Strides({1}));
}

TEST(TensorUnsqueezeTest, StrideIsWhatTheNextAxisSpans) {
  const Tensor view = Value(Value(Iota({4, 6}).strided_slice({{0, 4, 2}, {0, 6, 3}})).unsqueeze(1));
  EXPECT_EQ(view.shape(), Shape({2, 1, 2}));
  EXPECT_EQ(view.strides(), Strides({12, 6, 3}));
  EXPECT_THAT(Elements(view), ElementsAre(0, 3, 12, 15));
  // An extent of 0 counts as 1, as in row-major strides.
  const Tensor none = Value(Tensor::empty({2, 0, 3}, DataType::kInt32, Device::Cpu()));
  EXPECT_EQ(Value(none.unsqueeze(1)).strides(), RowMajorStrides({2, 1, 0, 3}));
  // The product saturates where the stride does not matter.
  const Tensor huge = Value(
      Tensor::from_strided_buffer(MakeBuffer(4), 0, {0, 4}, {1, kInt64Max}, DataType::kInt32));
  EXPECT_EQ(Value(huge.unsqueeze(1)).strides(), Strides({1, kInt64Max, kInt64Max}));
}

TEST(TensorUnsqueezeTest, BadArguments) {
  const Tensor base = Iota({2, 3});
  EXPECT_THAT(base.unsqueeze(3),
              StatusIs(kInvalid, AllOf(HasSubstr("unsqueeze: axis 3"), HasSubstr("[0, 2]"),
                                       HasSubstr("shape [2, 3]"))));
  EXPECT_THAT(base.unsqueeze(-1), StatusIs(kInvalid, "unsqueeze: axis -1"));
  const Tensor full = Iota({1, 1, 1, 1, 1, 1, 1, 2});
  for (const int dim : {0, 8}) {
    EXPECT_THAT(full.unsqueeze(dim), StatusIs(kInvalid, AllOf(HasSubstr("unsqueeze: "),
                                                              HasSubstr("[1, 1, 1, 1, 1, 1, 1, 2]"),
                                                              HasSubstr("8 axes"))));
  }
  EXPECT_EQ(base.buffer().use_count(), 1);
}

}  // namespace
}  // namespace engine::tensor
