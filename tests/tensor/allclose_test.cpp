#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops_test_util.h"
#include "tensor/ops.h"
#include "testing/guarded_memory.h"
#include "testing/random_layout.h"
#include "testing/status_matchers.h"

namespace engine::tensor::ops {
namespace {

using testing::StatusIs;
using testing::TensorOf;
using enum DataType;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Compares vectors as rank-1 tensors.
template <typename T>
AllCloseResult Compare(const std::vector<T>& a, const std::vector<T>& b,
                       AllCloseTolerance tolerance = {}) {
  const Shape shape = {static_cast<std::int64_t>(a.size())};
  const core::StatusOr<AllCloseResult> result =
      allclose(TensorOf<T>(shape, a), TensorOf<T>(shape, b), tolerance);
  ENGINE_EXPECT_OK(result);
  return result.ok() ? *result : AllCloseResult{};
}

// The tolerances of numpy and torch per dtype; exact for integers and bool.
TEST(AllCloseToleranceTest, Defaults) {
  const auto expect = [](DataType dtype, double rtol, double atol) {
    EXPECT_EQ(default_allclose_tolerance(dtype).rtol, rtol) << to_string(dtype);
    EXPECT_EQ(default_allclose_tolerance(dtype).atol, atol) << to_string(dtype);
  };
  expect(kFloat32, 1e-5, 1e-8);
  expect(kFloat16, 1e-3, 1e-5);
  expect(kBFloat16, 1.6e-2, 1e-5);
  expect(kFloat64, 1e-7, 1e-7);
  for (const DataType dtype : testing::StorableDTypes()) {
    if (!is_floating_point(dtype)) expect(dtype, 0, 0);
  }
}

TEST(AllCloseTest, TheDefaultToleranceIsTheDTypes) {
  const auto close = [](DataType dtype, double a, double b) {
    return allclose(*full({2}, a, dtype), *full({2}, b, dtype))->close;
  };
  EXPECT_TRUE(close(kFloat32, 1, 1 + 9e-6));
  EXPECT_FALSE(close(kFloat32, 1, 1 + 1.2e-5));
  EXPECT_TRUE(close(kFloat64, 1, 1 + 1.9e-7));
  EXPECT_FALSE(close(kFloat64, 1, 1 + 2.1e-7));
  EXPECT_TRUE(close(kFloat16, 1, 1 + 0x1p-10));
  EXPECT_FALSE(close(kFloat16, 1, 1 + 0x1p-9));
  EXPECT_TRUE(close(kBFloat16, 1, 1 + 0x1p-6));
  EXPECT_FALSE(close(kBFloat16, 1, 1 + 0x1p-5));
}

TEST(AllCloseTest, EqualTensorsOfEveryDType) {
  for (const DataType dtype : testing::StorableDTypes()) {
    const Tensor ones = *ops::ones({3, 4}, dtype);
    ENGINE_ASSERT_OK_AND_ASSIGN(const AllCloseResult same, allclose(ones, ones));
    EXPECT_TRUE(same.close);
    EXPECT_EQ(same.mismatch_count, 0);
    EXPECT_EQ(same.max_abs_diff, 0);
    EXPECT_TRUE(same.worst_index.empty());
    EXPECT_EQ(same.Summary(), "all of 12 elements close, max |a - b| = 0");

    const Tensor other = *ops::ones({3, 4}, dtype);
    ENGINE_ASSERT_OK(fill(*other.slice(0, 1, 2)->slice(1, 2, 3), 0));
    ENGINE_ASSERT_OK_AND_ASSIGN(const AllCloseResult result, allclose(other, ones));
    EXPECT_FALSE(result.close);
    EXPECT_EQ(result.mismatch_count, 1);
    EXPECT_EQ(result.max_abs_diff, 1);
    EXPECT_EQ(result.worst_index, (DimVector{1, 2}));
    EXPECT_EQ(result.worst_a, 0);
    EXPECT_EQ(result.worst_b, 1);
  }
}

TEST(AllCloseTest, WorstMismatchAndSummary) {
  const Tensor a = TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = TensorOf<float>({2, 3}, {1, 2.5, 7, 4, 9, 6.25});
  ENGINE_ASSERT_OK_AND_ASSIGN(const AllCloseResult result, allclose(a, b));
  EXPECT_EQ(result.mismatch_count, 4);
  EXPECT_EQ(result.max_abs_diff, 4);
  EXPECT_EQ(result.worst_index, (DimVector{0, 2}));  // the first of two differences of 4
  EXPECT_EQ(result.worst_a, 3);
  EXPECT_EQ(result.worst_b, 7);
  EXPECT_EQ(result.Summary(),
            "4 of 6 elements differ, max |a - b| = 4, worst at [0, 2] (element 2): a = 3, b = 7");
}

// The largest difference counts close elements too; the worst element is among the mismatches.
TEST(AllCloseTest, LargestDifferenceMayBeWithinTolerance) {
  const AllCloseResult result = Compare<double>({1010, 1}, {1000, 2}, {.rtol = 0.1, .atol = 0});
  EXPECT_EQ(result.mismatch_count, 1);
  EXPECT_EQ(result.max_abs_diff, 10);
  EXPECT_EQ(result.worst_index, DimVector{1});
}

// P64: the extremes of integers do not overflow.
TEST(AllCloseTest, IntegerExtremes) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const AllCloseResult both = Compare<std::int64_t>({kMax}, {kMin});
  EXPECT_EQ(both.mismatch_count, 1);
  EXPECT_EQ(both.max_abs_diff, 1.8446744073709552e19);
  EXPECT_EQ(Compare<std::int64_t>({kMin}, {kMax}).max_abs_diff, 1.8446744073709552e19);
  EXPECT_TRUE(Compare<std::int64_t>({kMin}, {kMin}).close);
  EXPECT_EQ(Compare<std::uint8_t>({0}, {255}).max_abs_diff, 255);
  EXPECT_EQ(Compare<std::int8_t>({-128}, {127}).max_abs_diff, 255);
  EXPECT_EQ(Compare<std::int32_t>({-2147483648}, {2147483647}).max_abs_diff, 4294967295.0);
  EXPECT_EQ(Compare<std::uint64_t>({0}, {std::numeric_limits<std::uint64_t>::max()}).max_abs_diff,
            1.8446744073709552e19);
  // Ranked exactly: as doubles these two differences are equal, and the first would win.
  EXPECT_EQ(Compare<std::int64_t>({0, -1}, {kMax, kMax}).worst_index, DimVector{1});
}

// P65: integers are compared as integers, and no tolerance loosens that.
TEST(AllCloseTest, IntegersAreExactAtAnyTolerance) {
  const std::vector<std::int64_t> a = {9007199254740992};
  const std::vector<std::int64_t> b = {9007199254740993};
  EXPECT_EQ(Compare(a, b).mismatch_count, 1);
  EXPECT_EQ(Compare(a, b, {.rtol = 1, .atol = 100}).mismatch_count, 1);
  EXPECT_EQ(Compare<std::uint16_t>({1}, {2}, {.rtol = kInfinity, .atol = 5}).mismatch_count, 1);
}

// P66: an infinity is close to itself only.
TEST(AllCloseTest, Infinities) {
  const AllCloseTolerance loose = {.rtol = 1, .atol = 1e300};
  for (const double finite : {0.0, 1.0, -1e308}) {
    const AllCloseResult result = Compare<double>({finite}, {kInfinity}, loose);
    EXPECT_FALSE(result.close);
    EXPECT_EQ(result.max_abs_diff, kInfinity);
    EXPECT_FALSE(Compare<double>({-kInfinity}, {finite}, loose).close);
  }
  EXPECT_TRUE(Compare<double>({kInfinity, -kInfinity}, {kInfinity, -kInfinity}).close);
  EXPECT_EQ(Compare<double>({kInfinity}, {kInfinity}).max_abs_diff, 0);
  EXPECT_FALSE(Compare<double>({kInfinity}, {-kInfinity}, loose).close);
  EXPECT_EQ(Compare<float>({std::numeric_limits<float>::infinity()},
                           {-std::numeric_limits<float>::infinity()})
                .max_abs_diff,
            kInfinity);
}

// Finite doubles whose difference overflows.
TEST(AllCloseTest, DifferenceOfDoublesOverflows) {
  const AllCloseResult result = Compare<double>({1, 1e308}, {3, -1e308}, {.rtol = 0.5, .atol = 0});
  EXPECT_EQ(result.mismatch_count, 2);
  EXPECT_EQ(result.max_abs_diff, kInfinity);
  EXPECT_EQ(result.worst_index, DimVector{1});
  EXPECT_EQ(result.worst_a, 1e308);
}

// P67: the tolerance scales with b.
TEST(AllCloseTest, Asymmetry) {
  const AllCloseTolerance tolerance = {.rtol = 0.1, .atol = 0};
  EXPECT_FALSE(Compare<float>({10}, {9}, tolerance).close);
  EXPECT_TRUE(Compare<float>({9}, {10}, tolerance).close);
}

// The border itself is close.
TEST(AllCloseTest, BorderIsInclusive) {
  EXPECT_TRUE(Compare<double>({1.5}, {1}, {.rtol = 0, .atol = 0.5}).close);
  EXPECT_TRUE(Compare<double>({1.5}, {1}, {.rtol = 0.5, .atol = 0}).close);
  EXPECT_TRUE(Compare<double>({1.75}, {1}, {.rtol = 0.5, .atol = 0.25}).close);
  EXPECT_FALSE(Compare<double>({std::nextafter(1.75, 2)}, {1}, {.rtol = 0.5, .atol = 0.25}).close);
  EXPECT_TRUE(Compare<double>({0.0}, {-0.0}).close);
}

// P68: a NaN is a mismatch, never the largest difference.
TEST(AllCloseTest, NanNeverHidesALaterMismatch) {
  const AllCloseResult only = Compare<double>({1, kNaN, 5}, {1, kNaN, 5});
  EXPECT_EQ(only.mismatch_count, 1);
  EXPECT_EQ(only.max_abs_diff, 0);
  EXPECT_EQ(only.worst_index, DimVector{1});
  EXPECT_TRUE(std::isnan(only.worst_a));

  const AllCloseResult later = Compare<double>({kNaN, 1, 5}, {kNaN, 1, 1e9});
  EXPECT_EQ(later.mismatch_count, 2);
  EXPECT_EQ(later.max_abs_diff, 1e9 - 5);
  EXPECT_EQ(later.worst_index, DimVector{2});

  const AllCloseResult earlier = Compare<double>({3, kNaN, kNaN}, {4, 7, kNaN});
  EXPECT_EQ(earlier.mismatch_count, 3);
  EXPECT_EQ(earlier.max_abs_diff, 1);
  EXPECT_EQ(earlier.worst_index, DimVector{0});

  const AllCloseResult one_sided =
      Compare<double>({kNaN, kNaN}, {1, kInfinity}, {.rtol = kInfinity, .atol = kInfinity});
  EXPECT_EQ(one_sided.mismatch_count, 2);
  EXPECT_EQ(one_sided.max_abs_diff, 0);
  EXPECT_EQ(one_sided.worst_index, DimVector{0});
  EXPECT_EQ(one_sided.worst_b, 1);
}

// P68: tolerances that are none.
TEST(AllCloseTest, Tolerances) {
  const Tensor a = TensorOf<float>({1}, {1});
  EXPECT_THAT(allclose(a, a, {.rtol = -1, .atol = 0}), StatusIs(kInvalid, "rtol -1"));
  EXPECT_THAT(allclose(a, a, {.rtol = 0, .atol = -1e-300}), StatusIs(kInvalid));
  EXPECT_THAT(allclose(a, a, {.rtol = kNaN, .atol = 0}), StatusIs(kInvalid));
  EXPECT_THAT(allclose(a, a, {.rtol = 0, .atol = -kNaN}), StatusIs(kInvalid));
  EXPECT_THAT(allclose(a, a, {.rtol = -kInfinity, .atol = 0}), StatusIs(kInvalid));
  ENGINE_EXPECT_OK(allclose(a, a, {.rtol = -0.0, .atol = kInfinity}));
  const Tensor ints = TensorOf<std::int32_t>({1}, {1});
  EXPECT_THAT(allclose(ints, ints, {.rtol = -1, .atol = 0}), StatusIs(kInvalid));
}

TEST(AllCloseTest, DifferentShapesAndDTypes) {
  const Tensor a = *zeros({2, 3}, kFloat32);
  EXPECT_THAT(allclose(a, *zeros({3, 2}, kFloat32)), StatusIs(kInvalid, "[2, 3] and [3, 2]"));
  EXPECT_THAT(allclose(a, *zeros({6}, kFloat32)), StatusIs(kInvalid));
  EXPECT_THAT(allclose(a, *zeros({2, 3}, kFloat64)), StatusIs(kInvalid, "float32 and float64"));
  EXPECT_THAT(allclose(*zeros({0, 2}, kInt8), *zeros({0, 3}, kInt8)), StatusIs(kInvalid));
}

// P23: a bool byte is true when it is not zero.
TEST(AllCloseTest, BoolBytes) {
  const Tensor bytes = *TensorOf<std::uint8_t>({4}, {0, 1, 2, 255}).view_as_dtype(kBool);
  const Tensor expected = *TensorOf<std::uint8_t>({4}, {0, 1, 1, 1}).view_as_dtype(kBool);
  EXPECT_TRUE(allclose(bytes, expected)->close);
  const Tensor other = *TensorOf<std::uint8_t>({4}, {0, 1, 1, 0}).view_as_dtype(kBool);
  ENGINE_ASSERT_OK_AND_ASSIGN(const AllCloseResult result, allclose(bytes, other));
  EXPECT_EQ(result.mismatch_count, 1);
  EXPECT_EQ(result.max_abs_diff, 1);
  EXPECT_EQ(result.worst_index, DimVector{3});
  EXPECT_EQ(result.worst_a, 1);
  EXPECT_EQ(result.worst_b, 0);
}

// P45: null storage compares as close.
TEST(AllCloseTest, EmptyTensors) {
  for (const DataType dtype : testing::StorableDTypes()) {
    const Tensor empty = *zeros({3, 0}, dtype);
    ENGINE_ASSERT_OK_AND_ASSIGN(const AllCloseResult result, allclose(empty, empty));
    EXPECT_TRUE(result.close);
    EXPECT_EQ(result.Summary(), "all of 0 elements close, max |a - b| = 0");
  }
}

TEST(AllCloseTest, RankZero) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const AllCloseResult result,
                              allclose(*full({}, 2, kFloat32), *full({}, 5, kFloat32)));
  EXPECT_EQ(result.mismatch_count, 1);
  EXPECT_TRUE(result.worst_index.empty());
  EXPECT_EQ(result.worst_b, 5);
  EXPECT_EQ(result.Summary(),
            "1 of 1 elements differ, max |a - b| = 3, worst at [] (element 0): a = 2, b = 5");
}

