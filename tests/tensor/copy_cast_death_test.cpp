#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "testing/death_test_style.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

// An undefined handle is a bug in the caller, whatever the other argument is.
class CopyCastDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }

  const Tensor undefined_{};
  const Tensor scalar_ = testing::Counting({}, DataType::kFloat32);
};

TEST_F(CopyCastDeathTest, CopyChecksThatBothAreDefined) {
  EXPECT_DEATH(static_cast<void>(ops::copy(undefined_, scalar_)), "copy: the tensor is undefined");
  EXPECT_DEATH(static_cast<void>(ops::copy(scalar_, undefined_)), "copy: the tensor is undefined");
  EXPECT_DEATH(static_cast<void>(ops::copy(undefined_, undefined_)),
               "copy: the tensor is undefined");
}

TEST_F(CopyCastDeathTest, CastChecksThatTheSourceIsDefined) {
  EXPECT_DEATH(static_cast<void>(ops::cast(undefined_, DataType::kFloat16)),
               "cast: the tensor is undefined");
  EXPECT_DEATH(static_cast<void>(ops::cast(undefined_, DataType::kInt4)),
               "cast: the tensor is undefined");
}

TEST_F(CopyCastDeathTest, CastIntoChecksThatBothAreDefined) {
  EXPECT_DEATH(static_cast<void>(ops::cast_into(undefined_, scalar_)),
               "cast_into: the tensor is undefined");
  EXPECT_DEATH(static_cast<void>(ops::cast_into(scalar_, undefined_)),
               "cast_into: the tensor is undefined");
}

TEST_F(CopyCastDeathTest, AMovedFromTensorIsUndefined) {
  Tensor source = testing::Counting({}, DataType::kFloat32);
  const Tensor taken = std::move(source);
  EXPECT_DEATH(static_cast<void>(ops::copy(taken, source)),  // NOLINT(bugprone-use-after-move)
               "copy: the tensor is undefined");
}

TEST_F(CopyCastDeathTest, UndefinedWinsOverAForeignDevice) {
  std::byte bytes[4] = {};
  const auto storage = testing::BorrowStorage(bytes, sizeof(bytes), false, Device::Cuda(0));
  const Tensor remote = *Tensor::from_buffer(storage, 0, {}, DataType::kFloat32);
  EXPECT_DEATH(static_cast<void>(ops::copy(remote, undefined_)), "copy: the tensor is undefined");
  EXPECT_DEATH(static_cast<void>(ops::cast_into(remote, undefined_)),
               "cast_into: the tensor is undefined");
}

TEST_F(CopyCastDeathTest, CastChecksThatTheDTypeIsOne) {
  EXPECT_DEATH(static_cast<void>(ops::cast(scalar_, static_cast<DataType>(200))),
               "200 is not a DataType");
}

}  // namespace
}  // namespace engine::tensor
