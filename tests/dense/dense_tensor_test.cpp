// DenseTensor as a value: construction, copies, moves, element access, errors.
#include "dense/dense_tensor.h"

#include <algorithm>
#include <numeric>

#include "dense_test_util.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DenseTensorTest, MetadataOfEveryLayout) {
  const DenseTensor<float, 3> row(2, 3, 4);
  EXPECT_EQ(row.extents(), (Extents<3>{2, 3, 4}));
  EXPECT_EQ(row.strides(), (Extents<3>{12, 4, 1}));
  EXPECT_EQ(row.extent(1), 3);
  EXPECT_EQ(row.numel(), 24);
  EXPECT_EQ(row.shape(), tensor::Shape({2, 3, 4}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(row.data()) % 64, 0u);
  const DenseTensor<float, 3, ColumnMajor> column(2, 3, 4);
  EXPECT_EQ(column.strides(), (Extents<3>{1, 2, 6}));
}

TEST(DenseTensorTest, ElementsByIndexAndInMemoryOrder) {
  const DenseMatrix<std::int32_t> row = Coordinates(2, 3);
  EXPECT_THAT(row, ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_EQ(&row(1, 2), row.data() + 5);
  const auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  EXPECT_THAT(column, ElementsAre(0, 10, 1, 11, 2, 12));
  EXPECT_EQ(column(1, 2), 12);
  EXPECT_EQ(column.span().data(), column.data());
  EXPECT_EQ(column.span().size(), 6u);
  // Any integer type is an index.
  EXPECT_EQ(row(std::size_t{1}, std::int8_t{1}), 11);
}

TEST(DenseTensorTest, RangeForAndAlgorithmsWrite) {
  DenseMatrix<std::int32_t> matrix(2, 3);
  std::iota(matrix.begin(), matrix.end(), 1);
  for (std::int32_t& element : matrix) element *= 2;
  EXPECT_THAT(matrix, ElementsAre(2, 4, 6, 8, 10, 12));
  std::ranges::reverse(matrix.span());
  EXPECT_EQ(matrix(0, 0), 12);
  static_assert(std::same_as<decltype(*std::as_const(matrix).begin()), const std::int32_t&>);
}

// P29: all eight axes.
TEST(DenseTensorTest, RankEight) {
  DenseTensor<std::int32_t, 8> tensor(2, 1, 3, 1, 2, 1, 2, 3);
  EXPECT_EQ(tensor.numel(), 72);
  tensor(1, 0, 2, 0, 1, 0, 1, 2) = 9;
  EXPECT_EQ(tensor.data()[71], 9);
  const auto turned = DenseTensor<std::int32_t, 8, ColumnMajor>(tensor);
  EXPECT_EQ(turned(1, 0, 2, 0, 1, 0, 1, 2), 9);
}

TEST(DenseTensorTest, CopyingCopiesValues) {
  DenseMatrix<std::int32_t> original = Coordinates(2, 3);
  DenseMatrix<std::int32_t> copy = original;
  EXPECT_NE(copy.data(), original.data());
  original(0, 0) = -1;
  EXPECT_THAT(copy, ElementsAre(0, 1, 2, 10, 11, 12));

  DenseMatrix<std::int32_t> assigned(9, 9);
  assigned = original;
  EXPECT_EQ(assigned.extents(), (Extents<2>{2, 3}));
  EXPECT_EQ(assigned(0, 0), -1);
  EXPECT_NE(assigned.data(), original.data());
  const std::int32_t* const before = assigned.data();
  assigned = *&assigned;  // itself
  EXPECT_EQ(assigned.data(), before);
}

TEST(DenseTensorTest, MovingLeavesTheSourceEmpty) {
  DenseMatrix<std::int32_t> source = Coordinates(2, 3);
  const std::int32_t* const storage = source.data();
  DenseMatrix<std::int32_t> target(std::move(source));
  EXPECT_EQ(target.data(), storage);
  EXPECT_EQ(source.data(), nullptr);  // NOLINT(bugprone-use-after-move): what this is about
  EXPECT_EQ(source.extents(), (Extents<2>{0, 0}));
  EXPECT_TRUE(source.empty());
  source = std::move(target);
  EXPECT_EQ(source.data(), storage);
  DenseMatrix<std::int32_t>& same = source;
  source = std::move(same);
  EXPECT_EQ(source.data(), storage);
}

TEST(DenseTensorTest, MovedFromScalarHasNoElement) {
  ScalarTensor<float> scalar;
  const ScalarTensor<float> taken(std::move(scalar));
  EXPECT_EQ(scalar.numel(), 0);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(scalar.empty());
  EXPECT_EQ(scalar.data(), nullptr);
  EXPECT_TRUE(scalar.span().empty());
  const ScalarTensor<float> copy(scalar);
  EXPECT_EQ(copy.data(), nullptr);
  ENGINE_ASSERT_OK(scalar.reset_shape());
  EXPECT_EQ(scalar(), 0.0f);
}

TEST(DenseTensorTest, StorageIsReleasedOnce) {
  CountingAllocator allocator;
  {
    DenseMatrix<float> a(Extents<2>{2, 3}, &allocator);
    DenseMatrix<float> b = Value(a.Clone(&allocator));
    a = std::move(b);
    EXPECT_EQ(allocator.counts()->deletions, 1);
  }
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->deletions, 2);
}

