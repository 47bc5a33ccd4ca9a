#include "strided/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tensor/shape.h"
#include "testing/death_test_style.h"
#include "testing/random_layout.h"
#include "testing/reference.h"

namespace engine::strided {

static bool operator==(const Axis& a, const Axis& b) {
  return a.extent == b.extent && a.dst_stride == b.dst_stride && a.src_stride == b.src_stride;
}
static void PrintTo(const Axis& axis, std::ostream* out) {
  *out << "{" << axis.extent << ", dst " << axis.dst_stride << ", src " << axis.src_stride << "}";
}

namespace {

using tensor::DimVector;
using tensor::RowMajorStrides;
using tensor::Shape;
using tensor::Strides;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::vector<Axis> AxesOf(const Layout& layout) {
  return {layout.axes.begin(), layout.axes.begin() + layout.rank};
}
std::vector<Axis> NormalizedAxes(const Shape& shape, const Strides& dst, const Strides& src) {
  const Layout layout = NormalizeLayout(shape, dst, src);
  EXPECT_EQ(layout.numel, shape.numel());
  return AxesOf(layout);
}
using Axes = std::vector<Axis>;

// Fewest axes, in destination order, that visit the same pairs of elements.

TEST(NormalizeLayoutTest, ContiguousSidesBecomeOneAxis) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(NormalizedAxes(shape, RowMajorStrides(shape), RowMajorStrides(shape)),
            (Axes{{24, 1, 1}}));
}

TEST(NormalizeLayoutTest, ScalarsAndEmptyShapesHaveNoAxes) {
  const Layout scalar = NormalizeLayout({}, {}, {});
  EXPECT_EQ(scalar.rank, 0);
  EXPECT_EQ(scalar.numel, 1);
  const Layout empty = NormalizeLayout({3, 0, 2}, {2, 2, 1}, {9, kMax, 7});
  EXPECT_EQ(empty.rank, 0);
  EXPECT_EQ(empty.numel, 0);
}

// P41: all extents 1 leave no axis, and still one element.
TEST(NormalizeLayoutTest, AxesOfExtentOneAreDropped) {
  EXPECT_EQ(NormalizedAxes({1, 1, 1}, {kMax, 0, 3}, {1, kMax, kMax}), Axes{});
  EXPECT_EQ(NormalizedAxes({2, 1, 3}, {3, 77, 1}, {3, kMax, 1}), (Axes{{6, 1, 1}}));
  EXPECT_EQ(NormalizedAxes({1, 5, 1}, {0, 2, 0}, {0, 3, 0}), (Axes{{5, 2, 3}}));
}

TEST(NormalizeLayoutTest, AxesAreOrderedByDestinationStride) {
  // A transposed source into a contiguous destination, and the reverse.
  EXPECT_EQ(NormalizedAxes({2, 3}, {3, 1}, {1, 2}), (Axes{{2, 3, 1}, {3, 1, 2}}));
  EXPECT_EQ(NormalizedAxes({2, 3}, {1, 2}, {3, 1}), (Axes{{3, 2, 1}, {2, 1, 3}}));
  EXPECT_EQ(NormalizedAxes({5, 7, 3}, {10, 100, 1}, {1, 2, 3}),
            (Axes{{7, 100, 2}, {5, 10, 1}, {3, 1, 3}}));
}

TEST(NormalizeLayoutTest, SourceStrideBreaksTies) {
  EXPECT_EQ(NormalizedAxes({2, 3}, {1, 1}, {1, 5}), (Axes{{3, 1, 5}, {2, 1, 1}}));
}

TEST(NormalizeLayoutTest, AxesMergeOnlyWhereBothSidesAllow) {
  // The source is an inner slice: rows of 4 out of 10.
  EXPECT_EQ(NormalizedAxes({2, 3, 4}, {12, 4, 1}, {30, 10, 1}), (Axes{{6, 4, 10}, {4, 1, 1}}));
  EXPECT_EQ(NormalizedAxes({2, 3, 4}, {30, 10, 1}, {12, 4, 1}), (Axes{{6, 10, 4}, {4, 1, 1}}));
  // The two sides break at different axes.
  EXPECT_EQ(NormalizedAxes({2, 3, 4}, {12, 4, 1}, {13, 4, 1}), (Axes{{2, 12, 13}, {12, 1, 1}}));
  EXPECT_EQ(NormalizedAxes({2, 3, 4}, {99, 4, 1}, {30, 10, 1}),
            (Axes{{2, 99, 30}, {3, 4, 10}, {4, 1, 1}}));
  // Every second element on both sides is still one walk.
  EXPECT_EQ(NormalizedAxes({3, 4}, {8, 2}, {12, 3}), (Axes{{12, 2, 3}}));
}

TEST(NormalizeLayoutTest, EqualPermutationsMergeIntoOneAxis) {
  EXPECT_EQ(NormalizedAxes({2, 3, 4}, {1, 2, 6}, {1, 2, 6}), (Axes{{24, 1, 1}}));
  EXPECT_EQ(NormalizedAxes({2, 1, 3, 1, 2, 1, 2, 3}, {36, 5, 12, 5, 6, 5, 3, 1},
                           {36, 36, 12, 12, 6, 6, 3, 1}),
            (Axes{{72, 1, 1}}));
}

// Products that leave int64_t decide that axes do not merge; nothing overflows (UBSan).
TEST(NormalizeLayoutTest, ExtremeStridesNeitherMergeNorOverflow) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(NormalizedAxes({2, 4}, {kMax, kHuge}, {kMax, kHuge}),
            (Axes{{2, kMax, kMax}, {4, kHuge, kHuge}}));
  // 5 * (2^62 + 1) is 2^62 + 5 modulo 2^64: a wrapping product would merge these.
  EXPECT_EQ(NormalizedAxes({2, 5}, {kHuge + 5, kHuge + 1}, {5, 1}),
            (Axes{{2, kHuge + 5, 5}, {5, kHuge + 1, 1}}));
  EXPECT_EQ(NormalizedAxes({2, 5}, {5, 1}, {kHuge + 5, kHuge + 1}),
            (Axes{{2, 5, kHuge + 5}, {5, 1, kHuge + 1}}));
  EXPECT_EQ(NormalizedAxes({2, 4}, {0, kHuge}, {0, kHuge}), (Axes{{4, kHuge, kHuge}, {2, 0, 0}}));
}

