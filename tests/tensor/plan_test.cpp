// ops::plan_copy and ops::plan_cast: the reusable plans. Clause: the checks of copy and cast_into,
// the same bytes, and no allocation.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace engine::tensor::ops {
namespace {

using ::engine::testing::StatusIs;

Tensor Sequence(std::int64_t count, DataType dtype) { return *arange(0, count, 1, dtype); }

TEST(PlanTest, ACopyPlanRunsOnOtherTensorsOfTheSameLayout) {
  const Tensor first = *Sequence(35, DataType::kInt32).reshape({5, 7});
  const Tensor second = *arange(100, 135, 1, DataType::kInt32)->reshape({5, 7});
  const Tensor dst = *zeros({7, 5}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const strided::CopyPlan plan, plan_copy(dst, *first.transpose(0, 1)));
  for (const Tensor& source : {first, second}) {
    ASSERT_TRUE(plan.Run(dst.data(), source.data()));
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t column = 0; column < 7; ++column) {
        EXPECT_EQ(dst.item<std::int32_t>({column, row}), source.item<std::int32_t>({row, column}));
      }
    }
  }
}

TEST(PlanTest, ACastPlanReportsTheFirstOffender) {
  const Tensor src = *full({3, 4}, 7, DataType::kFloat32);
  const Tensor dst = *zeros({3, 4}, DataType::kInt8);
  ENGINE_ASSERT_OK_AND_ASSIGN(const strided::CopyPlan plan, plan_cast(dst, src));
  EXPECT_TRUE(plan.Run(dst.data(), src.data()));
  EXPECT_EQ(dst.item<std::int8_t>({2, 3}), 7);
  ENGINE_ASSERT_OK(fill(*src.slice(0, 1, 2), 1000));
  EXPECT_FALSE(plan.Run(dst.data(), src.data()));
  EXPECT_THAT(plan.FirstOffender(src.data()),
              StatusIs(core::StatusCode::kInvalidArgument, "1000 at [1, 0] (element 4)"));
}

TEST(PlanTest, MakesTheChecksOfItsOperation) {
  const Tensor a = *zeros({2, 3}, DataType::kFloat32);
  const Tensor b = *zeros({3, 2}, DataType::kFloat32);
  const Tensor flags = *zeros({2, 3}, DataType::kBool);
  constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
  EXPECT_THAT(plan_copy(a, b), StatusIs(kInvalid, "plan_copy: shapes [2, 3] and [3, 2] differ"));
  EXPECT_THAT(plan_copy(a, flags), StatusIs(kInvalid, "plan_copy: dtypes float32 and bool differ"));
  EXPECT_THAT(plan_cast(a, b), StatusIs(kInvalid, "plan_cast: shapes [2, 3] and [3, 2] differ"));
  EXPECT_THAT(plan_cast(a, flags), StatusIs(kInvalid, "plan_cast: no conversion from bool"));
}

}  // namespace
}  // namespace engine::tensor::ops
