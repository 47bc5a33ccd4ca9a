// Extents, mappings and strides.
#include "dense/layout.h"

#include "dense_test_util.h"

namespace engine::dense::internal {
namespace {

using ::engine::testing::StatusIs;

TEST(DenseLayoutTest, CanonicalStridesCountZeroAsOne) {
  using Row = Mapping<3, RowMajor>;
  using Column = Mapping<3, ColumnMajor>;
  EXPECT_EQ(Row({2, 3, 4}).strides(), (Extents<3>{12, 4, 1}));
  EXPECT_EQ(Column({2, 3, 4}).strides(), (Extents<3>{1, 2, 6}));
  EXPECT_EQ(Row({2, 0, 3}).strides(), (Extents<3>{3, 3, 1}));  // P31
  EXPECT_EQ(Column({2, 0, 3}).strides(), (Extents<3>{1, 2, 2}));
  EXPECT_EQ((Mapping<0, RowMajor>().strides()), Extents<0>{});
  EXPECT_EQ((Mapping<0, RowMajor>().numel()), 1);
  EXPECT_EQ((Mapping<2, RowMajor>().numel()), 0);
}

// The formula, spelled out for each layout.
TEST(DenseLayoutTest, OffsetsFollowTheStrides) {
  const Mapping<3, RowMajor> row({2, 3, 4});
  const Mapping<3, ColumnMajor> column({2, 3, 4});
  const Mapping<3, Strided> strided({2, 3, 4}, {100, 1, 7});
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        EXPECT_EQ(row.Offset({i, j, k}), 12 * i + 4 * j + k);
        EXPECT_EQ(column.Offset({i, j, k}), i + 2 * j + 6 * k);
        EXPECT_EQ(strided.Offset({i, j, k}), 100 * i + j + 7 * k);
      }
    }
  }
  EXPECT_EQ((Mapping<0, ColumnMajor>().Offset({})), 0);
}

TEST(DenseLayoutTest, CanonicalMappingsCarryNoStrides) {
  EXPECT_EQ(sizeof(Mapping<2, RowMajor>), sizeof(Extents<2>));
  EXPECT_EQ(sizeof(Mapping<2, Strided>), 2 * sizeof(Extents<2>));
}

// P30: which strides are canonical; axes of extent 1 and empty shapes do not matter.
TEST(DenseLayoutTest, IsCanonical) {
  const auto row = [](std::vector<std::int64_t> extents, std::vector<std::int64_t> strides) {
    return IsCanonical(extents, strides, LayoutKind::kRowMajor);
  };
  const auto column = [](std::vector<std::int64_t> extents, std::vector<std::int64_t> strides) {
    return IsCanonical(extents, strides, LayoutKind::kColumnMajor);
  };
  EXPECT_TRUE(row({1}, {3}));
  EXPECT_TRUE(row({1, 3, 1, 4, 1}, {0, 4, 0, 1, 0}));
  EXPECT_FALSE(row({3, 3}, {0, 0}));
  EXPECT_TRUE(row({0, 0, 0}, {9, 9, 9}));
  EXPECT_TRUE(row({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(row({2, 1, 3}, {6, 3, 1}));
  EXPECT_TRUE(row({}, {}));
  EXPECT_TRUE(column({2, 1, 3}, {1, 99, 2}));
  EXPECT_FALSE(column({2, 1, 3}, {3, 99, 1}));
  EXPECT_TRUE(column({5}, {1}));
  EXPECT_FALSE(IsCanonical(std::vector<std::int64_t>{2}, std::vector<std::int64_t>{1},
                           LayoutKind::kStrided));
}

TEST(DenseLayoutTest, ReachIsOnePastTheLastElement) {
  const auto reach = [](const tensor::Shape& shape, std::vector<std::int64_t> strides) {
    return StridedReach("test", shape, strides, /*exclusive=*/true);
  };
  EXPECT_EQ(Value(reach({3, 4}, {4, 1})), 12);
  EXPECT_EQ(Value(reach({3, 4}, {1, 3})), 12);
  EXPECT_EQ(Value(reach({3, 4}, {10, 2})), 27);
  EXPECT_EQ(Value(reach({3, 1}, {5, 0})), 11);  // stride 0 where it does not matter
  EXPECT_EQ(Value(reach({0, 4}, {0, 0})), 0);
  EXPECT_EQ(Value(reach({}, {})), 1);
}

TEST(DenseLayoutTest, ReachRefusesWhatTwoElementsShare) {
  const auto reach = [](const tensor::Shape& shape, std::vector<std::int64_t> strides,
                        bool exclusive) { return StridedReach("test", shape, strides, exclusive); };
  EXPECT_THAT(reach({3, 3}, {2, 1}, true), StatusIs(kInvalid, "give two elements one place"));
  EXPECT_EQ(Value(reach({3, 3}, {2, 1}, false)), 7);
  EXPECT_THAT(reach({2, 2}, {1, 1}, true), StatusIs(kInvalid, "(layout.strided)"));
  EXPECT_THAT(reach({2, 2}, {0, 1}, false), StatusIs(kInvalid, "have a 0"));
  EXPECT_THAT(reach({2, 2}, {-2, 1}, false), StatusIs(kInvalid, "negative"));
  EXPECT_THAT(reach({2, 1}, {1, -1}, false), StatusIs(kInvalid, "negative"));
  EXPECT_THAT(reach({0, 3}, {-5, 1}, false), StatusIs(kInvalid, "negative"));
  EXPECT_THAT(reach({3, 2}, {kInt64Max / 2, 1}, false), StatusIs(kInvalid, "beyond int64_t"));
  EXPECT_THAT(reach({3, 2}, {kInt64Max, 1}, false), StatusIs(kInvalid, "beyond int64_t"));
}

// An unsigned value that int64_t cannot hold must not turn into -1, which means "infer".
TEST(DenseLayoutTest, HugeUnsignedExtentsSaturate) {
  EXPECT_EQ(ToIndex(std::uint64_t{0xFFFFFFFFFFFFFFFFu}), kInt64Max);
  EXPECT_EQ(ToIndex(std::size_t{1} << 63), kInt64Max);
  EXPECT_EQ(ToIndex(std::uint64_t{7}), 7);
  EXPECT_EQ(ToIndex(std::uint32_t{0xFFFFFFFFu}), 4294967295);
  EXPECT_EQ(ToIndex(std::int8_t{-1}), -1);
}

}  // namespace
}  // namespace engine::dense::internal
