// Conversions at the edges of what dtypes hold, in the middle of full vectors: every pattern of the
// 16-bit floats, the floats around each integer and each power of two, the boundaries of integers.
// What fits is converted as the reference does; what does not is found at any lane, alone among
// elements that fit. Clause: integer targets truncate, then test the range; NaN and infinities
// never fit; results do not depend on the host's floating-point mode. P15, P16, P17, P18.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strided/copy_plan.h"
#include "tensor/dtype.h"
#include "testing/fp_mode.h"
#include "testing/reference.h"
#include "testing/samples.h"
#include "testing/status_matchers.h"

namespace engine::strided {
namespace {

using enum tensor::DataType;
using tensor::DataType;

// Source elements in a row, and the patterns that the reference makes of them.
struct Elements {
  explicit Elements(DataType dtype) : item(static_cast<std::size_t>(tensor::itemsize(dtype))) {}

  void Append(std::uint64_t bits) {
    bytes.resize(bytes.size() + item);
    Set(count() - 1, bits);
  }
  void Set(std::int64_t index, std::uint64_t bits) {
    testing::reference::StoreBits(bytes.data() + static_cast<std::size_t>(index) * item, bits,
                                  static_cast<int>(item));
  }
  [[nodiscard]] std::uint64_t At(std::int64_t index) const {
    return testing::reference::LoadBits(bytes.data() + static_cast<std::size_t>(index) * item,
                                        static_cast<int>(item));
  }
  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(bytes.size() / item);
  }

