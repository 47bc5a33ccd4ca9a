// reshape_inplace and reshape (clauses reshape.inplace, reshape.owning, reshape.generated).
#include <string>

#include "dense/generated.h"
#include "dense/reshape.h"
#include "dense_test_util.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(ReshapeInplaceTest, KeepsTheStorage) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  const std::int32_t* const storage = matrix.data();
  const auto before = matrix.view();
  ENGINE_ASSERT_OK(reshape_inplace(matrix, 3, -1));
  EXPECT_EQ(matrix.data(), storage);
  EXPECT_EQ(matrix.extents(), (Extents<2>{3, 2}));
  EXPECT_EQ(matrix.strides(), (Extents<2>{2, 1}));
  EXPECT_EQ(matrix(1, 1), 10);
  EXPECT_EQ(before.extents(), (Extents<2>{2, 3}));  // views keep their shape
  auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  ENGINE_ASSERT_OK(reshape_inplace(column, Extents<2>{3, 2}));
  EXPECT_EQ(column(2, 0), 1);
  EXPECT_EQ(column.strides(), (Extents<2>{1, 3}));
}

TEST(ReshapeInplaceTest, FailureChangesNothing) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  const std::int32_t* const storage = matrix.data();
  EXPECT_THAT(reshape_inplace(matrix, 4, 2),
              StatusIs(kInvalid, "reshape_inplace: 6 elements do not fit [4, 2] (reshape.count)"));
  EXPECT_THAT(reshape_inplace(matrix, -1, -1), StatusIs(kInvalid, "(reshape.infer)"));
  EXPECT_THAT(reshape_inplace(matrix, 0, -1), StatusIs(kInvalid, "(reshape.infer)"));
  EXPECT_THAT(reshape_inplace(matrix, kOne << 62, 4), StatusIs(kInvalid, "overflows"));
  EXPECT_EQ(matrix.extents(), (Extents<2>{2, 3}));
  EXPECT_EQ(matrix.data(), storage);
  EXPECT_THAT(matrix, ElementsAre(0, 1, 2, 10, 11, 12));
  // The building block infers nothing.
  EXPECT_THAT(matrix.Remap({6, -1}), StatusIs(kInvalid));
  EXPECT_THAT(matrix.Remap({6, 2}), StatusIs(kInvalid, "(reshape.count)"));
}

TEST(ReshapeInplaceTest, WithoutElements) {
  DenseMatrix<float> none(0, 4);
  ENGINE_ASSERT_OK(reshape_inplace(none, 9, -1));
  EXPECT_EQ(none.extents(), (Extents<2>{9, 0}));
  ScalarTensor<float> scalar;
  ENGINE_EXPECT_OK(reshape_inplace(scalar));
}

// Capabilities, not spellings: what cannot take another mapping has no overload.
static_assert(RemappableTensor<DenseMatrix<float>>);
static_assert(RemappableTensor<DenseMatrix<float, ColumnMajor>>);
static_assert(!RemappableTensor<DenseMatrix<float, Strided>>);
static_assert(!RemappableTensor<const DenseMatrix<float>>);
static_assert(!RemappableTensor<DenseView<float, 2>>);
static_assert(!RemappableTensor<EyeTensor<float, 2>>);

TEST(ReshapeTest, AnRvalueGivesItsStorage) {
  CountingAllocator allocator;
  auto matrix = Value(make_tensor(Coordinates(2, 3), &allocator));
  const std::int32_t* const storage = matrix.data();
  const auto vector = Value(reshape(std::move(matrix), -1));
  static_assert(std::same_as<decltype(vector), const DenseVector<std::int32_t>>);
  EXPECT_EQ(vector.data(), storage);
  EXPECT_THAT(vector, ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_EQ(matrix.data(), nullptr);  // NOLINT(bugprone-use-after-move): what this is about
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->deletions, 0);
}

