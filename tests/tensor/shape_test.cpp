#include "tensor/shape.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/status.h"
#include "testing/death_test_style.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::StatusIs;

constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();

static_assert(kMaxRank == 8);
static_assert(std::is_trivially_copyable_v<Shape> && std::is_trivially_copyable_v<DimVector>);
static_assert(std::is_same_v<Strides, DimVector>);

// Usable in constant expressions, where a broken precondition is a compile error.
static_assert(Shape().rank() == 0 && Shape().numel() == 1);
static_assert(Shape{2, 3, 4}.numel() == 24);
static_assert(RowMajorStrides(Shape{2, 3, 4}) == Strides{12, 4, 1});
static_assert(IsContiguous(Shape{2, 3}, Strides{3, 1}));
constexpr Strides kGrown = [] {
  Strides strides;
  strides.push_back(5);
  strides.push_back(1);
  strides[0] = 7;
  return strides;
}();
static_assert(kGrown == Strides{7, 1} && kGrown.size() == 2);

template <std::int64_t... kDims>
concept ConstantShape = requires {
  typename std::integral_constant<std::int64_t, Shape{kDims...}.numel()>;
};
static_assert(ConstantShape<2, 0, 3>);
static_assert(!ConstantShape<2, -1>);
static_assert(!ConstantShape<1, 1, 1, 1, 1, 1, 1, 1, 1>);
static_assert(!ConstantShape<kMax64, 2>);

struct Golden {
  std::vector<std::int64_t> dims;
  std::int64_t numel;
  std::vector<std::int64_t> strides;
  std::string text;
};

// Every rank from 0 to 8, with ones and zeros at every kind of place.
const Golden kGoldens[] = {
    {{}, 1, {}, "[]"},
    {{7}, 7, {1}, "[7]"},
    {{2, 3}, 6, {3, 1}, "[2, 3]"},
    {{2, 3, 4}, 24, {12, 4, 1}, "[2, 3, 4]"},
    {{1, 5, 1, 2}, 10, {10, 2, 2, 1}, "[1, 5, 1, 2]"},
    {{2, 3, 5, 7, 11}, 2310, {1155, 385, 77, 11, 1}, "[2, 3, 5, 7, 11]"},
    {{1, 1, 1, 1, 1, 1}, 1, {1, 1, 1, 1, 1, 1}, "[1, 1, 1, 1, 1, 1]"},
    {{3, 1, 2, 1, 4, 1, 5}, 120, {40, 40, 20, 20, 5, 5, 1}, "[3, 1, 2, 1, 4, 1, 5]"},
    {{2, 1, 3, 1, 2, 1, 2, 3}, 72, {36, 36, 12, 12, 6, 6, 3, 1}, "[2, 1, 3, 1, 2, 1, 2, 3]"},
    {{0}, 0, {1}, "[0]"},
    {{0, 0, 0}, 0, {1, 1, 1}, "[0, 0, 0]"},
    {{2, 0, 3}, 0, {3, 3, 1}, "[2, 0, 3]"},
    {{0, 5, 0}, 0, {5, 1, 1}, "[0, 5, 0]"},
    {{kMax64}, kMax64, {1}, "[9223372036854775807]"},
};

TEST(ShapeTest, GoldenShapes) {
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(golden.text);
    ENGINE_ASSERT_OK_AND_ASSIGN(const Shape shape, Shape::FromDims(golden.dims));
    EXPECT_EQ(shape.rank(), static_cast<int>(golden.dims.size()));
    EXPECT_EQ(shape.numel(), golden.numel);
    ASSERT_EQ(shape.dims().size(), golden.dims.size());
    for (int i = 0; i < shape.rank(); ++i) {
      EXPECT_EQ(shape.dim(i), golden.dims[static_cast<std::size_t>(i)]);
      EXPECT_EQ(shape.dims()[static_cast<std::size_t>(i)], shape.dim(i));
    }
    const Strides strides = RowMajorStrides(shape);
    EXPECT_EQ(strides, Strides(std::span<const std::int64_t>(golden.strides)));
    EXPECT_TRUE(IsContiguous(shape, strides));
    EXPECT_EQ(fmt::format("{}", shape), golden.text);
    EXPECT_EQ(fmt::format("{}", DimVector(shape.dims())), golden.text);
  }
}

