// FillWithElement over raw memory; fill_test.cpp has it behind ops::fill.
#include "tensor/element_fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "testing/death_test_style.h"

namespace engine::tensor {
namespace {

using ::testing::ElementsAre;

TEST(ElementFillTest, WritesElementsAndNothingBetween) {
  std::vector<std::int16_t> memory(12, -1);
  const std::int16_t value = 7;
  FillWithElement({2, 3}, {1, 4}, DataType::kInt16, memory.data(), &value);
  EXPECT_THAT(memory, ElementsAre(7, 7, -1, -1, 7, 7, -1, -1, 7, 7, -1, -1));
}

// Bits, whatever they mean: this NaN would come out quieted from any conversion.
TEST(ElementFillTest, KeepsTheBits) {
  std::vector<std::uint32_t> memory(70, 0);
  const std::uint32_t signalling = 0x7F800001u;
  FillWithElement({69}, {1}, DataType::kFloat32, memory.data(), &signalling);
  for (int i = 0; i < 69; ++i) EXPECT_EQ(memory[static_cast<std::size_t>(i)], signalling);
  EXPECT_EQ(memory[69], 0u);
}

// Counts around the blocks that long rows are written in, at odd addresses.
TEST(ElementFillTest, EveryCountAndWidth) {
  const std::uint64_t value = 0x0807060504030201u;
  const auto* const pattern = reinterpret_cast<const unsigned char*>(&value);
  for (const auto& [dtype, width] :
       {std::pair(DataType::kInt8, 1), std::pair(DataType::kInt16, 2),
        std::pair(DataType::kFloat32, 4), std::pair(DataType::kFloat64, 8)}) {
    for (const int bytes : {8, 56, 64, 72, 2040, 2048, 2056, 4096, 4104, 10000}) {
      std::vector<unsigned char> memory(static_cast<std::size_t>(bytes) + 2, 0xEE);
      FillWithElement({bytes / width}, {1}, dtype, memory.data() + 1, &value);
      std::vector<unsigned char> expected(memory.size(), 0xEE);
      for (int i = 0; i < bytes; ++i) {
        expected[static_cast<std::size_t>(i) + 1] = pattern[i % width];
      }
      EXPECT_EQ(memory, expected) << width << " x " << bytes / width;
    }
  }
}

TEST(ElementFillTest, ScalarsAndNothing) {
  double scalar = 0;
  const double value = 2.5;
  FillWithElement({}, {}, DataType::kFloat64, &scalar, &value);
  EXPECT_EQ(scalar, 2.5);
  FillWithElement({0, 3}, {3, 1}, DataType::kFloat64, nullptr, &value);  // P45
}

class ElementFillDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(ElementFillDeathTest, RanksThatDiffer) {
  std::vector<std::int16_t> memory(6);
  const std::int16_t value = 7;
  EXPECT_DEATH(FillWithElement({2, 3}, {1}, DataType::kInt16, memory.data(), &value),
               "differ in rank");
}

}  // namespace
}  // namespace engine::tensor
