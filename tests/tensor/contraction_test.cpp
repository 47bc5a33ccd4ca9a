// Values that change when a multiplication and an addition are fused into one rounding. Built twice:
// with the library's own objects, and with the same sources compiled for FMA, without which the
// compiler has nothing to fuse with.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ops_test_util.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace engine::tensor::ops {
namespace {

using testing::BitsOf;
using testing::PoisonedTensor;
using testing::TensorOf;
using testing::ValuesOf;
using enum DataType;

class ContractionTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef ENGINE_TEST_BUILT_FOR_FMA
    if (!__builtin_cpu_supports("fma")) {
      GTEST_SKIP() << "THIS PROCESSOR HAS NO FMA: contraction is not tested here";
    }
#endif
  }
};

// P60: low + u * (high - low) is two roundings; fused into one this element ends in 69.
TEST_F(ContractionTest, UniformFill) {
  const Tensor tensor = PoisonedTensor({992}, kFloat32);
  ENGINE_ASSERT_OK(fill_uniform(tensor, 150, -5, 1));
  EXPECT_EQ(BitsOf(tensor)[991], 0x3C4FA06Au);
}

// mean + stddev * z over the standard values z; `volatile` keeps the two steps here apart.
TEST_F(ContractionTest, NormalFill) {
  constexpr double kMean = 0.3;
  constexpr double kStddev = 0.7;
  const Tensor standard = PoisonedTensor({1000}, kFloat64);
  const Tensor scaled = PoisonedTensor({1000}, kFloat64);
  ENGINE_ASSERT_OK(fill_normal(standard, 9));
  ENGINE_ASSERT_OK(fill_normal(scaled, 9, kMean, kStddev));
  std::vector<double> expected;
  for (const double z : ValuesOf<double>(standard)) {
    const volatile double product = kStddev * z;
    expected.push_back(kMean + product);
  }
  EXPECT_EQ(ValuesOf<double>(scaled), expected);
}

// |a - b| equals the larger of the two readings of atol + rtol * |b|, which are one unit in the last
// place apart.
TEST_F(ContractionTest, BorderOfClose) {
  const auto close = [](double a, double b, double rtol) {
    return allclose(TensorOf<double>({1}, {a}), TensorOf<double>({1}, {b}),
                    {.rtol = rtol, .atol = 0.25})
        ->close;
  };
  // Two roundings give 0x1.07f8d43129468p+1, one gives 0x1.07f8d43129467p+1.
  EXPECT_TRUE(close(-0x1.962b65a5cec60p-1, 0x1.44dbf58f6b2a0p+0, 0x1.6d9a7d41f8ce9p+0));
  // Two roundings give 0x1.01c00f02c44eep+1, one gives 0x1.01c00f02c44efp+1.
  EXPECT_FALSE(close(-0x1.954274a13a31ap-1, 0x1.38dee3b4eb851p+0, 0x1.716e551f03edcp+0));
}

}  // namespace
}  // namespace engine::tensor::ops
