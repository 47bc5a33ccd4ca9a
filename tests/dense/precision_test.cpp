// The precision forms (clause precision.native): checked, never stored.
#include "dense/precision.h"

#include "dense/generated.h"
#include "dense/operations.h"
#include "dense_test_util.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(PrecisionTest, NativePrecisionIsTheSignificand) {
  static_assert(native_precision<double>().bits == 53);
  static_assert(native_precision<float>().bits == 24);
  static_assert(native_precision<tensor::float16>().bits == 11);
  static_assert(native_precision<tensor::bfloat16>().bits == 8);
  static_assert(native_precision<std::int64_t>().bits == 63);
  static_assert(native_precision<std::uint8_t>().bits == 8);
  static_assert(native_precision<bool>().bits == 1);
  static_assert(sizeof(DenseMatrix<float>) == 2 * sizeof(void*) + sizeof(void*) + 16);
}

TEST(PrecisionTest, ConstructorsTakeTheNativeOne) {
  constexpr Precision kNative = native_precision<float>();
  EXPECT_THAT(DenseMatrix<float>(2, 2, kNative), Each(0.0f));
  EXPECT_EQ((DenseMatrix<float>(uninitialized, 2, 3, kNative).extents()), (Extents<2>{2, 3}));
  EXPECT_EQ(ScalarTensor<float>(kNative)(), 0);
  EXPECT_EQ(ScalarTensor<float>(uninitialized, kNative).numel(), 1);
  EXPECT_THAT(Value(DenseVector<float>::Create({3}, kNative)), Each(0.0f));
  EXPECT_EQ(Value(DenseVector<float>::Create(uninitialized, {3}, kNative)).numel(), 3);
  EXPECT_THAT(DenseVector<float>::Create({3}, Precision(53)),
              StatusIs(kInvalid, "precision 53, but float32 has 24 bits (precision.native)"));
  EXPECT_THAT(DenseVector<double>::Create(uninitialized, {3}, kNative), StatusIs(kInvalid));
  DenseVector<float> vector(2);
  ENGINE_ASSERT_OK(vector.reset_shape(5, kNative));
  EXPECT_EQ(vector.extent(0), 5);
  EXPECT_THAT(vector.reset_shape(uninitialized, 6, Precision(11)), StatusIs(kInvalid));
  EXPECT_EQ(vector.extent(0), 5);
}

TEST(PrecisionTest, OfTensors) {
  EXPECT_EQ(precision_of(DenseMatrix<double>(2, 2)), Precision(53));
  EXPECT_EQ(precision_of(full(tensor::float16(1.0f), 2)), Precision(11));
  DenseVector<std::int32_t> vector(3);
  EXPECT_EQ(precision_of(vector.view()), Precision(31));
}

TEST(PrecisionTest, AtPrecisionCopiesOrMoves) {
  auto matrix = Coordinates<std::int32_t, ColumnMajor>(2, 2);
  const std::int32_t* const storage = matrix.data();
  const auto copy = Value(at_precision(matrix, Precision(31)));
  EXPECT_NE(copy.data(), storage);
  EXPECT_THAT(copy, ElementsAre(0, 10, 1, 11));
  EXPECT_THAT(at_precision(matrix, Precision(32)), StatusIs(kInvalid, "(precision.native)"));
  EXPECT_THAT(at_precision(std::move(matrix), Precision(32)), StatusIs(kInvalid));
  EXPECT_EQ(matrix.data(), storage);  // NOLINT(bugprone-use-after-move): unchanged on an error
  const auto moved = Value(at_precision(std::move(matrix), Precision(31)));
  EXPECT_EQ(moved.data(), storage);
  CountingAllocator allocator;
  ENGINE_ASSERT_OK(at_precision(moved, Precision(31), &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  // Strided owners move too: strides and all.
  DenseMatrix<float, Strided> strided(Extents<2>{2, 2}, Extents<2>{1, 3});
  const float* const elements = strided.data();
  const auto kept = Value(at_precision(std::move(strided), Precision(24)));
  static_assert(std::same_as<decltype(kept), const DenseMatrix<float, Strided>>);
  EXPECT_EQ(kept.data(), elements);
  EXPECT_EQ(kept.strides(), (Extents<2>{1, 3}));
  EXPECT_THAT(Value(at_precision(eye<float>(2, 2), Precision(24))), ElementsAre(1, 0, 0, 1));
}

}  // namespace
}  // namespace engine::dense
