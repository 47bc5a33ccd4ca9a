// copy, make_tensor, cast and allclose of tensors in memory (clauses mat.*, op.*).
#include "dense/operations.h"

#include <array>
#include <numeric>

#include "dense_test_util.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

template <typename Result, typename Layout>
constexpr bool kHasLayout =
    std::same_as<typename std::remove_cvref_t<Result>::value_type::layout_type, Layout>;

// mat.layout: canonical layouts are kept, everything else becomes RowMajor.
TEST(MakeTensorTest, LayoutOfTheResult) {
  const DenseMatrix<float> row(2, 3);
  const DenseMatrix<float, ColumnMajor> column(2, 3);
  static_assert(kHasLayout<decltype(make_tensor(row)), RowMajor>);
  static_assert(kHasLayout<decltype(make_tensor(column)), ColumnMajor>);
  static_assert(kHasLayout<decltype(make_tensor(column.view())), ColumnMajor>);
  static_assert(kHasLayout<decltype(make_tensor(column.view().AsStrided())), RowMajor>);
  static_assert(kHasLayout<decltype(make_tensor<ColumnMajor>(row)), ColumnMajor>);
  static_assert(kHasLayout<decltype(make_tensor<RowMajor>(column)), RowMajor>);
}

TEST(MakeTensorTest, CopiesValuesIntoFreshStorage) {
  const auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  CountingAllocator allocator;
  const auto same = Value(make_tensor(column, &allocator));
  EXPECT_NE(same.data(), column.data());
  EXPECT_THAT(same, ElementsAreArray(column));
  const auto row = Value(make_tensor<RowMajor>(column, &allocator));
  EXPECT_THAT(row, ElementsAre(0, 1, 2, 10, 11, 12));
  const auto from_strided = Value(make_tensor(column.view().AsStrided(), &allocator));
  EXPECT_THAT(from_strided, ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_EQ(allocator.counts()->allocations, 3);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
  CountingAllocator none(/*successes=*/0);
  EXPECT_THAT(make_tensor(column, &none), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(make_tensor<RowMajor>(column, &none), StatusIs(core::kOutOfMemory));
}

// P40: small primes, all permutations of layouts.
TEST(MakeTensorTest, TransposedCopiesOfSmallPrimes) {
  const auto base = Counting<std::int32_t, 3>({7, 5, 3});
  const auto turned =
      Value(DenseView<const std::int32_t, 3, Strided>::Create(base.span(), {7, 3, 5}, {15, 1, 3}));
  const auto copy = Value(make_tensor(turned));
  EXPECT_THAT(std::vector<std::int32_t>(copy.begin(), copy.begin() + 12),
              ElementsAre(0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5));
  std::int64_t weighted = 0;
  for (std::int64_t i = 0; i < copy.numel(); ++i) weighted += i * copy.data()[i];
  EXPECT_EQ(weighted, 379400);
}

// P41, P45: one element behind axes of extent 1; none at all.
TEST(MakeTensorTest, OneElementAndNone) {
  DenseTensor<float, 3> one(1, 1, 1);
  one(0, 0, 0) = 3;
  EXPECT_EQ(Value(make_tensor<ColumnMajor>(one))(0, 0, 0), 3);
  const DenseMatrix<float> none(0, 4);
  EXPECT_EQ(Value(make_tensor(none)).extents(), (Extents<2>{0, 4}));
  EXPECT_EQ(Value(make_tensor<ColumnMajor>(none)).data(), nullptr);
  ScalarTensor<float> scalar;
  scalar() = 4;
  EXPECT_EQ(Value(make_tensor(scalar))(), 4);
}

TEST(DenseCopyTest, BetweenLayouts) {
  const DenseMatrix<std::int32_t> row = Coordinates(3, 5);
  DenseMatrix<std::int32_t, ColumnMajor> column(3, 5);
  const std::int32_t* const storage = column.data();
  ENGINE_ASSERT_OK(copy(column, row));
  EXPECT_EQ(column.data(), storage);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) EXPECT_EQ(column(i, j), 10 * i + j);
  }
  EXPECT_THAT(
      copy(column, DenseMatrix<std::int32_t>(5, 3)),
      StatusIs(kInvalid, "copy: the destination has shape [3, 5], the source [5, 3] (op.copy)"));
}

