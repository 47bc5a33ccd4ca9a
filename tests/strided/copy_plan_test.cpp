#include "strided/copy_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/copy_plan_trial.h"
#include "testing/death_test_style.h"
#include "testing/fp_mode.h"
#include "testing/random_layout.h"
#include "testing/reference.h"
#include "testing/samples.h"
#include "testing/status_matchers.h"

namespace engine::strided {
namespace {

using enum tensor::DataType;
using tensor::DataType;
using tensor::Shape;
using tensor::Strides;
using testing::StatusIs;

CopyPlan ContiguousPlan(const Shape& shape, DataType dst, DataType src) {
  const Strides strides = tensor::RowMajorStrides(shape);
  return CopyPlan::Make(shape, dst, strides, src, strides);
}

TEST(IsConvertibleTest, ExcludesReservedDTypesAndBoolToOthers) {
  for (const DataType dst : tensor::kAllDataTypes) {
    for (const DataType src : tensor::kAllDataTypes) {
      const bool reserved = dst == kInt4 || src == kInt4 || dst == kFP8E4M3 || src == kFP8E4M3;
      const bool one_bool = (dst == kBool) != (src == kBool);
      EXPECT_EQ(IsConvertible(dst, src), !reserved && !one_bool)
          << tensor::to_string(src) << " to " << tensor::to_string(dst);
    }
  }
}

// Every pair of dtypes against the reference: all patterns of narrow sources, boundaries and random
// patterns of wide ones. Representable values convert in one run; each of the others fails alone.
class CopyPlanPairTest : public ::testing::TestWithParam<DataType> {};

TEST_P(CopyPlanPairTest, ConvertsAsTheReferenceDoes) {
  const DataType src = GetParam();
  const int src_bytes = tensor::itemsize(src);
  for (const DataType dst : tensor::kAllDataTypes) {
    if (!IsConvertible(dst, src)) continue;
    SCOPED_TRACE(::testing::Message() << "to " << tensor::to_string(dst));
    const int dst_bytes = tensor::itemsize(dst);
    std::vector<std::uint64_t> expected;
    std::vector<std::byte> source;
    const CopyPlan single = ContiguousPlan({1}, dst, src);
    for (const std::uint64_t bits : testing::SampleBits(src)) {
      std::array<std::byte, 8> element{};
      testing::reference::StoreBits(element.data(), bits, src_bytes);
      const auto converted = testing::reference::ConvertBits(dst, src, bits);
      if (converted.has_value()) {
        expected.push_back(*converted);
        source.insert(source.end(), element.begin(), element.begin() + src_bytes);
      } else {
        std::array<std::byte, 8> out{};
        ASSERT_FALSE(single.Run(out.data(), element.data())) << std::hex << bits;
        ASSERT_FALSE(single.FirstOffender(element.data()).ok()) << std::hex << bits;
      }
    }
    const auto count = static_cast<std::int64_t>(expected.size());
    std::vector<std::byte> target(expected.size() * static_cast<std::size_t>(dst_bytes));
    const CopyPlan plan = ContiguousPlan({count}, dst, src);
    ASSERT_TRUE(plan.Run(target.data(), source.data()));
    ENGINE_ASSERT_OK(plan.FirstOffender(source.data()));
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(testing::reference::LoadBits(target.data() + i * dst_bytes, dst_bytes),
                expected[static_cast<std::size_t>(i)])
          << "from " << std::hex
          << testing::reference::LoadBits(source.data() + i * src_bytes, src_bytes);
    }
  }
}

// Random layouts of rank 0 to 8, at any address, run in random pieces in random order; sources may
// overlap themselves. Nothing outside the view is written.
TEST_P(CopyPlanPairTest, EqualsTheReferenceForRandomLayouts) {
  const DataType src = GetParam();
  constexpr int kTrials = 120;
  for (const DataType dst : tensor::kAllDataTypes) {
    if (!IsConvertible(dst, src)) continue;
    for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
      testing::RandomDraw draw(seed);
      ASSERT_EQ(testing::CopyPlanTrial(draw, dst, src, 96), "") << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, CopyPlanPairTest,
                         ::testing::Values(kFloat64, kFloat32, kFloat16, kBFloat16, kInt8, kUInt8,
                                           kInt16, kUInt16, kInt32, kUInt32, kInt64, kUInt64,
                                           kBool),
                         [](const auto& info) {
                           return std::string(tensor::to_string(info.param));
                         });

// P45: no element, no access; both addresses may be null, and no step is taken from them (UBSan).
TEST(CopyPlanTest, AnEmptyShapeHasNoUnitsAndTakesNull) {
  for (const DataType src : {kFloat32, kInt8}) {
    for (const Shape& shape : {Shape{3, 0, 2}, Shape{0}, Shape{3, 0}}) {
      const CopyPlan plan = ContiguousPlan(shape, kInt8, src);
      EXPECT_EQ(plan.num_units(), 0);
      EXPECT_TRUE(plan.Run(nullptr, nullptr));
      EXPECT_TRUE(plan.RunUnits(nullptr, nullptr, 0, 0));
      ENGINE_EXPECT_OK(plan.FirstOffender(nullptr));
      const Strides strides = tensor::RowMajorStrides(shape);
      EXPECT_TRUE(CopyPlan::RunOnce(shape, kInt8, strides, src, strides, nullptr, nullptr));
    }
  }
}

// The strides of axes of extent 1 mean nothing: too large for any step, in elements or in bytes,
// they are not multiplied or added (UBSan).
TEST(CopyPlanTest, StridesOfAxesOfExtentOneMayBeAnything) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const std::array<float, 4> src = {1, 2, 300, 4};
  struct Layout {
    Shape shape;
    Strides strides;
  };
  for (const std::int64_t stride : {kMax, kMax / 4 + 1, kMin}) {
    for (const auto& [shape, strides] :
         {Layout{{4, 1}, {1, stride}}, {{1, 4}, {stride, 1}}, {{2, 1, 2}, {2, stride, 1}}}) {
      SCOPED_TRACE(fmt::format("{} {}", shape, strides));
      std::array<float, 4> copy{};
      EXPECT_TRUE(
          CopyPlan::RunOnce(shape, kFloat32, strides, kFloat32, strides, copy.data(), src.data()));
      EXPECT_EQ(copy, src);
      std::array<double, 4> wide{};
      const CopyPlan widens = CopyPlan::Make(shape, kFloat64, strides, kFloat32, strides);
      EXPECT_TRUE(widens.Run(wide.data(), src.data()));
      EXPECT_EQ(wide, (std::array<double, 4>{1, 2, 300, 4}));
      std::array<std::int8_t, 4> narrow{};
      const CopyPlan narrows = CopyPlan::Make(shape, kInt8, strides, kFloat32, strides);
      EXPECT_FALSE(narrows.Run(narrow.data(), src.data()));
      EXPECT_THAT(narrows.FirstOffender(src.data()),
                  StatusIs(core::StatusCode::kInvalidArgument, "(element 2)"));
      ENGINE_EXPECT_OK(widens.FirstOffender(src.data()));
    }
  }
  // One element, whatever the strides.
  float one = 0;
  EXPECT_TRUE(
      CopyPlan::RunOnce({1, 1}, kFloat32, {kMin, kMax}, kFloat32, {kMax, kMin}, &one, src.data()));
  EXPECT_EQ(one, 1);
}

TEST(CopyPlanTest, UnitsShareOutTheWork) {
  EXPECT_EQ(ContiguousPlan({}, kInt8, kInt8).num_units(), 1);
  // Each unit alone does only its part, and together they do all.
  constexpr std::int64_t kRows = 5000;
  constexpr std::int64_t kColumns = 70;
  const CopyPlan plan =
      CopyPlan::Make({kRows, kColumns}, kInt8, {kColumns, 1}, kInt8, {kColumns + 3, 1});
  ASSERT_GT(plan.num_units(), 1);
  std::vector<std::int8_t> src(kRows * (kColumns + 3));
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::int8_t>(1 + i % 101);
  std::vector<std::int8_t> all(kRows * kColumns);
  for (std::int64_t unit = 0; unit < plan.num_units(); ++unit) {
    std::vector<std::int8_t> part(all.size());
    EXPECT_TRUE(plan.RunUnits(part.data(), src.data(), unit, unit + 1));
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(part[i] == 0 || all[i] == 0) << "two units write element " << i;
      all[i] = static_cast<std::int8_t>(all[i] + part[i]);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], src[i / kColumns * (kColumns + 3) + i % kColumns]) << "element " << i;
  }
}