TEST(ShapeTest, LiteralAndDataFormsAgree) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape from_list, Shape::FromDims({4, 0, 2}));
  const std::array<std::int64_t, 3> dims = {4, 0, 2};
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape from_span, Shape::FromDims(dims));
  EXPECT_EQ(from_list, (Shape{4, 0, 2}));
  EXPECT_EQ(from_span, from_list);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape scalar, Shape::FromDims({}));
  EXPECT_EQ(scalar, Shape());
  EXPECT_EQ(scalar, Shape{});
}

TEST(ShapeTest, EqualityComparesExtentsAndRank) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{6}), (Shape{2, 3}));
  EXPECT_NE(Shape(), (Shape{1}));
  EXPECT_NE((Shape{0, 2}), (Shape{2, 0}));
}

// Assigning a shorter value leaves old entries behind; they must not take part.
TEST(ShapeTest, EqualityIgnoresEarlierValues) {
  Shape shape{9, 9, 9};
  shape = Shape{2};
  EXPECT_EQ(shape, (Shape{2}));
  EXPECT_EQ(shape.numel(), 2);
}

// P25: the product of the extents overflows int64_t.
TEST(ShapeOverflowTest, ProductMustFit) {
  EXPECT_THAT(Shape::FromDims({2, 2, 1, 2305843009213693952}),
              StatusIs(core::StatusCode::kInvalidArgument, "[2, 2, 1, 2305843009213693952]"));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape square, Shape::FromDims({3037000499, 3037000499}));
  EXPECT_EQ(square.numel(), 9223372030926249001);
  EXPECT_THAT(Shape::FromDims({3037000500, 3037000500}),
              StatusIs(core::StatusCode::kInvalidArgument, "overflows"));
  // Wraps to 0 and to 1 in 64 bits.
  EXPECT_THAT(Shape::FromDims({std::int64_t{1} << 32, std::int64_t{1} << 32}),
              StatusIs(core::StatusCode::kInvalidArgument));
  EXPECT_THAT(Shape::FromDims({4294967295, 4294967297, kMax64}),
              StatusIs(core::StatusCode::kInvalidArgument));
}

TEST(ShapeOverflowTest, LargestValues) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape largest, Shape::FromDims({1, kMax64, 1}));
  EXPECT_EQ(largest.numel(), kMax64);
  EXPECT_EQ(RowMajorStrides(largest), (Strides{kMax64, 1, 1}));
  EXPECT_THAT(Shape::FromDims({2, kMax64}), StatusIs(core::StatusCode::kInvalidArgument));
  // 2^63 - 1 = 7 * 7 * 73 * 127 * 337 * 92737 * 649657.
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape factors,
                              Shape::FromDims({7, 7, 73, 127, 337, 92737, 649657}));
  EXPECT_EQ(factors.numel(), kMax64);
}

// P26: an extent of 0 does not excuse the others; the order does not matter.
TEST(ShapeOverflowTest, ZeroExtentDoesNotHideOverflow) {
  EXPECT_THAT(Shape::FromDims({2, 2, 0, 9223372036854775806}),
              StatusIs(core::StatusCode::kInvalidArgument, "overflows"));
  EXPECT_THAT(Shape::FromDims({9223372036854775806, 0, 2, 2}),
              StatusIs(core::StatusCode::kInvalidArgument, "overflows"));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape empty, Shape::FromDims({0, kMax64}));
  EXPECT_EQ(empty.numel(), 0);
  EXPECT_EQ(RowMajorStrides(empty), (Strides{kMax64, 1}));
}

