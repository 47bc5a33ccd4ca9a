// What the elements are before anybody has written them: clauses init.zero, init.uninitialized,
// init.default, init.replace and init.preserve.
#include <cstring>
#include <vector>

#include "dense_test_util.h"
#include "memory/allocator.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;

// Whatever T is: floating storage is filled with signalling NaNs in some builds.
template <typename T>
void ExpectNeverWritten(const T* data, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  if constexpr (strided::kIsFloating<T>) {
#if ENGINE_TEST_SNAN_FILL
    const std::uint64_t expected = sizeof(T) == 8                     ? 0x7FF4000000000000u
                                   : sizeof(T) == 4                   ? 0x7FA00000u
                                   : std::same_as<T, tensor::float16> ? 0x7D00u
                                                                      : 0x7FA0u;
    for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(BitsOf(data[i]), expected) << i;
    return;
#endif
  }
  EXPECT_TRUE(IsPoison(data, bytes));
}

// The same for storage of the default allocator, whose fresh bytes nobody knows: seen where it is
// filled.
template <typename Tensor>
void ExpectNotZeroed(const Tensor& tensor) {
#if ENGINE_TEST_SNAN_FILL
  if constexpr (strided::kIsFloating<typename Tensor::value_type>) {
    ExpectNeverWritten(tensor.data(), tensor.numel());
  }
#else
  static_cast<void>(tensor);
#endif
}

// Leaves memory behind that is not zero, so that storage from the default allocator shows whether
// somebody has cleared it: fresh pages are zero anyway.
void DirtyTheHeap() {
  std::vector<memory::Buffer> blocks;
  for (std::size_t bytes = 16; bytes <= 32768; bytes *= 2) {
    for (int i = 0; i < 10; ++i) {
      blocks.push_back(Value(memory::DefaultCpuAllocator()->Allocate(bytes, 64)));
      std::memset(blocks.back().data(), CountingAllocator::kPoison, bytes);
    }
  }
}

template <typename T>
class InitialValuesTest : public ::testing::Test {};
TYPED_TEST_SUITE(InitialValuesTest, ElementTypes);

// The allocator poisons what it hands out, so an element left out shows.
TYPED_TEST(InitialValuesTest, ElementsBeginAsZero) {
  using T = TypeParam;
  CountingAllocator allocator;
  const auto expect_zeros = [](const auto& tensor, std::int64_t numel) {
    ASSERT_EQ(tensor.numel(), numel);
    for (const T& element : tensor) EXPECT_EQ(BitsOf(element), 0u);
  };
  DirtyTheHeap();
  expect_zeros(DenseVector<T>(7), 7);
  expect_zeros(DenseMatrix<T>(3, 5), 15);
  expect_zeros(DenseMatrix<T, ColumnMajor>(3, 5), 15);
  expect_zeros(DenseTensor<T, 3>(2, 3, 4), 24);
  expect_zeros(ScalarTensor<T>(), 1);
  expect_zeros(DenseMatrix<T>(Extents<2>{3, 5}, &allocator), 15);
  expect_zeros(Value(DenseTensor<T, 4, ColumnMajor>::Create({2, 1, 5, 13}, &allocator)), 130);
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->zeroed, 2);
  EXPECT_EQ(allocator.counts()->deletions, 2);
  EXPECT_EQ(allocator.counts()->last_alignment, 64u);
}

TYPED_TEST(InitialValuesTest, UntouchedElementsStayZero) {
  using T = TypeParam;
  DenseMatrix<T> matrix(4, 4);
  matrix(1, 2) = T(1);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      EXPECT_EQ(BitsOf(matrix(i, j)), i == 1 && j == 2 ? BitsOf(T(1)) : 0u);
    }
  }
}