// The first offender is the first in logical order, not in memory order and not in unit order.
TEST(CopyPlanOffenderTest, IsTheFirstInLogicalOrder) {
  // Logical [0, 2] (element 2) is the last in memory, [1, 0] (element 3) the second.
  const std::array<float, 6> column_major = {
      1, std::numeric_limits<float>::quiet_NaN(), 2, 3, 1e10f, 5};
  std::array<std::int32_t, 6> dst{};
  for (const Strides& dst_strides : {Strides{3, 1}, Strides{1, 2}}) {
    const CopyPlan plan = CopyPlan::Make({2, 3}, kInt32, dst_strides, kFloat32, {1, 2});
    bool ok = true;
    for (std::int64_t unit = plan.num_units() - 1; unit >= 0; --unit) {
      ok &= plan.RunUnits(dst.data(), column_major.data(), unit, unit + 1);
    }
    EXPECT_FALSE(ok);
    EXPECT_THAT(
        plan.FirstOffender(column_major.data()),
        StatusIs(core::StatusCode::kInvalidArgument,
                 ::testing::StrEq("cast: 10000000000 at [0, 2] (element 2) of float32 is not "
                                  "representable in int32")));
  }
}

TEST(CopyPlanOffenderTest, PrintsEveryKindOfValue) {
  const auto message = [](DataType dst, DataType src, std::uint64_t bits) {
    return std::string(ContiguousPlan({}, dst, src).FirstOffender(&bits).message());
  };
  EXPECT_EQ(message(kUInt8, kInt8, 0xFF),
            "cast: -1 at [] (element 0) of int8 is not representable in uint8");
  EXPECT_EQ(message(kInt64, kUInt64, 0xFFFFFFFFFFFFFFFF),
            "cast: 18446744073709551615 at [] (element 0) of uint64 is not representable in int64");
  EXPECT_EQ(message(kInt8, kFloat16, 0x7C00),
            "cast: inf at [] (element 0) of float16 is not representable in int8");
  EXPECT_EQ(message(kInt8, kBFloat16, 0xC301),
            "cast: -129 at [] (element 0) of bfloat16 is not representable in int8");
  EXPECT_EQ(message(kInt16, kFloat64, 0x7FF8000000000000),
            "cast: nan at [] (element 0) of float64 is not representable in int16");
  EXPECT_EQ(message(kInt32, kFloat32, 0x4F000000),
            "cast: 2147483648 at [] (element 0) of float32 is not representable in int32");
  EXPECT_EQ(message(kUInt16, kFloat32, 0xBF8CCCCD),
            "cast: -1.100000023841858 at [] (element 0) of float32 is not representable in uint16");
}