// P28: negative extents, also in pairs and beside zeros.
TEST(ShapeFromDimsTest, NegativeExtents) {
  for (const std::vector<std::int64_t>& dims : std::vector<std::vector<std::int64_t>>{
           {-2, -3}, {-1, 0}, {0, -1}, {kMin64}, {-1}, {5, -1}, {kMin64, 0}, {-1, kMax64, 2}}) {
    EXPECT_THAT(Shape::FromDims(dims), StatusIs(core::StatusCode::kInvalidArgument, "is negative"));
  }
  EXPECT_THAT(Shape::FromDims({4, -7, 2}),
              StatusIs(core::StatusCode::kInvalidArgument, "extent -7 of axis 1 in [4, -7, 2]"));
}

// P29: rank 8 is the most.
TEST(ShapeFromDimsTest, RankAboveEight) {
  const std::vector<std::int64_t> nine(9, 1);
  EXPECT_THAT(Shape::FromDims(nine),
              StatusIs(core::StatusCode::kInvalidArgument, "rank 9 is above 8"));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Shape eight, Shape::FromDims(std::span(nine).first(8)));
  EXPECT_EQ(eight.rank(), 8);
  EXPECT_EQ(eight.numel(), 1);
  // The rank is judged before the extents: these would be wrong too.
  EXPECT_THAT(Shape::FromDims(std::vector<std::int64_t>(1000, -1)),
              StatusIs(core::StatusCode::kInvalidArgument, "rank 1000 is above 8"));
}

// ShrinkTo: axes become shorter in place, and numel() follows.
TEST(ShapeShrinkTest, KeepsTheCount) {
  Shape shape = {4, 5, 6};
  shape.ShrinkTo(std::vector<std::int64_t>{4, 2, 1});
  EXPECT_EQ(shape, Shape({4, 2, 1}));
  EXPECT_EQ(shape.numel(), 8);
  shape.ShrinkTo(std::vector<std::int64_t>{3, 0, 1});
  EXPECT_EQ(shape.numel(), 0);
  // An element count near the largest, made small.
  Shape large = {std::int64_t{1} << 31, std::int64_t{1} << 31};
  large.ShrinkTo(std::vector<std::int64_t>{1, std::int64_t{1} << 31});
  EXPECT_EQ(large.numel(), std::int64_t{1} << 31);
  Shape scalar;
  scalar.ShrinkTo({});
  EXPECT_EQ(scalar.numel(), 1);
}

// P30: extents of 1, and any extent of an empty shape, put no condition on their stride.
TEST(IsContiguousTest, SizeOneAndSizeZeroAxes) {
  EXPECT_TRUE(IsContiguous(Shape{1}, Strides{3}));
  EXPECT_TRUE(IsContiguous(Shape{1, 3, 1, 4, 1}, Strides{0, 4, 0, 1, 0}));
  EXPECT_FALSE(IsContiguous(Shape{3, 3}, Strides{0, 0}));
  EXPECT_TRUE(IsContiguous(Shape{0, 0, 0}, Strides{9, 9, 9}));
  EXPECT_TRUE(IsContiguous(Shape{2, 1, 3}, Strides{3, 99, 1}));
  EXPECT_FALSE(IsContiguous(Shape{2, 1, 3}, Strides{6, 3, 1}));
  EXPECT_TRUE(IsContiguous(Shape{}, Strides{}));
}

TEST(IsContiguousTest, TransposedAndGappy) {
  EXPECT_FALSE(IsContiguous(Shape{2, 3}, Strides{1, 2}));
  EXPECT_FALSE(IsContiguous(Shape{2, 3}, Strides{4, 1}));
  EXPECT_FALSE(IsContiguous(Shape{4}, Strides{2}));
  EXPECT_FALSE(IsContiguous(Shape{2}, Strides{0}));
}

// Walks the elements in row-major order: contiguous means that the k-th one is at offset k.
bool WalksWithoutGaps(const std::array<std::int64_t, 3>& dims,
                      const std::array<std::int64_t, 3>& strides) {
  std::int64_t k = 0;
  for (std::int64_t a = 0; a < dims[0]; ++a) {
    for (std::int64_t b = 0; b < dims[1]; ++b) {
      for (std::int64_t c = 0; c < dims[2]; ++c) {
        if (a * strides[0] + b * strides[1] + c * strides[2] != k++) return false;
      }
    }
  }
  return true;
}

