// TransferElements over raw memory; copy_test.cpp and cast_test.cpp have it behind the operations.
#include "tensor/element_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "core/status.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::StatusIs;
using ::testing::ElementsAre;

TEST(ElementTransferTest, MovesAndConverts) {
  const std::array<std::int32_t, 6> source = {0, 1, 2, 10, 11, 12};
  std::array<std::int16_t, 6> target{};
  ENGINE_ASSERT_OK(TransferElements({2, 3}, DataType::kInt16, {1, 2}, target.data(),
                                    {DataType::kInt32, {3, 1}, source.data()}));
  EXPECT_THAT(target, ElementsAre(0, 10, 1, 11, 2, 12));
  ENGINE_ASSERT_OK(TransferElements({0, 3}, DataType::kInt16, {3, 1}, nullptr,
                                    {DataType::kInt32, {3, 1}, nullptr}));
}

TEST(ElementTransferTest, NamesTheFirstOffender) {
  const std::array<std::int32_t, 3> source = {1, 300, 400};
  std::array<std::int8_t, 3> target{};
  EXPECT_THAT(TransferElements({3}, DataType::kInt8, {1}, target.data(),
                               {DataType::kInt32, {1}, source.data()}),
              StatusIs(core::StatusCode::kInvalidArgument, "cast: 300 at [1] (element 1)"));
}

// P39: the same view on both sides, whatever the stride of an axis that is not walked.
TEST(ElementTransferTest, LeavesTheSameViewAlone) {
  std::array<std::int32_t, 3> memory = {1, 2, 3};
  ENGINE_ASSERT_OK(TransferElements({1, 3}, DataType::kInt32, {7, 1}, memory.data(),
                                    {DataType::kInt32, {3, 1}, memory.data()}));
  EXPECT_THAT(memory, ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace engine::tensor
