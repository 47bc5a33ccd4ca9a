#include <gtest/gtest.h>

#include <cstddef>

#include "ops_test_util.h"
#include "tensor/ops.h"
#include "tensor/scalar.h"
#include "testing/death_test_style.h"

namespace engine::tensor::ops {
namespace {

using testing::CudaTensor;
using enum DataType;

// Programmer errors abort with a message that names the operation.
class OpsDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }

  const Tensor tensor_ = testing::PoisonedTensor({2}, kFloat32);
};

TEST_F(OpsDeathTest, UndefinedTensors) {
  const Tensor undefined;
  EXPECT_DEATH((void)fill(undefined, 0), "fill: the tensor is undefined");
  EXPECT_DEATH((void)fill_uniform(undefined, 1), "fill_uniform: the tensor is undefined");
  EXPECT_DEATH((void)fill_normal(undefined, 1), "fill_normal: the tensor is undefined");
  EXPECT_DEATH((void)allclose(undefined, tensor_), "allclose: the tensor is undefined");
  EXPECT_DEATH((void)allclose(tensor_, undefined), "allclose: the tensor is undefined");
  EXPECT_DEATH((void)allclose(undefined, tensor_, {}), "allclose: the tensor is undefined");
}

TEST_F(OpsDeathTest, MovedFromTensors) {
  Tensor source = tensor_;
  const Tensor target = std::move(source);
  EXPECT_DEATH((void)fill(source, 0),  // NOLINT(bugprone-use-after-move)
               "fill: the tensor is undefined");
}

TEST_F(OpsDeathTest, CudaTensors) {
  const Tensor cuda = CudaTensor({2}, kFloat32);
  EXPECT_DEATH((void)fill(cuda, 0), "fill: the tensor is on cuda:0, expected cpu");
  EXPECT_DEATH((void)fill_uniform(cuda, 1), "fill_uniform: the tensor is on cuda:0, expected cpu");
  EXPECT_DEATH((void)fill_normal(cuda, 1), "fill_normal: the tensor is on cuda:0, expected cpu");
  EXPECT_DEATH((void)allclose(cuda, tensor_), "allclose: the tensor is on cuda:0, expected cpu");
  EXPECT_DEATH((void)allclose(tensor_, cuda), "allclose: the tensor is on cuda:0, expected cpu");
  EXPECT_DEATH((void)to_string(cuda), "to_string: the tensor is on cuda:0, expected cpu");
}

// The device is checked before the data: an empty tensor, a wrong dtype or value is no excuse.
TEST_F(OpsDeathTest, CudaBeatsRecoverableErrors) {
  EXPECT_DEATH((void)fill(CudaTensor({0}, kInt8), 300), "fill: the tensor is on cuda:0");
  EXPECT_DEATH((void)fill_uniform(CudaTensor({2}, kInt8), 1),
               "fill_uniform: the tensor is on cuda:0");
  EXPECT_DEATH((void)to_string(CudaTensor({0}, kInt8)), "to_string: the tensor is on cuda:0");
  EXPECT_DEATH((void)allclose(CudaTensor({3}, kInt8), tensor_),
               "allclose: the tensor is on cuda:0");
}

TEST_F(OpsDeathTest, EdgeItems) {
  EXPECT_DEATH((void)to_string(tensor_, 0), "to_string: edge_items is 0, expected > 0");
  EXPECT_DEATH((void)to_string(tensor_, -3), "to_string: edge_items is -3, expected > 0");
  EXPECT_DEATH((void)to_string(Tensor(), 0), "to_string: edge_items is 0, expected > 0");
}

TEST_F(OpsDeathTest, ReservedDTypes) {
  EXPECT_DEATH((void)default_allclose_tolerance(kInt4), "int4 is a reserved dtype");
  EXPECT_DEATH((void)default_allclose_tolerance(kFP8E4M3), "fp8_e4m3 is a reserved dtype");
  std::byte element[8];
  EXPECT_DEATH((void)Scalar(1).StoreAs(kInt4, element), "StoreAs: int4 is a reserved dtype");
  EXPECT_DEATH((void)Scalar(1).StoreAs(kFP8E4M3, element), "StoreAs: fp8_e4m3 is a reserved dtype");
}

}  // namespace
}  // namespace engine::tensor::ops