TEST(IsContiguousTest, AgreesWithAWalkOverEverySmallLayout) {
  constexpr std::int64_t kDims = 4;      // extents 0..3
  constexpr std::int64_t kStrides = 10;  // strides 0..9
  int contiguous = 0;
  for (std::int64_t d = 0; d < kDims * kDims * kDims; ++d) {
    const std::array<std::int64_t, 3> dims = {d / 16, d / 4 % 4, d % 4};
    for (std::int64_t s = 0; s < kStrides * kStrides * kStrides; ++s) {
      const std::array<std::int64_t, 3> strides = {s / 100, s / 10 % 10, s % 10};
      const bool expected = WalksWithoutGaps(dims, strides);
      contiguous += expected ? 1 : 0;
      ASSERT_EQ(IsContiguous(Shape{dims[0], dims[1], dims[2]},
                             Strides{strides[0], strides[1], strides[2]}),
                expected)
          << fmt::format("dims {}, strides {}", Strides(dims), Strides(strides));
    }
  }
  EXPECT_GT(contiguous, 0);
}

// P31: an extent of 0 counts as 1 in row-major strides.
TEST(RowMajorStridesTest, ZeroExtentsCountAsOne) {
  EXPECT_EQ(RowMajorStrides(Shape{2, 0, 3}), (Strides{3, 3, 1}));
  EXPECT_EQ(RowMajorStrides(Shape{0}), (Strides{1}));
  EXPECT_EQ(RowMajorStrides(Shape{}), Strides{});
}

// The inline vector behind dims and strides.
TEST(DimVectorTest, GrowsAndCompares) {
  DimVector grown;
  EXPECT_TRUE(grown.empty());
  EXPECT_EQ(grown.size(), 0);
  for (std::int64_t i = 0; i < kMaxRank; ++i) grown.push_back(i * i);
  EXPECT_FALSE(grown.empty());
  EXPECT_EQ(grown, (DimVector{0, 1, 4, 9, 16, 25, 36, 49}));
  EXPECT_NE(grown, (DimVector{0, 1, 4, 9, 16, 25, 36}));
  EXPECT_NE(DimVector(), (DimVector{0}));
}

TEST(DimVectorTest, EqualityIgnoresEarlierValues) {
  DimVector reused{1, 2, 3};
  reused = DimVector{1};
  EXPECT_EQ(reused, (DimVector{1}));
  reused.push_back(9);
  EXPECT_EQ(reused, (DimVector{1, 9}));
  EXPECT_NE(reused, (DimVector{1, 2}));
}

TEST(DimVectorTest, ElementsAreReadAndWritten) {
  DimVector values{3, -4, kMin64};
  values[1] = kMax64;
  const DimVector& constant = values;
  EXPECT_EQ(constant[0], 3);
  EXPECT_EQ(constant[1], kMax64);
  EXPECT_EQ(constant[2], kMin64);
  EXPECT_EQ(values.values().data(), constant.begin());
  EXPECT_EQ(constant.end() - constant.begin(), 3);
  std::vector<std::int64_t> walked;
  for (const std::int64_t value : constant) walked.push_back(value);
  EXPECT_EQ(walked, (std::vector<std::int64_t>{3, kMax64, kMin64}));
}

TEST(DimVectorTest, Formats) {
  EXPECT_EQ(fmt::format("{}", DimVector{}), "[]");
  EXPECT_EQ(fmt::format("{}", DimVector{0}), "[0]");
  EXPECT_EQ(fmt::format("<{}>", DimVector{-1, kMin64, kMax64}),
            "<[-1, -9223372036854775808, 9223372036854775807]>");
}

// Shapes live on views' hot paths: no operation but an error's text touches the heap.
TEST(ShapeHeapTest, NothingAllocates) {
  const std::array<std::int64_t, 8> dims = {2, 1, 3, 1, 2, 1, 2, 3};
  const std::int64_t before = testing::HeapAllocationsOnThisThread();
  const core::StatusOr<Shape> shape = Shape::FromDims(dims);
  const Shape copy = *shape;
  Strides strides = RowMajorStrides(copy);
  strides[0] = 36;
  const bool contiguous = IsContiguous(copy, strides) && copy == *shape;
  EXPECT_EQ(testing::HeapAllocationsOnThisThread(), before);
  EXPECT_TRUE(contiguous);
}

