// Which element is blamed. Clause: the first in logical order that the destination cannot hold,
// also where memory is walked in another order and where units ran on several threads; the verdict
// is the same for any partition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "strided/copy_plan.h"
#include "strided/layout.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/reference.h"
#include "testing/samples.h"
#include "testing/status_matchers.h"

namespace engine::strided {
namespace {

using tensor::DataType;
using tensor::Shape;
using tensor::Strides;

// A pattern that `dst` does not hold; none when it holds every element of `src`.
std::optional<std::uint64_t> MisfitOf(DataType dst, DataType src) {
  for (const std::uint64_t bits : testing::SampleBits(src)) {
    if (!testing::reference::ConvertBits(dst, src, bits).has_value()) return bits;
  }
  return std::nullopt;
}

struct OffenderLayout {
  const char* name;
  Shape shape;
  Strides dst_strides;
  Strides src_strides;
};

// Logical order is not the order of the walk, which follows the destination's memory, in blocks.
std::vector<OffenderLayout> Layouts() {
  return {
      {"one element's loop", {7, 8}, {1, 7}, {8, 1}},
      {"run", {400'000}, {1}, {1}},
      {"rows, walked from the last axis", {61, 67, 41}, {42, 42 * 61, 1}, {43, 43 * 61, 1}},
      {"short rows", {9, 3000, 7}, {8, 80, 1}, {7, 63, 1}},
      {"steps", {97, 201}, {2, 2 * 97}, {3, 3 * 97}},
      {"transpose", {257, 130}, {131, 1}, {1, 257}},
      {"column-major on both sides, transposed", {257, 130}, {1, 257}, {130, 1}},
      {"four axes reversed", {11, 9, 10, 37}, {1, 11, 99, 990}, {3330, 370, 37, 1}},
  };
}

// Runs the units on two threads that take turns, the second half first.
bool RunOnTwoThreads(const CopyPlan& plan, std::byte* dst, const std::byte* src) {
  std::atomic<bool> all_fit = true;
  const auto run = [&](std::int64_t first) {
    for (std::int64_t unit = first; unit >= 0; unit -= 2) {
      if (!plan.RunUnits(dst, src, unit, unit + 1)) all_fit = false;
    }
  };
  std::thread odd(run, plan.num_units() - 1);
  std::thread even(run, plan.num_units() - 2);
  odd.join();
  even.join();
  return all_fit;
}

class CopyPlanOffendersTest : public ::testing::TestWithParam<DataType> {};

TEST_P(CopyPlanOffendersTest, TheLowestLogicalIndexIsNamed) {
  const DataType dst = GetParam();
  for (const OffenderLayout& layout : Layouts()) {
    SCOPED_TRACE(layout.name);
    const std::int64_t numel = layout.shape.numel();
    for (const DataType src : testing::kCastableDTypes) {
      if (src == dst) continue;
      const std::optional<std::uint64_t> misfit = MisfitOf(dst, src);
      if (!misfit.has_value()) continue;
      SCOPED_TRACE(tensor::to_string(src));
      const int item = tensor::itemsize(src);
      const std::int64_t window = OffsetOf(numel - 1, layout.shape, layout.src_strides) + 1;
      // Zero is zero in every dtype.
      std::vector<std::byte> source(static_cast<std::size_t>(window * item));
      std::vector<std::byte> target(static_cast<std::size_t>(
          (OffsetOf(numel - 1, layout.shape, layout.dst_strides) + 1) * tensor::itemsize(dst)));
      const CopyPlan plan =
          CopyPlan::Make(layout.shape, dst, layout.dst_strides, src, layout.src_strides);
      ASSERT_TRUE(RunOnTwoThreads(plan, target.data(), source.data()));
      ENGINE_ASSERT_OK(plan.FirstOffender(source.data()));
      // From the last element backwards, each one earlier than those that are there already.
      for (const std::int64_t index : {numel - 1, numel - 2, numel / 2 + 1, numel / 3, numel / 17,
                                       std::int64_t{1}, std::int64_t{0}}) {
        const std::int64_t at = OffsetOf(index, layout.shape, layout.src_strides);
        testing::reference::StoreBits(source.data() + at * item, *misfit, item);
        ASSERT_FALSE(RunOnTwoThreads(plan, target.data(), source.data())) << index;
        ASSERT_FALSE(plan.Run(target.data(), source.data())) << index;
        const std::string place =
            fmt::format(" at {} (element {}) of {} is not representable in {}",
                        CoordinatesOf(index, layout.shape), index, src, dst);
        ASSERT_THAT(
            plan.FirstOffender(source.data()),
            testing::StatusIs(core::StatusCode::kInvalidArgument, ::testing::HasSubstr(place)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CopyPlanOffendersTest,
                         ::testing::Values(DataType::kInt8, DataType::kUInt8, DataType::kInt16,
                                           DataType::kUInt16, DataType::kInt32, DataType::kUInt32,
                                           DataType::kInt64, DataType::kUInt64),
                         [](const auto& info) {
                           return std::string(tensor::to_string(info.param));
                         });

// Among offenders of different kinds the first counts, not the worst; what fits is no offender.
TEST(CopyPlanOffenderKindsTest, TheFirstKindIsPrinted) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float values[] = {-0.0f, -2147483648.0f, kInfinity, kNaN, 2147483648.0f, -kInfinity};
  const char* const printed[] = {"inf", "inf", "inf", "nan", "2147483648", "-inf"};
  for (std::int64_t first = 0; first < 6; ++first) {
    const CopyPlan plan =
        CopyPlan::Make({6 - first}, DataType::kInt32, {1}, DataType::kFloat32, {1});
    std::int32_t out[6];
    EXPECT_FALSE(plan.Run(out, values + first));
    const std::int64_t index = first < 2 ? 2 - first : 0;
    EXPECT_THAT(plan.FirstOffender(values + first),
                testing::StatusIs(
                    core::StatusCode::kInvalidArgument,
                    ::testing::HasSubstr(fmt::format("cast: {} at [{}] (element {}) of float32 ",
                                                     printed[first], index, index))));
  }
  const CopyPlan fitting = CopyPlan::Make({2}, DataType::kInt32, {1}, DataType::kFloat32, {1});
  std::int32_t out[2];
  EXPECT_TRUE(fitting.Run(out, values));
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], std::numeric_limits<std::int32_t>::min());
}

}  // namespace
}  // namespace engine::strided