  std::size_t item;
  std::vector<std::byte> bytes;
};

CopyPlan RunOf(std::int64_t count, DataType dst, DataType src) {
  return CopyPlan::Make({count}, dst, {1}, src, {1});
}

// The floats within a few units in the last place of `value`, of either sign.
template <typename Float, typename Bits>
void AppendNeighbours(double value, std::vector<std::uint64_t>& patterns) {
  constexpr int kUlps = 3;
  for (const double signed_value : {value, -value}) {
    const auto centre = std::bit_cast<Bits>(static_cast<Float>(signed_value));
    for (int ulps = -kUlps; ulps <= kUlps; ++ulps) {
      patterns.push_back(static_cast<Bits>(centre + static_cast<Bits>(ulps)));
    }
  }
}

// Around every integer of an 8- or 16-bit target and a little beyond; of wider ones around the
// powers of two. Around zero the neighbours are subnormal, and NaNs where the sign bit borrows.
template <typename Float, typename Bits>
std::vector<std::uint64_t> NearIntegers(DataType target) {
  std::vector<std::uint64_t> patterns;
  const int width = tensor::itemsize_bits(target);
  const int integers = width <= 16 ? (1 << width) + 300 : 300;
  for (int i = 0; i <= integers; ++i) {
    AppendNeighbours<Float, Bits>(i, patterns);
    AppendNeighbours<Float, Bits>(i + 0.5, patterns);
  }
  for (int power = 0; power <= 65; ++power) {
    for (const double offset : {-2, -1, 0, 1, 2}) {
      AppendNeighbours<Float, Bits>(std::ldexp(1.0, power) + offset, patterns);
    }
  }
  return patterns;
}

std::vector<std::uint64_t> PatternsFor(DataType dst, DataType src) {
  std::vector<std::uint64_t> patterns = testing::SampleBits(src);
  if (!tensor::is_integral(dst) || (src != kFloat32 && src != kFloat64)) return patterns;
  const std::vector<std::uint64_t> more = src == kFloat32
                                              ? NearIntegers<float, std::uint32_t>(dst)
                                              : NearIntegers<double, std::uint64_t>(dst);
  patterns.insert(patterns.end(), more.begin(), more.end());
  return patterns;
}

// From one dtype to every other.
class CopyPlanBoundaryTest : public ::testing::TestWithParam<DataType> {};

TEST_P(CopyPlanBoundaryTest, WhatFitsConvertsAndWhatDoesNotIsFoundAtAnyLane) {
  // More than two of the widest vectors of one-byte elements, and odd.
  constexpr std::int64_t kRun = 131;
  const DataType src = GetParam();
  for (const DataType dst : testing::kCastableDTypes) {
    if (dst == src) continue;
    SCOPED_TRACE(::testing::Message() << "to " << tensor::to_string(dst));
    Elements fitting(src);
    std::vector<std::uint64_t> expected;
    Elements run(src);
    for (std::int64_t i = 0; i < kRun; ++i) {
      run.Append(
          *testing::reference::ConvertBits(src, kUInt8, static_cast<std::uint64_t>(i % 100)));
    }
    const CopyPlan run_plan = RunOf(kRun, dst, src);
    std::vector<std::byte> out(static_cast<std::size_t>(kRun) * 8);
    std::int64_t lane = 0;
    for (const std::uint64_t bits : PatternsFor(dst, src)) {
      const std::optional<std::uint64_t> converted =
          testing::reference::ConvertBits(dst, src, bits);
      if (converted.has_value()) {
        fitting.Append(bits);
        expected.push_back(*converted);
        continue;
      }
      lane = (lane + 1) % kRun;
      const std::uint64_t small = run.At(lane);
      run.Set(lane, bits);
      ASSERT_FALSE(run_plan.Run(out.data(), run.bytes.data()))
          << std::hex << bits << " at " << std::dec << lane;
      if (lane % 16 == 0) {
        ASSERT_THAT(
            run_plan.FirstOffender(run.bytes.data()),
            testing::StatusIs(core::StatusCode::kInvalidArgument,
                              ::testing::HasSubstr("(element " + std::to_string(lane) + ") of ")))
            << std::hex << bits;
      }
      run.Set(lane, small);
    }
    ASSERT_TRUE(run_plan.Run(out.data(), run.bytes.data()));
    const auto dst_item = static_cast<std::size_t>(tensor::itemsize(dst));
    out.resize(expected.size() * dst_item);
    ASSERT_TRUE(RunOf(fitting.count(), dst, src).Run(out.data(), fitting.bytes.data()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(testing::reference::LoadBits(out.data() + i * dst_item, static_cast<int>(dst_item)),
                expected[i])
          << "from " << std::hex << fitting.At(static_cast<std::int64_t>(i));
    }
  }
}

// Every conversion of every sample, in every mode a host may have set: the default one's bytes.
TEST_P(CopyPlanBoundaryTest, NoHostModeChangesAByte) {
  const DataType src = GetParam();
  for (const DataType dst : testing::kCastableDTypes) {
    if (dst == src) continue;
    Elements fitting(src);
    for (const std::uint64_t bits : testing::SampleBits(src)) {
      if (testing::reference::ConvertBits(dst, src, bits).has_value()) fitting.Append(bits);
    }
    const CopyPlan plan = RunOf(fitting.count(), dst, src);
    std::vector<std::byte> expected(
        static_cast<std::size_t>(fitting.count() * tensor::itemsize(dst)));
    ASSERT_TRUE(plan.Run(expected.data(), fitting.bytes.data()));
    for (const testing::FpMode& mode : testing::kHostFpModes) {
      std::vector<std::byte> actual(expected.size());
      bool fits = false;
      {
        const testing::ScopedFpControl host(mode.control);
        fits = plan.Run(actual.data(), fitting.bytes.data());
      }
      ASSERT_TRUE(fits) << mode.name;
      ASSERT_TRUE(actual == expected) << "to " << tensor::to_string(dst) << ", " << mode.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, CopyPlanBoundaryTest,
                         ::testing::ValuesIn(testing::kCastableDTypes), [](const auto& info) {
                           return std::string(tensor::to_string(info.param));
                         });

// Verdicts written down rather than computed: the bounds of each integer dtype, and what surrounds
// them, at every place of a run.
struct Verdict {
  double value;
  bool fits;
};

struct TargetBounds {
  DataType dtype;
  std::vector<Verdict> of_double;  // exact as doubles
};

std::vector<TargetBounds> AllBounds() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<TargetBounds> all = {
      {kInt8, {{-128, true}, {-128.99, true}, {-129, false}, {127.99, true}, {128, false}}},
      {kUInt8, {{-0.99, true}, {-1, false}, {255.99, true}, {256, false}}},
      {kInt16, {{-32768.99, true}, {-32769, false}, {32767.99, true}, {32768, false}}},
      {kUInt16, {{-0.99, true}, {-1, false}, {65535.99, true}, {65536, false}}},
      {kInt32,
       {{-2147483648.0, true},
        {-2147483648.99, true},
        {-2147483649.0, false},
        {2147483647.99, true},
        {2147483648.0, false}}},
      {kUInt32, {{-0.99, true}, {-1, false}, {4294967295.99, true}, {4294967296.0, false}}},
      {kInt64,
       {{-9223372036854775808.0, true},
        {-9223372036854777856.0, false},
        {9223372036854774784.0, true},
        {9223372036854775808.0, false}}},
      {kUInt64,
       {{-0.99, true},
        {-1, false},
        {18446744073709549568.0, true},
        {18446744073709551616.0, false}}},
  };
  for (TargetBounds& bounds : all) {
    for (const Verdict verdict :
         {Verdict{kNaN, false}, Verdict{-kNaN, false}, Verdict{kInfinity, false},
          Verdict{-kInfinity, false}, Verdict{-0.0, true}, Verdict{5e-324, true},
          Verdict{1e300, false}, Verdict{-1e300, false}}) {
      bounds.of_double.push_back(verdict);
    }
  }
  return all;
}

TEST(CopyPlanVerdictTest, BoundsOfEveryIntegerTargetAtEveryPlace) {
  constexpr std::int64_t kRun = 131;
  for (const TargetBounds& bounds : AllBounds()) {
    for (const auto& [value, fits] : bounds.of_double) {
      SCOPED_TRACE(::testing::Message() << value << " to " << tensor::to_string(bounds.dtype));
      std::vector<double> doubles(kRun, 1.0);
      std::vector<float> floats(kRun, 1.0f);
      std::vector<std::byte> out(kRun * 8);
      const CopyPlan from_double = RunOf(kRun, bounds.dtype, kFloat64);
      const CopyPlan from_float = RunOf(kRun, bounds.dtype, kFloat32);
      const auto as_float = static_cast<float>(value);
      const bool exact = static_cast<double>(as_float) == value || std::isnan(value);
      for (std::size_t i = 0; i < kRun; ++i) {
        doubles[i] = value;
        ASSERT_EQ(from_double.Run(out.data(), doubles.data()), fits) << i;
        ASSERT_EQ(from_double.FirstOffender(doubles.data()).ok(), fits) << i;
        doubles[i] = 1.0;
        if (!exact) continue;
        floats[i] = as_float;
        ASSERT_EQ(from_float.Run(out.data(), floats.data()), fits) << i;
        ASSERT_EQ(from_float.FirstOffender(floats.data()).ok(), fits) << i;
        floats[i] = 1.0f;
      }
    }
  }
}

}  // namespace
}  // namespace engine::strided