// What FromDims reports is a programmer error in a literal; so are indices out of range.
class ShapeDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(ShapeDeathTest, InvalidLiterals) {
  EXPECT_DEATH(static_cast<void>(Shape{2, -1}), "Shape: extent -1 is negative");
  EXPECT_DEATH(static_cast<void>(Shape{-2, -3}), "Shape: extent -2 is negative");
  EXPECT_DEATH((static_cast<void>(Shape{1, 1, 1, 1, 1, 1, 1, 1, 1})), "Shape: rank 9 is above 8");
  EXPECT_DEATH(static_cast<void>(Shape{kMax64, 2}), "product of the extents overflows");
  EXPECT_DEATH((static_cast<void>(Shape{2, 2, 0, kMax64 - 1})), "product of the extents overflows");
}

TEST_F(ShapeDeathTest, DimOutOfRange) {
  const Shape shape{2, 3};
  EXPECT_DEATH(static_cast<void>(shape.dim(2)), "dim: index 2 is outside \\[0, 2\\)");
  EXPECT_DEATH(static_cast<void>(shape.dim(-1)), "dim: index -1 is outside \\[0, 2\\)");
  EXPECT_DEATH(static_cast<void>(Shape().dim(0)), "dim: index 0 is outside \\[0, 0\\)");
}

TEST_F(ShapeDeathTest, ShrinkingToLongerOrOtherAxes) {
  Shape shape = {2, 3};
  EXPECT_DEATH(shape.ShrinkTo(std::vector<std::int64_t>{2}), "ShrinkTo: 1 extents for 2 axes");
  EXPECT_DEATH(shape.ShrinkTo(std::vector<std::int64_t>{2, 4}),
               "ShrinkTo: extent 4 is outside \\[0, 3\\]");
  EXPECT_DEATH(shape.ShrinkTo(std::vector<std::int64_t>{-1, 3}),
               "ShrinkTo: extent -1 is outside \\[0, 2\\]");
}

TEST_F(ShapeDeathTest, IsContiguousOfDifferentRanks) {
  EXPECT_DEATH(static_cast<void>(IsContiguous(Shape{2, 3}, Strides{1})),
               "IsContiguous: rank 2 with 1 strides");
  EXPECT_DEATH(static_cast<void>(IsContiguous(Shape{0}, Strides{})),
               "IsContiguous: rank 1 with 0 strides");
}

class DimVectorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(DimVectorDeathTest, IndexOutOfRange) {
  DimVector values{1, 2};
  const DimVector& constant = values;
  EXPECT_DEATH(static_cast<void>(constant[2]), "index 2 is outside \\[0, 2\\)");
  EXPECT_DEATH(static_cast<void>(constant[-1]), "index -1 is outside \\[0, 2\\)");
  EXPECT_DEATH(values[2] = 0, "index 2 is outside \\[0, 2\\)");
  // Not a constant, or GCC warns about the access that the CHECK prevents.
  volatile int lowest = std::numeric_limits<int>::min();
  EXPECT_DEATH(values[lowest] = 0, "is outside \\[0, 2\\)");
}

TEST_F(DimVectorDeathTest, PopBackOfNothing) {
  DimVector values{7};
  values.pop_back();
  EXPECT_TRUE(values.empty());
  EXPECT_DEATH(values.pop_back(), "pop_back: no values");
}

TEST_F(DimVectorDeathTest, MoreThanEightValues) {
  DimVector full{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_DEATH(full.push_back(9), "push_back: more than 8 values");
  EXPECT_DEATH((static_cast<void>(DimVector{1, 2, 3, 4, 5, 6, 7, 8, 9})), "more than 8 values");
  const std::array<std::int64_t, 9> nine{};
  EXPECT_DEATH(static_cast<void>(DimVector(nine)), "more than 8 values");
}

}  // namespace
}  // namespace engine::tensor