// P12: the host's floating-point mode changes neither results nor verdicts, and is left as it was,
// sticky flags included, when a conversion fails, too.
TEST(CopyPlanFpModeTest, ResultsAndModeAreIndependent) {
  // Subnormal, inexact, overflowing, signalling and halfway inputs.
  const std::array<std::uint32_t, 9> values = {0x00400000, 0x00018000, 0x80008001,
                                               0x3E89CCD5, 0xBE89CCD5, 0x7F7FFFFF,
                                               0x7F802000, 0x40001000, 0x477FF000};
  constexpr auto kCount = static_cast<std::int64_t>(values.size());
  const std::uint64_t big = 0x7FFFFF4000000001;
  const float not_an_integer = std::numeric_limits<float>::signaling_NaN();
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    SCOPED_TRACE(mode.name);
    std::array<std::uint16_t, kCount> brain{};
    std::array<std::uint16_t, kCount> half{};
    std::uint32_t narrowed = 0;
    std::int32_t integer = 0;
    bool ok = false;
    bool failed = false;
    core::Status offender;
    std::uint64_t flags_before = 0;
    std::uint64_t flags_after = 0;
    std::uint64_t control_after = 0;
    {
      const testing::ScopedFpControl host(mode.control);
      flags_before = testing::ReadFpFlags();
      ok = ContiguousPlan({kCount}, kBFloat16, kFloat32).Run(brain.data(), values.data());
      ok &= ContiguousPlan({kCount}, kFloat16, kFloat32).Run(half.data(), values.data());
      ok &= ContiguousPlan({}, kFloat32, kInt64).Run(&narrowed, &big);
      const CopyPlan to_integer = ContiguousPlan({}, kInt32, kFloat32);
      failed = !to_integer.Run(&integer, &not_an_integer);
      offender = to_integer.FirstOffender(&not_an_integer);
      control_after = testing::ReadFpControl();
      flags_after = testing::ReadFpFlags();
    }
    EXPECT_TRUE(ok);
    EXPECT_TRUE(failed);
    EXPECT_EQ(control_after, mode.control);
    EXPECT_EQ(flags_after, flags_before);
    EXPECT_THAT(offender, StatusIs(core::StatusCode::kInvalidArgument, "nan at [] (element 0)"));
    EXPECT_EQ(brain, (std::array<std::uint16_t, kCount>{0x0040, 0x0002, 0x8001, 0x3E8A, 0xBE8A,
                                                        0x7F80, 0x7FC0, 0x4000, 0x4780}));
    EXPECT_EQ(half, (std::array<std::uint16_t, kCount>{0x0000, 0x0000, 0x8000, 0x344E, 0xB44E,
                                                       0x7C00, 0x7E01, 0x4000, 0x7C00}));
    EXPECT_EQ(narrowed, 0x5EFFFFFEu);
  }
}