// The normalised walk pairs the same destination and source elements as the coordinates do.
TEST(NormalizeLayoutTest, VisitsTheSamePairsForRandomLayouts) {
  constexpr std::uint64_t kSeed = 20240601;
  testing::RandomDraw draw(kSeed);
  for (int trial = 0; trial < 500; ++trial) {
    const Shape shape = testing::DrawShape(draw, 200);
    const Strides dst = testing::DrawLayout(draw, shape, false).strides;
    const Strides src = testing::DrawLayout(draw, shape, trial % 3 == 0).strides;
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << " trial " << trial);
    using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
    Pairs expected;
    testing::reference::ForEachCoordinates(shape, [&](const DimVector& coordinates) {
      expected.emplace_back(testing::reference::OffsetAt(coordinates, dst),
                            testing::reference::OffsetAt(coordinates, src));
    });
    const Layout layout = NormalizeLayout(shape, dst, src);
    Pairs visited;
    if (layout.numel > 0) visited.emplace_back(0, 0);
    for (const Axis& axis : AxesOf(layout)) {
      EXPECT_GT(axis.extent, 1);
      Pairs product;
      for (const auto& [dst_offset, src_offset] : visited) {
        for (std::int64_t i = 0; i < axis.extent; ++i) {
          product.emplace_back(dst_offset + i * axis.dst_stride, src_offset + i * axis.src_stride);
        }
      }
      visited = product;
    }
    const Axes axes = AxesOf(layout);
    EXPECT_TRUE(std::is_sorted(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
      return a.dst_stride > b.dst_stride;
    }));
    std::sort(expected.begin(), expected.end());
    std::sort(visited.begin(), visited.end());
    ASSERT_EQ(visited, expected);
  }
}

// Logical order, one innermost row per call.

struct Row {
  std::int64_t offset_a;
  std::int64_t offset_b;
  std::int64_t inner_a;
  std::int64_t inner_b;
  std::int64_t count;
  std::int64_t first;
  friend bool operator==(const Row&, const Row&) = default;
  friend void PrintTo(const Row& row, std::ostream* out) {
    *out << "{" << row.offset_a << " " << row.offset_b << " " << row.inner_a << " " << row.inner_b
         << " count " << row.count << " first " << row.first << "}";
  }
};

std::vector<Row> RowsOf(const Shape& shape, const Strides& a, const Strides& b,
                        std::size_t max_rows = 1000) {
  std::vector<Row> rows;
  ForEachRow<2>(
      shape, {&a, &b},
      [&](const auto& offsets, const auto& inner, std::int64_t count, std::int64_t first) {
        rows.push_back({offsets[0], offsets[1], inner[0], inner[1], count, first});
        return rows.size() < max_rows;
      });
  return rows;
}

TEST(ForEachRowTest, GivesRowsInLogicalOrder) {
  EXPECT_EQ(RowsOf({2, 2, 3}, {6, 3, 1}, {1, 2, 4}),
            (std::vector<Row>{
                {0, 0, 1, 4, 3, 0}, {3, 2, 1, 4, 3, 3}, {6, 1, 1, 4, 3, 6}, {9, 3, 1, 4, 3, 9}}));
}

TEST(ForEachRowTest, AScalarIsOneRowOfOneElement) {
  EXPECT_EQ(RowsOf({}, {}, {}), (std::vector<Row>{{0, 0, 0, 0, 1, 0}}));
}

TEST(ForEachRowTest, RankOneIsOneRow) {
  EXPECT_EQ(RowsOf({5}, {2}, {7}), (std::vector<Row>{{0, 0, 2, 7, 5, 0}}));
}