// With the tag nothing is written: what the allocator left is still there.
TYPED_TEST(InitialValuesTest, TheTagLeavesStorageAlone) {
  using T = TypeParam;
  CountingAllocator allocator;
  const DenseMatrix<T> matrix(uninitialized, Extents<2>{3, 5}, &allocator);
  ExpectNeverWritten(matrix.data(), 15);
  const auto created = Value(DenseTensor<T, 3>::Create(uninitialized, {2, 3, 7}, &allocator));
  ExpectNeverWritten(created.data(), 42);
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
  // The other spellings, whose allocator is the default one.
  const DenseMatrix<T> integers(uninitialized, 3, 5);
  EXPECT_EQ(integers.extents(), (Extents<2>{3, 5}));
  ExpectNotZeroed(integers);
  ExpectNotZeroed(DenseMatrix<T, ColumnMajor>(uninitialized, 3, 5, native_precision<T>()));
  ExpectNotZeroed(Value(DenseVector<T>::Create(uninitialized, {3}, native_precision<T>())));
  const ScalarTensor<T> scalar(uninitialized);
  EXPECT_EQ(scalar.numel(), 1);
  ExpectNotZeroed(scalar);
  static_assert(std::same_as<decltype(DenseVector<T>(uninitialized, 3)), DenseVector<T>>);
}

// Strided storage is zero between the elements too; with the tag it is not touched anywhere.
TYPED_TEST(InitialValuesTest, StridedStorageIncludesItsGaps) {
  using T = TypeParam;
  CountingAllocator allocator;
  const DenseMatrix<T, Strided> zero(Extents<2>{2, 3}, Extents<2>{8, 2}, &allocator);
  for (std::int64_t i = 0; i < 13; ++i) EXPECT_EQ(BitsOf(zero.data()[i]), 0u);
  EXPECT_EQ(allocator.counts()->last_bytes, 13 * sizeof(T));
  const DenseMatrix<T, Strided> untouched(uninitialized, Extents<2>{2, 3}, Extents<2>{8, 2},
                                          &allocator);
  ExpectNeverWritten(untouched.data(), 13);
  EXPECT_EQ(allocator.counts()->zeroed, 1);
}

TEST(DenseDefaultTest, PositiveRankIsEmptyAndAllocationFree) {
  const DenseMatrix<float> matrix;
  EXPECT_EQ(matrix.extents(), (Extents<2>{0, 0}));
  EXPECT_EQ(matrix.numel(), 0);
  EXPECT_TRUE(matrix.empty());
  EXPECT_EQ(matrix.data(), nullptr);
  EXPECT_EQ(matrix.begin(), matrix.end());
  EXPECT_TRUE(matrix.span().empty());
  static_assert(std::is_nothrow_default_constructible_v<DenseMatrix<float>>);
  static_assert(std::is_nothrow_move_constructible_v<DenseMatrix<float>>);
  static_assert(std::is_nothrow_move_assignable_v<DenseMatrix<float>>);
}