// A plan is shared: two threads run its halves on one destination. Meant for TSan.
TEST(CopyPlanThreadTest, ThreadsRunDisjointRangesOfOnePlan) {
  constexpr std::int64_t kRows = 640;
  constexpr std::int64_t kColumns = 333;
  std::vector<std::int32_t> src(kRows * kColumns);
  std::iota(src.begin(), src.end(), -1000);
  std::vector<std::int64_t> dst(src.size());
  const CopyPlan plan =
      CopyPlan::Make({kRows, kColumns}, kInt64, {1, kRows}, kInt32, {kColumns, 1});
  ASSERT_GT(plan.num_units(), 1);
  const std::int64_t middle = plan.num_units() / 2;
  bool first_ok = false;
  bool second_ok = false;
  std::thread first([&] { first_ok = plan.RunUnits(dst.data(), src.data(), 0, middle); });
  std::thread second(
      [&] { second_ok = plan.RunUnits(dst.data(), src.data(), middle, plan.num_units()); });
  first.join();
  second.join();
  EXPECT_TRUE(first_ok && second_ok);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      ASSERT_EQ(dst[static_cast<std::size_t>(column * kRows + row)],
                row * kColumns + column - 1000);
    }
  }
}

// Around the number of elements up to which there is no plan; a scalar, an extent of 1, nothing.
TEST(CopyPlanTest, RunOnceMovesWhatAPlanWould) {
  for (const tensor::Shape& shape :
       {tensor::Shape{}, {0}, {1}, {63}, {64}, {65}, {3, 0}, {8, 8}, {5, 13}, {2, 1, 3, 2}}) {
    std::vector<std::int16_t> src(static_cast<std::size_t>(shape.numel()) * 2 + 1);
    std::iota(src.begin(), src.end(), std::int16_t{7});
    tensor::Strides dense(shape.dims());
    tensor::Strides spread(shape.dims());
    std::int64_t step = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      dense[i] = step;
      spread[i] = 2 * step;
      step *= shape.dim(i);
    }
    std::vector<std::int16_t> dst(static_cast<std::size_t>(shape.numel()) + 1, -1);
    ASSERT_TRUE(CopyPlan::RunOnce(shape, kInt16, dense, kInt16, spread, dst.data(), src.data()));
    for (std::int64_t i = 0; i < shape.numel(); ++i) {
      ASSERT_EQ(dst[static_cast<std::size_t>(i)], src[static_cast<std::size_t>(2 * i)])
          << fmt::format("{}", shape);
    }
    ASSERT_EQ(dst.back(), -1) << fmt::format("{}", shape);
  }
}