// Nothing is to be stepped over, and the stride may be too large to.
TEST(ForEachRowTest, RowsOfOneElementHaveNoStride) {
  EXPECT_EQ(RowsOf({2, 1}, {3, kMax}, {1, -kMax}),
            (std::vector<Row>{{0, 0, 0, 0, 1, 0}, {3, 1, 0, 0, 1, 1}}));
}

TEST(ForEachRowTest, AnEmptyShapeHasNoRows) {
  EXPECT_TRUE(RowsOf({0}, {1}, {1}).empty());
  EXPECT_TRUE(RowsOf({0, 3}, {3, 1}, {3, 1}).empty());
  EXPECT_TRUE(RowsOf({3, 0}, {1, 1}, {1, 1}).empty());
}

TEST(ForEachRowTest, StopsWhenTheCallbackSaysSo) {
  EXPECT_EQ(RowsOf({4, 2}, {2, 1}, {2, 1}, 3).size(), 3u);
}

TEST(ForEachRowTest, VisitsEveryElementOnceForRandomLayouts) {
  constexpr std::uint64_t kSeed = 20240602;
  testing::RandomDraw draw(kSeed);
  for (int trial = 0; trial < 300; ++trial) {
    const Shape shape = testing::DrawShape(draw, 200);
    const Strides a = testing::DrawLayout(draw, shape, false).strides;
    const Strides b = testing::DrawLayout(draw, shape, true).strides;
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << " trial " << trial);
    std::vector<std::array<std::int64_t, 3>> expected;
    testing::reference::ForEachCoordinates(shape, [&](const DimVector& coordinates) {
      expected.push_back({testing::reference::OffsetAt(coordinates, a),
                          testing::reference::OffsetAt(coordinates, b),
                          static_cast<std::int64_t>(expected.size())});
    });
    std::vector<std::array<std::int64_t, 3>> visited;
    for (const Row& row : RowsOf(shape, a, b)) {
      for (std::int64_t i = 0; i < row.count; ++i) {
        visited.push_back(
            {row.offset_a + i * row.inner_a, row.offset_b + i * row.inner_b, row.first + i});
      }
    }
    ASSERT_EQ(visited, expected);
  }
}

// Row-major index to coordinates and offset.

TEST(CoordinatesOfTest, CountsTheLastAxisFastest) {
  const Shape shape{2, 1, 3};
  EXPECT_EQ(CoordinatesOf(0, shape), (DimVector{0, 0, 0}));
  EXPECT_EQ(CoordinatesOf(2, shape), (DimVector{0, 0, 2}));
  EXPECT_EQ(CoordinatesOf(3, shape), (DimVector{1, 0, 0}));
  EXPECT_EQ(CoordinatesOf(5, shape), (DimVector{1, 0, 2}));
  EXPECT_EQ(CoordinatesOf(0, Shape{}), DimVector{});
}

TEST(CoordinatesOfTest, AgreesWithCountingForRandomShapes) {
  testing::RandomDraw draw(20240603);
  for (int trial = 0; trial < 100; ++trial) {
    const Shape shape = testing::DrawShape(draw, 200);
    const Strides strides = testing::DrawLayout(draw, shape, false).strides;
    std::int64_t index = 0;
    testing::reference::ForEachCoordinates(shape, [&](const DimVector& coordinates) {
      EXPECT_EQ(CoordinatesOf(index, shape), coordinates);
      EXPECT_EQ(OffsetOf(index, shape, strides),
                testing::reference::OffsetAt(coordinates, strides));
      ++index;
    });
  }
}

TEST(OffsetOfTest, AppliesTheStrides) {
  EXPECT_EQ(OffsetOf(53, {3, 4, 5}, {20, 5, 1}), 53);
  EXPECT_EQ(OffsetOf(5, {2, 3}, {1, 10}), 21);
  // P42: beyond 2^31.
  EXPECT_EQ(OffsetOf(2, {3, 1}, {std::int64_t{1} << 30, 1}), std::int64_t{1} << 31);
}

class LayoutDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(LayoutDeathTest, NormalizeLayoutChecksTheRanks) {
  EXPECT_DEATH(static_cast<void>(NormalizeLayout({2, 3}, {1}, {3, 1})), "differ in rank");
  EXPECT_DEATH(static_cast<void>(NormalizeLayout({2, 3}, {3, 1}, {3, 1, 1})), "differ in rank");
}

TEST_F(LayoutDeathTest, IndicesOutsideTheShapeAreChecked) {
  EXPECT_DEATH(static_cast<void>(CoordinatesOf(-1, {2, 3})), "element -1 is outside");
  EXPECT_DEATH(static_cast<void>(CoordinatesOf(6, {2, 3})), "element 6 is outside");
  EXPECT_DEATH(static_cast<void>(CoordinatesOf(0, {0})), "element 0 is outside");
  EXPECT_DEATH(static_cast<void>(OffsetOf(6, {2, 3}, {3, 1})), "element 6 is outside");
}

TEST_F(LayoutDeathTest, OffsetOfChecksTheRanks) {
  EXPECT_DEATH(static_cast<void>(OffsetOf(0, {2, 3}, {3})), "outside \\[0, 1\\)");
}

}  // namespace
}  // namespace engine::strided