TEST(DenseDefaultTest, NoElementsNeedNoStorage) {
  CountingAllocator allocator;
  const DenseMatrix<float> matrix(Extents<2>{0, 5}, &allocator);
  EXPECT_EQ(matrix.extents(), (Extents<2>{0, 5}));
  EXPECT_EQ(matrix.data(), nullptr);
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

TEST(DenseDefaultTest, RankZeroIsOneZeroElement) {
  ScalarTensor<double> scalar;
  EXPECT_EQ(scalar.numel(), 1);
  ASSERT_NE(scalar.data(), nullptr);
  EXPECT_EQ(BitsOf(scalar()), 0u);
  scalar() = 2.5;
  EXPECT_EQ(scalar(), 2.5);
}

// reset_shape and replace give fresh zeros, whatever the old storage held.
TYPED_TEST(InitialValuesTest, ReplacedStorageIsZero) {
  using T = TypeParam;
  CountingAllocator allocator;
  DenseMatrix<T> matrix(2, 3);
  const auto expect_zeros = [&matrix] {
    for (T& element : matrix) {
      EXPECT_EQ(BitsOf(element), 0u);
      element = T(1);
    }
  };
  for (T& element : matrix) element = T(1);
  DirtyTheHeap();
  ENGINE_ASSERT_OK(matrix.reset_shape(3, 2));
  EXPECT_EQ(matrix.extents(), (Extents<2>{3, 2}));
  expect_zeros();
  ENGINE_ASSERT_OK(matrix.reset_shape(Extents<2>{2, 5}));
  EXPECT_EQ(matrix.extents(), (Extents<2>{2, 5}));
  expect_zeros();
  ENGINE_ASSERT_OK(matrix.reset_shape(Extents<2>{5, 2}, &allocator));
  EXPECT_EQ(allocator.counts()->zeroed, 1);
  expect_zeros();

  const T* const before = matrix.data();
  ENGINE_ASSERT_OK(matrix.replace(Extents<2>{5, 2}, &allocator));  // the same extents
  EXPECT_NE(matrix.data(), before);
  EXPECT_EQ(allocator.counts()->zeroed, 2);
  expect_zeros();
}

TYPED_TEST(InitialValuesTest, ReplacedStorageIsLeftAloneWithTheTag) {
  using T = TypeParam;
  CountingAllocator allocator;
  DenseMatrix<T> matrix(2, 3);
  ENGINE_ASSERT_OK(matrix.replace(uninitialized, Extents<2>{5, 2}, &allocator));
  ExpectNeverWritten(matrix.data(), 10);
  ENGINE_ASSERT_OK(matrix.reset_shape(uninitialized, Extents<2>{2, 7}, &allocator));
  ExpectNeverWritten(matrix.data(), 14);
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
  EXPECT_EQ(allocator.counts()->deletions, 1);
  ENGINE_ASSERT_OK(matrix.reset_shape(uninitialized, 1, 2));
  EXPECT_EQ(matrix.extents(), (Extents<2>{1, 2}));
  ExpectNotZeroed(matrix);
  ENGINE_ASSERT_OK(matrix.reset_shape(uninitialized, Extents<2>{2, 2}));
  ExpectNotZeroed(matrix);
}

TEST(DenseReplaceTest, FreshStorageForTheSameShape) {
  DenseVector<float> vector(8);
  const float* const before = vector.data();
  DirtyTheHeap();
  ENGINE_ASSERT_OK(vector.reset_shape(8));
  EXPECT_NE(vector.data(), before);
  ScalarTensor<float> scalar;
  scalar() = 3;
  ENGINE_ASSERT_OK(scalar.reset_shape());
  EXPECT_EQ(scalar(), 0);
}

// The strong guarantee: what fails changes neither extents nor storage nor values.
TEST(DenseReplaceTest, FailureChangesNothing) {
  DenseMatrix<std::int32_t> matrix = Coordinates(2, 3);
  const std::int32_t* const before = matrix.data();
  CountingAllocator none(/*successes=*/0);
  EXPECT_THAT(matrix.replace(Extents<2>{3, 3}, &none), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(matrix.replace(uninitialized, Extents<2>{3, 3}, &none), StatusIs(core::kOutOfMemory));
  EXPECT_THAT(matrix.reset_shape(-1, 3), StatusIs(kInvalid, "negative"));
  EXPECT_THAT(matrix.reset_shape(kOne << 62, 2), StatusIs(kInvalid, "overflow"));
  EXPECT_THAT(matrix.reset_shape(kOne << 61, 2), StatusIs(kInvalid, "overflow"));
  EXPECT_EQ(matrix.extents(), (Extents<2>{2, 3}));
  EXPECT_EQ(matrix.data(), before);
  EXPECT_THAT(matrix, ::testing::ElementsAre(0, 1, 2, 10, 11, 12));
}

// Copies, adoption and materialisation keep the source's values and ask for no zeros.
TEST(DensePreserveTest, CopiesAskForNoZeros) {
  CountingAllocator allocator;
  const DenseMatrix<std::int32_t> source = Coordinates(3, 4);
  const DenseMatrix<std::int32_t> clone = Value(source.Clone(&allocator));
  EXPECT_THAT(clone, ::testing::ElementsAreArray(source));
  const auto turned = Value(DenseMatrix<std::int32_t, ColumnMajor>::CopyOf(source, &allocator));
  EXPECT_EQ(turned(2, 3), 23);
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
}

// The gaps of strided storage tell a copy that filled it first: they would be zero.
TEST(DensePreserveTest, CopiesDoNotTouchGaps) {
  CountingAllocator allocator;
  DenseMatrix<std::int16_t, Strided> source(Extents<2>{2, 2}, Extents<2>{5, 2});
  source(1, 1) = 7;
  const auto clone = Value(source.Clone(&allocator));
  EXPECT_EQ(clone.strides(), (Extents<2>{5, 2}));
  EXPECT_EQ(clone(0, 0), 0);
  EXPECT_EQ(clone(1, 1), 7);
  for (const int gap : {1, 3, 4, 6}) {
    EXPECT_TRUE(IsPoison(clone.data() + gap, sizeof(std::int16_t))) << gap;
  }
}

}  // namespace
}  // namespace engine::dense
