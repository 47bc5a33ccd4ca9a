// Every float to both half types against the scalar definition (strided/convert.h, which
// convert_test.cpp and the half suites hold against independent arithmetic), under the default
// floating-point mode and under a host's that flushes subnormals. Clause: the same bits on every
// target, whatever mode the host has set. Prints the time each took.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "strided/convert.h"
#include "strided/copy_plan.h"
#include "strided/target.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "testing/fp_mode.h"

namespace engine::strided {
namespace {

using tensor::DataType;

// Consecutive patterns that are converted at a time; they stay in the L1 and L2 caches.
constexpr std::int64_t kBlock = std::int64_t{1} << 15;
constexpr std::int64_t kAllFloats = std::int64_t{1} << 32;

// Flush to zero, denormals are zero, and upward: flushing alone would not show in every kernel.
constexpr const testing::FpMode& kFlushing = testing::kHostFpModes.back();

template <typename Half>
void ExpectEveryFloatConverts() {
  const auto start = std::chrono::steady_clock::now();
  const CopyPlan plan =
      CopyPlan::Make({kBlock}, tensor::dtype_of<Half>, {1}, DataType::kFloat32, {1});
  std::vector<float> source(kBlock);
  std::vector<Half> expected(kBlock, Half::from_bits(0));
  std::vector<Half> actual(kBlock, Half::from_bits(0));
  std::vector<Half> flushing(kBlock, Half::from_bits(0));
  for (std::int64_t first = 0; first < kAllFloats; first += kBlock) {
    bool fit = true;
    for (std::int64_t i = 0; i < kBlock; ++i) {
      const auto at = static_cast<std::size_t>(i);
      source[at] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
      fit &= ConvertElement(source[at], expected[at]);
    }
    fit &= plan.Run(actual.data(), source.data());
    {
      const testing::ScopedFpControl host(kFlushing.control);
      fit &= plan.Run(flushing.data(), source.data());
    }
    ASSERT_TRUE(fit);
    constexpr std::size_t kBytes = kBlock * sizeof(Half);
    for (const std::vector<Half>* const result : {&actual, &flushing}) {
      if (std::memcmp(result->data(), expected.data(), kBytes) == 0) continue;
      std::size_t at = 0;
      while ((*result)[at].to_bits() == expected[at].to_bits()) ++at;
      FAIL() << fmt::format("{:#010x} -> {:#06x}, expected {:#06x}, {}",
                            first + static_cast<std::int64_t>(at), (*result)[at].to_bits(),
                            expected[at].to_bits(),
                            result == &flushing ? kFlushing.name : "default mode");
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("2^32 floats to {} on {}, in two modes: {:.1f} s\n", tensor::dtype_of<Half>,
             ActiveTarget(), took.count());
}

TEST(CopyPlanExhaustiveTest, EveryFloatToFloat16) { ExpectEveryFloatConverts<tensor::float16>(); }

TEST(CopyPlanExhaustiveTest, EveryFloatToBFloat16) { ExpectEveryFloatConverts<tensor::bfloat16>(); }

}  // namespace
}  // namespace engine::strided