// P38: interleaved but disjoint views of one allocation.
TEST(DenseCopyTest, InterleavedViews) {
  DenseMatrix<std::int32_t> base = Counting<std::int32_t, 2>({5, 5});
  const auto part = [&](std::size_t first) {
    return Value(
        DenseView<std::int32_t, 2, Strided>::Create(base.span().subspan(first), {2, 2}, {5, 1}));
  };
  ENGINE_ASSERT_OK(copy(part(15), part(17)));
  EXPECT_THAT(InMemory(base.data() + 15, 10), ElementsAre(17, 18, 17, 18, 19, 22, 23, 22, 23, 24));
}

// P39: the same view on both sides.
TEST(DenseCopyTest, OntoItself) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  ENGINE_ASSERT_OK(copy(matrix, matrix));
  ENGINE_ASSERT_OK(copy(matrix.view().AsStrided(), matrix));
  EXPECT_THAT(matrix, ElementsAre(0, 1, 2, 10, 11, 12));
  DenseTensor<std::int32_t, 0> scalar;
  scalar() = 6;
  ENGINE_ASSERT_OK(copy(scalar, scalar));
  EXPECT_EQ(scalar(), 6);
}

TEST(DenseCastTest, ValuesAndLayout) {
  DenseMatrix<float, ColumnMajor> floats(2, 2);
  floats(0, 1) = -0.99999994f;  // P17
  floats(1, 0) = 255.99998f;
  const auto bytes = Value(cast<std::uint8_t>(floats));
  static_assert(std::same_as<decltype(bytes), const DenseMatrix<std::uint8_t, ColumnMajor>>);
  EXPECT_EQ(bytes(0, 1), 0);
  EXPECT_EQ(bytes(1, 0), 255);
  floats(1, 1) = 256;
  EXPECT_THAT(cast<std::uint8_t>(floats), StatusIs(kInvalid, "[1, 1] (element 3)"));
  DenseMatrix<std::uint8_t> target(2, 2);
  EXPECT_THAT(cast_into(target, floats), StatusIs(kInvalid, "256"));
  EXPECT_THAT(cast_into(DenseMatrix<double>(1, 2), floats), StatusIs(kInvalid, "shape [1, 2]"));
  const auto same = Value(cast<float>(floats));
  EXPECT_THAT(same, ElementsAreArray(floats));
  // bool takes no part.
  static_assert(!CastableTo<DenseMatrix<bool>, float> && !CastableTo<DenseMatrix<float>, bool>);
}

TEST(DenseCastTest, TakesOneAllocation) {
  CountingAllocator allocator;
  const DenseMatrix<float> floats(8, 8);
  ENGINE_ASSERT_OK(cast<tensor::float16>(floats, &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
  CountingAllocator none(/*successes=*/0);
  EXPECT_THAT(cast<tensor::float16>(floats, &none), StatusIs(core::kOutOfMemory));
}

TEST(DenseAllCloseTest, AcrossLayouts) {
  const auto row = Coordinates<float>(3, 4);
  auto column = Coordinates<float, ColumnMajor>(3, 4);
  EXPECT_TRUE(Value(allclose(row, column)).close);
  column(2, 1) += 1;
  const auto result = Value(allclose(row, column.view().AsStrided()));
  EXPECT_EQ(result.mismatch_count, 1);
  EXPECT_EQ(result.worst_index, tensor::DimVector({2, 1}));
  EXPECT_EQ(result.worst_a, 21);
  EXPECT_EQ(result.worst_b, 22);
  EXPECT_THAT(allclose(row, DenseMatrix<float>(4, 3)), StatusIs(kInvalid));
  EXPECT_THAT(allclose(row, row, {.rtol = -1, .atol = 0}), StatusIs(kInvalid));
  EXPECT_TRUE(Value(allclose(DenseMatrix<float>(0, 3), DenseMatrix<float>(0, 3))).close);
  // P65: integers exactly.
  DenseVector<std::int64_t> a(1);
  DenseVector<std::int64_t> b(1);
  a(0) = kOne << 53;
  b(0) = (kOne << 53) + 1;
  EXPECT_FALSE(Value(allclose(a, b)).close);
}

}  // namespace
}  // namespace engine::dense