TEST(AllCloseTest, MisalignedOperands) {
  for (const DataType dtype : testing::StorableDTypes()) {
    const Tensor a = testing::PoisonedTensor({3, 3}, dtype, 1);
    ENGINE_ASSERT_OK(fill(a, 1));
    EXPECT_TRUE(allclose(a, *ones({3, 3}, dtype))->close);
    EXPECT_EQ(allclose(*zeros({3, 3}, dtype), a)->mismatch_count, 9);
  }
}

// The stride of an axis of extent 1 is never multiplied out.
TEST(AllCloseTest, HugeStrideOfAnAxisOfExtentOne) {
  const Tensor storage = TensorOf<double>({2}, {1, 2});
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor a,
      Tensor::from_strided_buffer(storage.buffer(), 0, {2, 1},
                                  Strides{1, std::numeric_limits<std::int64_t>::max()}, kFloat64));
  EXPECT_TRUE(allclose(a, *storage.reshape({2, 1}))->close);
}

// P43: nothing past the last element is read.
TEST(AllCloseTest, EndsAtAGuardPage) {
  const testing::GuardedMemory a_memory(1024);
  const testing::GuardedMemory b_memory(1024);
  for (const DataType dtype : testing::StorableDTypes()) {
    for (std::int64_t count = 0; count <= 70; ++count) {
      const std::size_t bytes = static_cast<std::size_t>(count * itemsize(dtype));
      const auto at_end = [&](const testing::GuardedMemory& memory) {
        return *Tensor::from_buffer(testing::BorrowStorage(memory.begin(), memory.size_bytes()),
                                    memory.size_bytes() - bytes, {count}, dtype);
      };
      const Tensor a = at_end(a_memory);
      const Tensor b = at_end(b_memory);
      ENGINE_ASSERT_OK(fill(a, 1));
      ENGINE_ASSERT_OK(fill(b, 0));
      EXPECT_EQ(allclose(a, b)->mismatch_count, count);
    }
  }
}