// The allocator may die before what it made.
TEST(DenseTensorTest, OutlivesItsAllocator) {
  DenseMatrix<float> matrix;
  {
    CountingAllocator allocator;
    ENGINE_ASSERT_OK(matrix.replace(Extents<2>{2, 3}, &allocator));
  }
  matrix(1, 2) = 4;
  const DenseMatrix<float> copy = matrix;
  ENGINE_ASSERT_OK(matrix.reset_shape(1, 1));
  EXPECT_EQ(copy(1, 2), 4);
}

// P25, P26, P27, P28: extents that are no shape, whose bytes overflow, that no machine has.
TEST(DenseTensorTest, CreateReportsWhatCannotBe) {
  using Matrix = DenseMatrix<float>;
  using Cube = DenseTensor<float, 4>;
  EXPECT_THAT(Matrix::Create({-2, -3}), StatusIs(kInvalid, "extent -2 of axis 0"));
  EXPECT_THAT(Matrix::Create({0, -1}), StatusIs(kInvalid, "negative"));
  EXPECT_THAT(Matrix::Create({kInt64Min, 1}), StatusIs(kInvalid));
  EXPECT_THAT(Cube::Create({2, 2, 1, 2305843009213693952}), StatusIs(kInvalid, "overflows"));
  EXPECT_THAT(Cube::Create({2, 2, 0, 9223372036854775806}), StatusIs(kInvalid, "overflows"));
  EXPECT_THAT(Cube::Create({9223372036854775806, 0, 2, 2}), StatusIs(kInvalid, "overflows"));
  EXPECT_EQ(Value(Matrix::Create({0, kInt64Max})).numel(), 0);
  EXPECT_THAT((DenseTensor<float, 3>::Create({4, 1073741823, 1073741825})),
              StatusIs(kInvalid, AllOf(HasSubstr("bytes"), HasSubstr("float32"))));
  EXPECT_THAT((DenseVector<float>::Create({kOne << 61})), StatusIs(kInvalid));
  EXPECT_THAT((DenseVector<std::int8_t>::Create({kOne << 62})), StatusIs(core::kOutOfMemory));
  EXPECT_THAT((DenseVector<std::int8_t>::Create(uninitialized, {kOne << 62})),
              StatusIs(core::kOutOfMemory));
}

TEST(DenseTensorTest, AllocatorFailureIsOutOfMemory) {
  CountingAllocator none(/*successes=*/0);
  const DenseMatrix<float> matrix(2, 3);
  EXPECT_THAT((DenseMatrix<float>::Create({2, 3}, &none)), StatusIs(core::kOutOfMemory));
  EXPECT_THAT((DenseMatrix<float>::Create(uninitialized, {2, 3}, &none)),
              StatusIs(core::kOutOfMemory));
  EXPECT_THAT(matrix.Clone(&none), StatusIs(core::kOutOfMemory));
  EXPECT_THAT((DenseMatrix<float, ColumnMajor>::CopyOf(matrix, &none)),
              StatusIs(core::kOutOfMemory));
  EXPECT_THAT((DenseMatrix<float, Strided>::Create({2, 3}, {4, 1}, &none)),
              StatusIs(core::kOutOfMemory));
}

TEST(DenseTensorTest, ViewsShareAndFollowConst) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  const DenseView<std::int32_t, 2> view = matrix.view();
  view(1, 1) = -4;
  EXPECT_EQ(matrix(1, 1), -4);
  EXPECT_EQ(view.data(), matrix.data());
  static_assert(std::same_as<decltype(std::as_const(matrix).view()),
                             DenseView<const std::int32_t, 2, RowMajor>>);
}

TEST(DenseTensorTest, ClassTemplateArgumentsAreDeduced) {
  const auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  const DenseTensor kept(column.view());
  static_assert(std::same_as<decltype(kept), const DenseTensor<std::int32_t, 2, ColumnMajor>>);
  EXPECT_THAT(kept, ElementsAre(0, 10, 1, 11, 2, 12));
  const DenseTensor from_strided(column.view().AsStrided());
  static_assert(std::same_as<decltype(from_strided), const DenseTensor<std::int32_t, 2, RowMajor>>);
  EXPECT_THAT(from_strided, ElementsAre(0, 1, 2, 10, 11, 12));
}

// Every element type can be stored, read and copied through both layouts.
template <typename T>
class DenseElementTest : public ::testing::Test {};
TYPED_TEST_SUITE(DenseElementTest, ElementTypes);

TYPED_TEST(DenseElementTest, SurvivesLayoutChanges) {
  using T = TypeParam;
  DenseTensor<T, 3> tensor(3, 5, 7);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) {
      for (int k = 0; k < 7; ++k) tensor(i, j, k) = T((i + 2 * j + 3 * k) % 5 == 0);
    }
  }
  const DenseTensor<T, 3, ColumnMajor> column(tensor);
  const DenseTensor<T, 3> back(column);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) {
      for (int k = 0; k < 7; ++k) {
        EXPECT_EQ(BitsOf(column(i, j, k)), BitsOf(T((i + 2 * j + 3 * k) % 5 == 0)));
        EXPECT_EQ(column.data()[i + 3 * j + 15 * k], back.data()[35 * i + 7 * j + k]);
      }
    }
  }
}

}  // namespace
}  // namespace engine::dense
