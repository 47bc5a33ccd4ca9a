// The code of docs/guide/dense-tensors.md; guide_text_test.cpp compares the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

// [snippet]
#include "dense/dense_tensor.h"
#include "dense/generated.h"
#include "dense/operations.h"
#include "dense/reshape.h"

namespace dense = engine::dense;
using engine::core::Status;
using engine::core::StatusOr;
using engine::dense::DenseMatrix;
using engine::dense::DenseView;
using engine::tensor::Tensor;
// [/snippet]

#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
using engine::tensor::DataType;
using engine::testing::StatusIs;

TEST(DenseGuideTest, Values) {
  // [snippet]
  DenseMatrix<float> weights(3, 4);  // zeros
  weights(1, 2) = 0.5f;
  DenseMatrix<float> copy = weights;  // the values, in storage of its own
  copy(1, 2) = 9;
  for (float& x : weights) x *= 2;  // in memory order
  // [/snippet]
  EXPECT_EQ(weights(1, 2), 1.0f);
  EXPECT_EQ(copy(1, 2), 9.0f);
  EXPECT_EQ(copy(0, 0), 0.0f);
}

// [snippet]
StatusOr<DenseMatrix<float>> Allocate(std::int64_t rows_of_file, std::int64_t columns_of_file) {
  return DenseMatrix<float>::Create(dense::uninitialized, {rows_of_file, columns_of_file});
}
// [/snippet]

TEST(DenseGuideTest, Allocate) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto made, Allocate(2, 3));
  EXPECT_EQ(made.numel(), 6);
  EXPECT_THAT(Allocate(2, -3), StatusIs(core::StatusCode::kInvalidArgument));
}

Status Generated() {
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(auto identity, dense::make_tensor(dense::eye<float>(3, 3)));
  ENGINE_RETURN_IF_ERROR(dense::copy(identity, dense::full(0.5f, 3, 3)));  // into what is there
  // [/snippet]
  EXPECT_EQ(identity(0, 1), 0.5f);
  return core::OkStatus();
}

TEST(DenseGuideTest, Generated) { ENGINE_EXPECT_OK(Generated()); }

Status Reshapes() {
  DenseMatrix<float> matrix(3, 4);
  matrix(1, 2) = 5;
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(auto rows, dense::reshape_view(matrix, 2, -1));     // alias; -1 becomes 6
  ENGINE_RETURN_IF_ERROR(dense::reshape_inplace(matrix, 6, 2));               // the same storage
  ENGINE_ASSIGN_OR_RETURN(auto line, dense::reshape(std::move(matrix), 12));  // takes it over
  // [/snippet]
  EXPECT_EQ(rows.extent(1), 6);
  EXPECT_EQ(rows(1, 0), 5.0f);
  EXPECT_EQ(line(6), 5.0f);
  return core::OkStatus();
}

TEST(DenseGuideTest, Reshapes) { ENGINE_EXPECT_OK(Reshapes()); }

Status Exchange() {
  ENGINE_ASSIGN_OR_RETURN(const Tensor line, ops::arange(0, 6, 1, DataType::kFloat32));
  ENGINE_ASSIGN_OR_RETURN(const Tensor tensor, line.reshape({2, 3}));
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(const auto logits, (DenseView<const float, 2>::Of(tensor)));  // no copy
  const float last = logits(1, 2);
  ENGINE_ASSIGN_OR_RETURN(auto owned, DenseMatrix<float>::FromTensor(tensor));  // a copy
  ENGINE_ASSIGN_OR_RETURN(Tensor handle, owned.AsTensor());  // shares owned's storage
  // [/snippet]
  EXPECT_EQ(last, 5.0f);
  owned(0, 0) = 7;
  EXPECT_EQ(handle.item<float>({0, 0}), 7.0f);
  EXPECT_EQ(tensor.item<float>({0, 0}), 0.0f);
  return core::OkStatus();
}

TEST(DenseGuideTest, Exchange) { ENGINE_EXPECT_OK(Exchange()); }

}  // namespace