// Random layouts of both sides against a loop over the coordinates.
TEST(AllCloseTest, RandomLayouts) {
  testing::RandomDraw draw(7);
  const AllCloseTolerance tolerance = {.rtol = 0.05, .atol = 0.5};
  const auto view_of = [&](const Shape& shape) {
    const testing::DrawnLayout layout = testing::DrawLayout(draw, shape, true);
    std::vector<float> values(static_cast<std::size_t>(layout.storage_size));
    for (float& value : values) {
      value = draw(0, 19) == 0 ? std::numeric_limits<float>::quiet_NaN()
                               : static_cast<float>(draw(9, 12));
    }
    const Tensor storage = TensorOf<float>({layout.storage_size}, values);
    return *Tensor::from_strided_buffer(storage.buffer(),
                                        static_cast<std::size_t>(layout.first) * sizeof(float),
                                        shape, layout.strides, kFloat32);
  };
  for (int round = 0; round < 2000; ++round) {
    const Shape shape = testing::DrawShape(draw, 60);
    const Tensor a = view_of(shape);
    const Tensor b = view_of(shape);
    AllCloseResult expected;
    double worst = -2;
    testing::reference::ForEachCoordinates(shape, [&](const DimVector& coordinates) {
      const double x = a.item<float>(coordinates.values());
      const double y = b.item<float>(coordinates.values());
      const double difference = std::fabs(x - y);
      if (difference > expected.max_abs_diff) expected.max_abs_diff = difference;
      if (difference <= 0.5 + 0.05 * std::fabs(y)) return;
      ++expected.mismatch_count;
      const double rank = std::isnan(difference) ? -1 : difference;
      if (rank <= worst) return;
      worst = rank;
      expected.worst_index = coordinates;
    });
    ENGINE_ASSERT_OK_AND_ASSIGN(const AllCloseResult result, allclose(a, b, tolerance));
    ASSERT_EQ(result.close, expected.mismatch_count == 0);
    ASSERT_EQ(result.mismatch_count, expected.mismatch_count);
    ASSERT_EQ(result.max_abs_diff, expected.max_abs_diff);
    ASSERT_EQ(result.worst_index, expected.worst_index);
  }
}

