// What only the caller's source can get wrong: every CHECK of the module.
#include "dense/generated.h"
#include "dense/operations.h"
#include "dense_test_util.h"
#include "tensor/ops.h"
#include "testing/death_test_style.h"

namespace engine::dense {
namespace {

class DenseDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(DenseDeathTest, ConstructorsWithShapesThatAreNone) {
  EXPECT_DEATH(DenseMatrix<float>(-1, 2), "extent -1 of axis 0 in \\[-1, 2\\] is negative");
  EXPECT_DEATH(DenseMatrix<float>(kOne << 40, kOne << 40), "overflows int64_t");
  EXPECT_DEATH(DenseVector<float>(uninitialized, kOne << 61), "overflow int64_t");
  EXPECT_DEATH(DenseVector<std::int8_t>(kOne << 62), "out of memory");
  EXPECT_DEATH((DenseMatrix<float, Strided>(Extents<2>{2, 2}, Extents<2>{1, 1})),
               "give two elements one place");
  EXPECT_DEATH(DenseMatrix<float>(2, 2, Precision(53)), "precision 53, but float32 has 24 bits");
  EXPECT_DEATH(static_cast<void>(full(1.0f, -1)), "extent -1 of axis 0");
  EXPECT_DEATH(static_cast<void>(eye<float>(kOne << 40, kOne << 40)), "overflows int64_t");
}

TEST_F(DenseDeathTest, ConstructorsWithoutMemory) {
  testing::CountingAllocator none(/*successes=*/0);
  EXPECT_DEATH(DenseVector<float>(Extents<1>{2}, &none), "out of memory for \\[2\\] of float32");
  EXPECT_DEATH(DenseVector<float>(uninitialized, Extents<1>{2}, &none), "out of memory");
  EXPECT_DEATH((DenseMatrix<float, Strided>(Extents<2>{2, 2}, Extents<2>{2, 1}, &none)),
               "out of memory");
}

TEST_F(DenseDeathTest, AxisNumbers) {
  EXPECT_DEATH(static_cast<void>(DenseMatrix<float>(2, 2).extent(2)), "axis 2 of rank 2");
  EXPECT_DEATH(static_cast<void>(DenseView<float, 2>().extent(5)), "axis 5 of rank 2");
  EXPECT_DEATH(static_cast<void>(full(1, 2).extent(1)), "axis 1 of rank 1");
}

#ifndef NDEBUG
TEST_F(DenseDeathTest, IndicesAreCheckedInDebugBuilds) {
  DenseMatrix<float> matrix(2, 3);
  EXPECT_DEATH(matrix(2, 0) = 1, "index 2 of axis 0 is outside \\[0, 2\\)");
  EXPECT_DEATH(matrix(0, 3) = 1, "index 3 of axis 1 is outside \\[0, 3\\)");
  EXPECT_DEATH(matrix(0, -1) = 1, "index -1 of axis 1");
  EXPECT_DEATH(matrix(0, ~std::size_t{0}) = 1, "index 9223372036854775807 of axis 1");
  const DenseMatrix<float, ColumnMajor> column(2, 3);
  EXPECT_DEATH(static_cast<void>(column(2, 0)), "index 2 of axis 0");
  const DenseMatrix<float, Strided> strided(Extents<2>{2, 3}, Extents<2>{4, 1});
  EXPECT_DEATH(static_cast<void>(strided(0, 3)), "index 3 of axis 1");
  EXPECT_DEATH(static_cast<void>(eye<float>(2, 2)(0, 2)), "index 2 of axis 1");
  EXPECT_DEATH(static_cast<void>(full(1, 2)(2)), "index 2 of axis 0");
  EXPECT_DEATH(static_cast<void>((DenseView<float, 0>()())), "no elements");
}
#endif

TEST_F(DenseDeathTest, MovedFromScalars) {
  ScalarTensor<float> scalar;
  const ScalarTensor<float> taken = std::move(scalar);
  ScalarTensor<float> other;
  // NOLINTBEGIN(bugprone-use-after-move): what this is about
  EXPECT_DEATH(static_cast<void>(copy(other, scalar)), "copy: the tensor of rank 0 is empty");
  EXPECT_DEATH(static_cast<void>(copy(scalar, other)), "copy: the tensor of rank 0 is empty");
  EXPECT_DEATH(static_cast<void>(cast<double>(scalar)), "the tensor of rank 0 is empty");
  EXPECT_DEATH(static_cast<void>(make_tensor(scalar)), "the tensor of rank 0 is empty");
  EXPECT_DEATH(static_cast<void>(allclose(scalar, other)), "the tensor of rank 0 is empty");
  EXPECT_DEATH(static_cast<void>(scalar.AsTensor()), "AsTensor: the tensor of rank 0 is empty");
  // NOLINTEND(bugprone-use-after-move)
}

TEST_F(DenseDeathTest, UndefinedTensors) {
  const tensor::Tensor undefined;
  EXPECT_DEATH(static_cast<void>(DenseMatrix<float>::Adopt(undefined)), "the tensor is undefined");
  EXPECT_DEATH(static_cast<void>(DenseMatrix<float>::FromTensor(undefined)),
               "FromTensor: the tensor is undefined");
  EXPECT_DEATH(static_cast<void>(DenseView<float, 2>::Of(undefined)), "the tensor is undefined");
}

}  // namespace
}  // namespace engine::dense
