// DenseTensor with strides of its own (clause layout.strided).
#include "dense_test_util.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using ::testing::ElementsAre;

using StridedMatrix = DenseMatrix<std::int32_t, Strided>;

TEST(StridedTensorTest, ElementsLieWhereTheStridesSay) {
  StridedMatrix matrix(Extents<2>{2, 3}, Extents<2>{1, 4});
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) matrix(i, j) = 10 * i + j;
  }
  EXPECT_EQ(matrix.strides(), (Extents<2>{1, 4}));
  EXPECT_THAT(InMemory(matrix.data(), 10), ElementsAre(0, 10, 0, 0, 1, 11, 0, 0, 2, 12));
  EXPECT_EQ(matrix.numel(), 6);
}

TEST(StridedTensorTest, CopiesKeepStridesAndMoveKeepsStorage) {
  StridedMatrix matrix(Extents<2>{2, 2}, Extents<2>{4, 2});
  matrix(1, 0) = 5;
  const StridedMatrix copy = matrix;
  EXPECT_EQ(copy.strides(), (Extents<2>{4, 2}));
  EXPECT_EQ(copy(1, 0), 5);
  EXPECT_NE(copy.data(), matrix.data());
  const std::int32_t* const storage = matrix.data();
  const StridedMatrix moved = std::move(matrix);
  EXPECT_EQ(moved.data(), storage);
  EXPECT_EQ(matrix.numel(), 0);  // NOLINT(bugprone-use-after-move)
}

TEST(StridedTensorTest, AllocatesWhatItReaches) {
  CountingAllocator allocator;
  ENGINE_ASSERT_OK(StridedMatrix::Create({3, 4}, {16, 1}, &allocator));
  EXPECT_EQ(allocator.counts()->last_bytes, (2u * 16 + 4) * 4);
  ENGINE_ASSERT_OK(StridedMatrix::Create({3, 0}, {16, 1}, &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 1);
}

TEST(StridedTensorTest, RankZero) {
  DenseTensor<std::int32_t, 0, Strided> scalar;
  EXPECT_EQ(scalar(), 0);
  scalar() = 3;
  const auto copy = scalar;
  EXPECT_EQ(copy(), 3);
  EXPECT_EQ(Value(DenseTensor<std::int32_t, 0, Strided>::Create(Extents<0>{}, Extents<0>{}))(), 0);
}

TEST(StridedTensorTest, RefusesStridesThatCannotOwn) {
  EXPECT_THAT(StridedMatrix::Create({2, 3}, {2, 1}), StatusIs(kInvalid, "(layout.strided)"));
  EXPECT_THAT(StridedMatrix::Create({2, 3}, {0, 1}), StatusIs(kInvalid, "have a 0"));
  EXPECT_THAT(StridedMatrix::Create({2, 3}, {3, -1}), StatusIs(kInvalid, "negative"));
  EXPECT_THAT(StridedMatrix::Create({-2, 3}, {3, 1}),
              StatusIs(kInvalid,
                       "DenseTensor: extent -2 of axis 0 in [-2, 3] is negative "
                       "(layout.extents)"));
  // Without elements too: a Tensor could not have them.
  EXPECT_THAT(StridedMatrix::Create({0, 3}, {-5, -1}), StatusIs(kInvalid, "(layout.strided)"));
  EXPECT_THAT(StridedMatrix::Create({3, 2}, {kInt64Max / 2, 1}), StatusIs(kInvalid));
  EXPECT_THAT(StridedMatrix::Create({2, 2}, {kOne << 61, 1}), StatusIs(kInvalid, "bytes"));
  ENGINE_EXPECT_OK(StridedMatrix::Create({1, 3}, {0, 1}));  // an axis that is not walked
}

}  // namespace
}  // namespace engine::dense