TEST(AllCloseTest, IndependentOfTheHostsFloatingPointMode) {
  const Tensor tiny = TensorOf<float>({1}, {1e-40f});
  const Tensor zero = *zeros({1}, kFloat32);
  const Tensor least = TensorOf<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::min()});
  const Tensor most = TensorOf<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::max()});
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    core::StatusOr<AllCloseResult> subnormal = core::InvalidArgumentError("not run");
    core::StatusOr<AllCloseResult> integers = subnormal;
    core::StatusOr<AllCloseResult> negative = AllCloseResult{};
    const std::uint64_t after = testing::ControlAfter(mode.control, [&] {
      subnormal = allclose(tiny, zero, AllCloseTolerance{});
      integers = allclose(least, most);
      negative = allclose(tiny, zero, {.rtol = -1e-310, .atol = 0});
    });
    EXPECT_EQ(after, mode.control) << mode.name;
    EXPECT_EQ(subnormal->mismatch_count, 1) << mode.name;
    EXPECT_EQ(subnormal->max_abs_diff, double{1e-40f}) << mode.name;
    EXPECT_EQ(integers->max_abs_diff, 1.8446744073709552e19) << mode.name;
    EXPECT_THAT(negative, StatusIs(kInvalid)) << mode.name;
  }
}

}  // namespace
}  // namespace engine::tensor::ops