TEST(ReshapeTest, AnRvalueThatDoesNotFitIsUnchanged) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  const std::int32_t* const storage = matrix.data();
  EXPECT_THAT(reshape(std::move(matrix), 5),
              StatusIs(kInvalid, "reshape: 6 elements do not fit [5] (reshape.count)"));
  EXPECT_THAT(reshape(std::move(matrix), -1, -1), StatusIs(kInvalid));
  EXPECT_EQ(matrix.data(), storage);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(matrix.extents(), (Extents<2>{2, 3}));
}

// The order is in the type: shapes in which strides do not show it lose nothing.
TEST(ReshapeTest, NestedReshapesKeepOrderAndStorage) {
  auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  const std::int32_t* const storage = column.data();
  auto singleton = Value(reshape(Value(reshape(std::move(column), 6)), 1, 6, 1));
  EXPECT_EQ(singleton.data(), storage);
  const auto back = Value(reshape(std::move(singleton), -1, 3));
  static_assert(std::same_as<decltype(back), const DenseMatrix<std::int32_t, ColumnMajor>>);
  EXPECT_EQ(back.data(), storage);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(back(i, j), 10 * i + j);
  }
}

TEST(ReshapeTest, AnLvalueIsCopied) {
  const auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  const auto reshaped = Value(reshape(column, 3, 2));
  static_assert(std::same_as<decltype(reshaped), const DenseMatrix<std::int32_t, ColumnMajor>>);
  EXPECT_NE(reshaped.data(), column.data());
  EXPECT_THAT(reshaped, ElementsAreArray(column));  // the same sequence in memory
  DenseMatrix<std::int32_t> writable = Coordinates(2, 3);
  const auto copy = Value(reshape(writable, Extents<3>{3, 1, 2}));
  EXPECT_NE(copy.data(), writable.data());
  EXPECT_EQ(writable.numel(), 6);
  EXPECT_EQ(copy(1, 0, 1), 10);
}

// A view owns nothing, whatever its value category.
TEST(ReshapeTest, ViewsAreCopied) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  const auto copy = Value(reshape(matrix.view(), 6));
  static_assert(std::same_as<decltype(copy), const DenseVector<std::int32_t>>);
  EXPECT_NE(copy.data(), matrix.data());
  EXPECT_THAT(copy, ElementsAre(0, 1, 2, 10, 11, 12));
  // The way for strided sources: an order, then an owner.
  const auto strided = matrix.view().AsStrided();
  const auto owner = Value(make_tensor(Value(reshape_view_right(strided, 3, 2))));
  EXPECT_THAT(owner, ElementsAre(0, 1, 2, 10, 11, 12));
}

