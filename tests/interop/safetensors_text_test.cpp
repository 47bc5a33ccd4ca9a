#include "interop/internal/safetensors_text.h"

#include <gtest/gtest.h>

#include "testing/death_test_style.h"

namespace engine::safetensors::internal {
namespace {

// Each dtype's name leads back to it.
TEST(FormatTest, NamesOfDTypes) {
  for (const tensor::DataType dtype : tensor::kAllDataTypes) {
    if (tensor::is_reserved(dtype)) continue;
    const Format* const format = FindFormat(FormatName(dtype));
    ASSERT_NE(format, nullptr) << tensor::to_string(dtype);
    EXPECT_EQ(format->dtype, dtype);
    EXPECT_EQ(format->bits, tensor::itemsize_bits(dtype));
  }
  EXPECT_EQ(FormatName(tensor::DataType::kBFloat16), "BF16");
  EXPECT_EQ(FormatName(tensor::DataType::kBool), "BOOL");
  EXPECT_EQ(FindFormat("f32"), nullptr);
  EXPECT_EQ(FindFormat("F3"), nullptr);
}

class FormatDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(FormatDeathTest, ReservedDTypesHaveNoName) {
  EXPECT_DEATH((void)FormatName(tensor::DataType::kInt4), "FormatName: int4 is reserved");
}

}  // namespace
}  // namespace engine::safetensors::internal