// A source that runs backwards along any of its axes, as NumPy's reversed views do: rows, patterns
// that repeat, matrices.
TEST(CopyPlanTest, SourcesThatRunBackwards) {
  constexpr std::int64_t kA = 200;
  constexpr std::int64_t kB = 3;
  constexpr std::int64_t kC = 5;
  std::vector<std::int32_t> src(kA * kB * kC);
  std::iota(src.begin(), src.end(), 0);
  struct Dense {
    std::array<std::int64_t, 3> dims;
    std::array<std::int64_t, 3> steps;
  };
  const Dense layouts[] = {{{kA, kB, kC}, {kB * kC, kC, 1}},
                           {{kA, kC, kB}, {kB * kC, 1, kC}},
                           {{kA, kB, kC}, {kC, kA * kC, 1}},
                           {{kA, kB, kC}, {1, kA * kC, kA}},
                           {{kB, kC, kA}, {kC, 1, kB * kC}}};
  for (const auto& [dims, forward] : layouts) {
    for (int backwards = 0; backwards < 8; ++backwards) {
      std::array<std::int64_t, 3> steps = forward;
      std::int64_t first = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        if ((backwards >> i & 1) == 0) continue;
        first += (dims[i] - 1) * steps[i];
        steps[i] = -steps[i];
      }
      std::vector<std::int32_t> dst(src.size(), -1);
      const CopyPlan plan =
          CopyPlan::Make({dims[0], dims[1], dims[2]}, kInt32, {dims[1] * dims[2], dims[2], 1},
                         kInt32, {steps[0], steps[1], steps[2]});
      ASSERT_TRUE(plan.Run(dst.data(), src.data() + first));
      std::size_t at = 0;
      for (std::int64_t i = 0; i < dims[0]; ++i) {
        for (std::int64_t j = 0; j < dims[1]; ++j) {
          for (std::int64_t k = 0; k < dims[2]; ++k) {
            ASSERT_EQ(dst[at++], first + i * steps[0] + j * steps[1] + k * steps[2]);
          }
        }
      }
    }
  }
}

class CopyPlanDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(CopyPlanDeathTest, MakeChecksThePairAndTheRanks) {
  EXPECT_DEATH(static_cast<void>(ContiguousPlan({2}, kBool, kFloat32)),
               "CopyPlan: no conversion from float32 to bool");
  EXPECT_DEATH(static_cast<void>(ContiguousPlan({2}, kInt8, kBool)),
               "CopyPlan: no conversion from bool to int8");
  EXPECT_DEATH(static_cast<void>(ContiguousPlan({2}, kInt4, kInt4)),
               "CopyPlan: no conversion from int4 to int4");
  EXPECT_DEATH(static_cast<void>(CopyPlan::Make({2, 3}, kInt8, {3, 1}, kInt8, {1})),
               "differ in rank");
}

TEST_F(CopyPlanDeathTest, RunOnceChecksAsMakeDoes) {
  std::array<std::int8_t, 6> dst{};
  const std::array<std::int8_t, 6> src{};
  const auto run = [&](tensor::DataType dst_dtype, const tensor::Strides& src_strides) {
    static_cast<void>(
        CopyPlan::RunOnce({2, 3}, dst_dtype, {3, 1}, kInt8, src_strides, dst.data(), src.data()));
  };
  EXPECT_DEATH(run(kBool, {3, 1}), "CopyPlan: no conversion from int8 to bool");
  EXPECT_DEATH(run(kInt8, {1}), "differ in rank");
}

TEST_F(CopyPlanDeathTest, RunUnitsChecksTheRange) {
  const CopyPlan plan = CopyPlan::Make({2, 3}, kInt8, {1, 2}, kInt8, {3, 1});
  ASSERT_EQ(plan.num_units(), 1);  // few elements are one unit
  std::array<std::int8_t, 6> dst{};
  const std::array<std::int8_t, 6> src{};
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    static_cast<void>(plan.RunUnits(dst.data(), src.data(), begin, end));
  };
  EXPECT_DEATH(run(-1, 1), "RunUnits: \\[-1, 1\\) is not within \\[0, 1\\)");
  EXPECT_DEATH(run(1, 0), "RunUnits: \\[1, 0\\) is not within \\[0, 1\\)");
  EXPECT_DEATH(run(0, 2), "RunUnits: \\[0, 2\\) is not within \\[0, 1\\)");
}

}  // namespace
}  // namespace engine::strided