// Extents in braces, and the allocator of what is copied.
TEST(ReshapeTest, BracesAndAllocators) {
  CountingAllocator allocator;
  DenseMatrix<std::int32_t> matrix({2, 3});
  EXPECT_EQ(matrix.extents(), (Extents<2>{2, 3}));
  const auto copy = Value(reshape(matrix, {3, -1}, &allocator));
  EXPECT_EQ(copy.extents(), (Extents<2>{3, 2}));
  ENGINE_ASSERT_OK(reshape<ColumnMajor>(full(7, 2, 3), {6}, &allocator));
  ENGINE_ASSERT_OK(reshape(full(7, 2, 3), Extents<1>{6}, &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 3);
  EXPECT_EQ(Value(reshape_view(matrix, {6})).data(), matrix.data());
  EXPECT_EQ(Value(reshape_view_right(matrix, {3, -1})).extents(), (Extents<2>{3, 2}));
  EXPECT_THAT(reshape_view_left(matrix, {3, 2}), StatusIs(kInvalid, "(reshape.order)"));
  ENGINE_ASSERT_OK(reshape_inplace(matrix, {1, -1}));
  EXPECT_EQ(matrix.extents(), (Extents<2>{1, 6}));
}

TEST(ReshapeTest, ToAndFromRankZero) {
  DenseMatrix<float> one(1, 1);
  one(0, 0) = 2;
  const float* const storage = one.data();
  auto scalar = Value(reshape(std::move(one)));
  static_assert(std::same_as<decltype(scalar), ScalarTensor<float>>);
  EXPECT_EQ(scalar.data(), storage);
  EXPECT_EQ(scalar(), 2);
  const auto back = Value(reshape(std::move(scalar), 1, -1));
  EXPECT_EQ(back.data(), storage);
  EXPECT_EQ(scalar.numel(), 0);  // NOLINT(bugprone-use-after-move)
  EXPECT_THAT(reshape(std::move(scalar), 1), StatusIs(kInvalid, "0 elements do not fit [1]"));
}

// Every form refuses the same extents, for the same reason.
template <typename Form>
void ExpectRefusals(const char* name, Form form) {
  SCOPED_TRACE(name);
  const auto begins = [&](const char* clause) {
    return StatusIs(kInvalid, AllOf(StartsWith(std::string(name) + ": "), EndsWith(clause)));
  };
  EXPECT_THAT(form(Extents<2>{5, 2}), begins("(reshape.count)"));
  EXPECT_THAT(form(Extents<2>{5, -1}), begins("(reshape.count)"));
  EXPECT_THAT(form(Extents<2>{0, 6}), begins("(reshape.count)"));
  EXPECT_THAT(form(Extents<2>{kOne << 32, kOne << 32}), begins("(reshape.count)"));
  EXPECT_THAT(form(Extents<2>{(kOne << 61) + 1, 6}), begins("(reshape.count)"));
  EXPECT_THAT(form(Extents<2>{-1, -1}), begins("(reshape.infer)"));
  EXPECT_THAT(form(Extents<2>{0, -1}), begins("(reshape.infer)"));
  EXPECT_THAT(form(Extents<2>{-2, -3}), begins("(reshape.infer)"));
}

TEST(ReshapeTest, AllFormsRefuseTheSame) {
  DenseMatrix<std::int32_t> row = Coordinates(2, 3);
  auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  const auto identity = eye<std::int32_t>(2, 3);
  using Extents2 = Extents<2>;
  ExpectRefusals("reshape_view", [&](Extents2 e) { return reshape_view(row, e).status(); });
  ExpectRefusals("reshape_view_right", [&](Extents2 e) {
    return reshape_view_right(row.view().AsStrided(), e).status();
  });
  ExpectRefusals("reshape_view_left",
                 [&](Extents2 e) { return reshape_view_left(column, e).status(); });
  ExpectRefusals("reshape_inplace", [&](Extents2 e) { return reshape_inplace(row, e); });
  ExpectRefusals("reshape", [&](Extents2 e) { return reshape(row, e).status(); });
  ExpectRefusals("reshape", [&](Extents2 e) { return reshape(std::move(row), e).status(); });
  ExpectRefusals("reshape", [&](Extents2 e) { return reshape(column.view(), e).status(); });
  ExpectRefusals("reshape", [&](Extents2 e) { return reshape(identity, e).status(); });
  EXPECT_THAT(row, ElementsAre(0, 1, 2, 10, 11, 12));  // NOLINT(bugprone-use-after-move)
}

TEST(ReshapeTest, GeneratedSourcesAreMaterialized) {
  EXPECT_THAT(Value(reshape(full(7, 2, 3), 6)), ElementsAre(7, 7, 7, 7, 7, 7));
  const auto row = Value(reshape(eye<std::int32_t>(2, 3), 3, -1));
  static_assert(std::same_as<decltype(row), const DenseMatrix<std::int32_t>>);
  EXPECT_THAT(row, ElementsAre(1, 0, 0, 0, 1, 0));
  const auto column = Value(reshape<ColumnMajor>(eye<std::int32_t>(2, 3), Extents<2>{3, 2}));
  static_assert(std::same_as<decltype(column), const DenseMatrix<std::int32_t, ColumnMajor>>);
  EXPECT_THAT(column, ElementsAre(1, 0, 0, 1, 0, 0));  // columns of the 2x3 identity
  EXPECT_EQ(Value(reshape(full(3)))(), 3);
  EXPECT_THAT(reshape(full(7, 2, 3), 5), StatusIs(kInvalid, "(reshape.count)"));
  // The shape is judged before memory is asked for.
  EXPECT_THAT(reshape(full(7, kOne << 40), 5), StatusIs(kInvalid, "(reshape.count)"));
}

}  // namespace
}  // namespace engine::dense
