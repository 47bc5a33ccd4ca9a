// reshape_view, reshape_view_left and reshape_view_right (clauses reshape.*): aliases only.
#include "dense/reshape.h"

#include <array>

#include "dense_test_util.h"
#include "testing/tensors.h"

namespace engine::dense {
namespace {

using ::engine::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Result>
using ViewIn = typename std::remove_cvref_t<Result>::value_type;

TEST(ReshapeViewTest, AliasesInTheOrderOfTheSource) {
  DenseMatrix<std::int32_t> row = Coordinates(2, 3);
  const auto view = Value(reshape_view(row, 3, 2));
  static_assert(std::same_as<decltype(view), const DenseView<std::int32_t, 2, RowMajor>>);
  EXPECT_EQ(view.data(), row.data());
  EXPECT_EQ(view(1, 0), 2);
  EXPECT_EQ(view(1, 1), 10);
  view(1, 1) = -10;
  EXPECT_EQ(row(1, 0), -10);

  auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  const auto turned = Value(reshape_view(column, Extents<3>{3, 1, 2}));
  static_assert(std::same_as<decltype(turned), const DenseView<std::int32_t, 3, ColumnMajor>>);
  EXPECT_EQ(turned.data(), column.data());
  EXPECT_EQ(turned(2, 0, 0), 1);  // memory: 0 10 1 11 2 12
  EXPECT_EQ(turned(0, 0, 1), 11);
}

TEST(ReshapeViewTest, ConstSourcesGiveReadOnlyViews) {
  const DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  static_assert(std::same_as<ViewIn<decltype(reshape_view(matrix, 6))>,
                             DenseView<const std::int32_t, 1, RowMajor>>);
  DenseMatrix<std::int32_t> writable = matrix;
  const DenseView<const std::int32_t, 2> read_only = writable.view();
  static_assert(std::same_as<ViewIn<decltype(reshape_view(read_only, 6))>,
                             DenseView<const std::int32_t, 1, RowMajor>>);
  // Const of the view itself is shallow.
  const DenseView<std::int32_t, 2> shallow = writable.view();
  static_assert(std::same_as<ViewIn<decltype(reshape_view(shallow, 6))>,
                             DenseView<std::int32_t, 1, RowMajor>>);
}

// The order is in the type, so it survives shapes in which it could not be told from strides.
TEST(ReshapeViewTest, NestedReshapesKeepTheOrder) {
  auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  const auto flat = Value(reshape_view(column, 6));
  const auto singleton = Value(reshape_view(flat, 1, 6, 1));
  const auto back = Value(reshape_view(singleton, 2, -1));
  static_assert(std::same_as<decltype(back), const DenseView<std::int32_t, 2, ColumnMajor>>);
  EXPECT_EQ(back.data(), column.data());
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(back(i, j), 10 * i + j);
  }
  // A view of a view that was never named.
  EXPECT_EQ(Value(reshape_view(Value(reshape_view(column, 3, 2)), 6))(5), 12);
}

TEST(ReshapeViewTest, RankZero) {
  DenseMatrix<std::int32_t> one(1, 1);
  one(0, 0) = 5;
  const auto scalar = Value(reshape_view(one));
  static_assert(std::same_as<decltype(scalar), const DenseView<std::int32_t, 0, RowMajor>>);
  EXPECT_EQ(scalar(), 5);
  ScalarTensor<std::int32_t> source;
  source() = 6;
  EXPECT_EQ(Value(reshape_view(source, 1, 1, 1))(0, 0, 0), 6);
  EXPECT_EQ(Value(reshape_view(source, -1))(0), 6);
  DenseMatrix<std::int32_t> two(1, 2);
  EXPECT_THAT(reshape_view(two), StatusIs(kInvalid, "2 elements do not fit [] (reshape.count)"));
}

TEST(ReshapeViewTest, InfersOneExtent) {
  DenseTensor<float, 3> tensor(2, 3, 4);
  EXPECT_EQ(Value(reshape_view(tensor, -1)).extents(), (Extents<1>{24}));
  EXPECT_EQ(Value(reshape_view(tensor, 6, -1)).extents(), (Extents<2>{6, 4}));
  EXPECT_EQ(Value(reshape_view(tensor, -1, 24, 1)).extents(), (Extents<3>{1, 24, 1}));
  EXPECT_THAT(reshape_view(tensor, 5, -1),
              StatusIs(kInvalid, "reshape_view: 24 elements do not fit [5, -1] (reshape.count)"));
  EXPECT_THAT(reshape_view(tensor, 48, -1), StatusIs(kInvalid, "(reshape.count)"));
}

// P35: without elements -1 is 0, except beside another 0, where it could be anything.
TEST(ReshapeViewTest, InfersWithoutElements) {
  DenseMatrix<float> none(4, 0);
  EXPECT_EQ(Value(reshape_view(none, 37, -1)).extents(), (Extents<2>{37, 0}));
  EXPECT_EQ(Value(reshape_view(none, 37, 0)).extents(), (Extents<2>{37, 0}));
  EXPECT_EQ(Value(reshape_view(none, -1)).extents(), (Extents<1>{0}));
  EXPECT_EQ(Value(reshape_view(none, 0, 5)).extents(), (Extents<2>{0, 5}));
  EXPECT_THAT(reshape_view(none, 0, -1),
              StatusIs(kInvalid, AllOf(HasSubstr("[0, -1]"), HasSubstr("(reshape.infer)"))));
  EXPECT_THAT(reshape_view(none, 4), StatusIs(kInvalid, "0 elements do not fit [4]"));
  DenseMatrix<float> some(2, 2);
  EXPECT_THAT(reshape_view(some, 0, -1), StatusIs(kInvalid, "(reshape.infer)"));
  EXPECT_THAT(reshape_view(some, 0), StatusIs(kInvalid, "(reshape.count)"));
}

TEST(ReshapeViewTest, RefusesExtentsThatAreNone) {
  DenseTensor<float, 3> tensor(2, 3, 4);
  EXPECT_THAT(reshape_view(tensor, -1, -1),
              StatusIs(kInvalid, "[-1, -1] has more than one -1 (reshape.infer)"));
  EXPECT_THAT(reshape_view(tensor, -2, -12), StatusIs(kInvalid, "extent -2 in [-2, -12]"));
  EXPECT_THAT(reshape_view(tensor, kInt64Min), StatusIs(kInvalid, "(reshape.infer)"));
  EXPECT_THAT(reshape_view(tensor, kOne << 32, kOne << 32), StatusIs(kInvalid, "overflows"));
  EXPECT_THAT(reshape_view(tensor, kOne << 32, kOne << 32, -1), StatusIs(kInvalid, "overflows"));
  // P26: beside a 0 too, in any place.
  EXPECT_THAT(reshape_view(tensor, 0, kOne << 32, kOne << 32), StatusIs(kInvalid, "overflows"));
  EXPECT_THAT(reshape_view(tensor, kOne << 32, kOne << 32, 0), StatusIs(kInvalid, "overflows"));
  // Two factors whose product wraps to 24.
  EXPECT_THAT(reshape_view(tensor, (kOne << 61) + 3, 8), StatusIs(kInvalid, "overflows"));
  // SIZE_MAX is no way to write -1.
  EXPECT_THAT(reshape_view(tensor, std::size_t{24}, ~std::size_t{0}), StatusIs(kInvalid));
  EXPECT_EQ(tensor.extents(), (Extents<3>{2, 3, 4}));
}

// Strided sources name the order; it has to be the one that the strides have.
TEST(ReshapeViewOrderTest, StridedSources) {
  std::array<std::int32_t, 6> memory = {0, 1, 2, 3, 4, 5};
  const auto row = Value(DenseView<std::int32_t, 2, Strided>::Create(memory, {2, 3}, {3, 1}));
  const auto column = Value(DenseView<std::int32_t, 2, Strided>::Create(memory, {2, 3}, {1, 2}));
  const auto right = Value(reshape_view_right(row, 3, -1));
  static_assert(std::same_as<decltype(right), const DenseView<std::int32_t, 2, RowMajor>>);
  EXPECT_EQ(right.data(), memory.data());
  EXPECT_EQ(right(1, 0), 2);
  const auto left = Value(reshape_view_left(column, Extents<2>{3, 2}));
  static_assert(std::same_as<decltype(left), const DenseView<std::int32_t, 2, ColumnMajor>>);
  EXPECT_EQ(left.data(), memory.data());
  EXPECT_EQ(left(1, 0), 1);
  EXPECT_THAT(reshape_view_left(row, 6),
              StatusIs(kInvalid,
                       "reshape_view_left: strides [3, 1] of shape [2, 3] are not "
                       "contiguous in column-major order; copy first (reshape.order)"));
  EXPECT_THAT(reshape_view_right(column, 6), StatusIs(kInvalid, "in row-major order"));
}

TEST(ReshapeViewOrderTest, CanonicalTypesAreJudgedByTheirStrides) {
  DenseMatrix<std::int32_t> matrix(2, 3);
  EXPECT_THAT(reshape_view_left(matrix, 6), StatusIs(kInvalid, "(reshape.order)"));
  ENGINE_EXPECT_OK(reshape_view_right(matrix, 6));
  DenseMatrix<std::int32_t> line(1, 6);  // both orders
  ENGINE_EXPECT_OK(reshape_view_left(line, 2, 3));
  ENGINE_EXPECT_OK(reshape_view_right(line, 2, 3));
}

// The strides of axes of extent 1 address nothing.
TEST(ReshapeViewOrderTest, SingletonStridesDoNotMatter) {
  std::array<std::int32_t, 16> memory{};
  memory[5] = 50;
  const auto odd =
      Value(DenseView<std::int32_t, 4, Strided>::Create(memory, {1, 2, 1, 3}, {99, 3, 7, 1}));
  EXPECT_EQ(Value(reshape_view_right(odd, 6))(5), 50);
  EXPECT_THAT(reshape_view_left(odd, 6), StatusIs(kInvalid));
  const auto turned =
      Value(DenseView<std::int32_t, 4, Strided>::Create(memory, {1, 2, 1, 3}, {0, 1, 5, 2}));
  EXPECT_EQ(Value(reshape_view_left(turned, 6))(5), 50);
}

// P32: what a slice of a tensor leaves on its axes of extent 1.
TEST(ReshapeViewOrderTest, SlicesKeepStrangeStrides) {
  const tensor::Tensor base = testing::Counting({2, 8, 4}, tensor::DataType::kInt32);
  const tensor::Tensor part = *base.slice(0, 1, 2)->slice(1, 7, 8);
  const auto view = Value(DenseView<const std::int32_t, 3, Strided>::Of(part));
  EXPECT_EQ(view.strides(), (Extents<3>{32, 4, 1}));
  const auto flat = Value(reshape_view_right(view, -1));
  EXPECT_EQ(flat.data(), base.data_ptr<std::int32_t>() + 60);
  EXPECT_THAT(flat, ElementsAre(60, 61, 62, 63));
}

// A contiguous source of rank one is in either order; the function decides what the result is.
TEST(ReshapeViewOrderTest, RankOneFitsBoth) {
  std::array<std::int32_t, 6> memory = {0, 1, 2, 3, 4, 5};
  const auto line = Value(DenseView<std::int32_t, 1, Strided>::Create(memory, {6}, {1}));
  EXPECT_EQ(Value(reshape_view_left(line, 2, 3))(1, 0), 1);
  EXPECT_EQ(Value(reshape_view_right(line, 2, 3))(1, 0), 3);
}

TEST(ReshapeViewOrderTest, PaddedAndGappedSourcesAreRefused) {
  std::array<std::int32_t, 32> memory{};
  const auto padded = Value(DenseView<std::int32_t, 2, Strided>::Create(memory, {2, 3}, {4, 1}));
  EXPECT_THAT(reshape_view_right(padded, 6), StatusIs(kInvalid, "(reshape.order)"));
  EXPECT_THAT(reshape_view_left(padded, 6), StatusIs(kInvalid, "(reshape.order)"));
  const auto every_second = Value(DenseView<std::int32_t, 1, Strided>::Create(memory, {6}, {2}));
  EXPECT_THAT(reshape_view_right(every_second, 2, 3), StatusIs(kInvalid, "(reshape.order)"));
  EXPECT_THAT(reshape_view_left(every_second, 6), StatusIs(kInvalid, "(reshape.order)"));
  const auto overlapping =
      Value(DenseView<std::int32_t, 2, Strided>::Create(memory, {3, 3}, {1, 1}));
  EXPECT_THAT(reshape_view_right(overlapping, 9), StatusIs(kInvalid, "(reshape.order)"));
  const auto none = Value(DenseView<std::int32_t, 2, Strided>::Create(memory, {0, 3}, {7, 7}));
  EXPECT_EQ(Value(reshape_view_right(none, 5, 0)).extents(), (Extents<2>{5, 0}));
}

}  // namespace
}  // namespace engine::dense
