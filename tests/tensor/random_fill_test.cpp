#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "ops_test_util.h"
#include "tensor/internal/box_muller.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace engine::tensor::ops {
namespace {

using testing::BitsOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::FloatingDTypes;
using testing::PoisonedTensor;
using testing::StatusIs;
using testing::ValuesOf;
using enum DataType;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor Uniform(const Shape& shape, DataType dtype, std::uint64_t seed, double low = 0,
               double high = 1) {
  const Tensor tensor = PoisonedTensor(shape, dtype);
  ENGINE_EXPECT_OK(fill_uniform(tensor, seed, low, high));
  return tensor;
}
Tensor Normal(const Shape& shape, DataType dtype, std::uint64_t seed, double mean = 0,
              double stddev = 1) {
  const Tensor tensor = PoisonedTensor(shape, dtype);
  ENGINE_EXPECT_OK(fill_normal(tensor, seed, mean, stddev));
  return tensor;
}

// P58: the generator is the standard's, so the values are the same with every standard library.
TEST(UniformFillTest, GoldenValues) {
  std::mt19937_64 engine;
  engine.discard(9999);
  EXPECT_EQ(engine(), 9981545732273789042u);
  EXPECT_THAT(BitsOf(Uniform({6}, kFloat32, 42)),
              ElementsAre(0x3F4151DF, 0x3F239790, 0x3F408C96, 0x3E0B8B11, 0x3F673CA3, 0x3DC0A6E3));
  EXPECT_THAT(BitsOf(Uniform({6}, kFloat16, 42)),
              ElementsAre(0x3A0B, 0x391D, 0x3A04, 0x305C, 0x3B3A, 0x2E05));
  EXPECT_THAT(BitsOf(Uniform({6}, kBFloat16, 42)),
              ElementsAre(0x3F41, 0x3F24, 0x3F41, 0x3E0C, 0x3F67, 0x3DC1));
  EXPECT_THAT(ValuesOf<double>(Uniform({4}, kFloat64, 42)),
              ElementsAre(0x1.82a3befaddcbcp-1, 0x1.472f1f73724a0p-1, 0x1.81192cfe1cbcfp-1,
                          0x1.171621fc50d68p-3));
}

// P59: narrowing may round up to the upper bound; the formula stands, nothing is redrawn.
TEST(UniformFillTest, TheUpperBoundAppearsAfterNarrowing) {
  EXPECT_EQ(BitsOf(Uniform({46}, kBFloat16, 1))[45], 0x3F80u);
  const Tensor floats = Uniform({517519}, kFloat32, 1);
  EXPECT_EQ(floats.item<float>({517518}), 1.0f);
}

// P63: bounds.
TEST(UniformFillTest, Bounds) {
  const Tensor tensor = testing::TensorOf<double>({2}, {7, 8});
  EXPECT_THAT(fill_uniform(tensor, 1, -1e308, 1e308), StatusIs(kInvalid));
  EXPECT_THAT(fill_uniform(tensor, 1, 1, 0), StatusIs(kInvalid, "[1, 0)"));
  EXPECT_THAT(fill_uniform(tensor, 1, kNaN, 0), StatusIs(kInvalid));
  EXPECT_THAT(fill_uniform(tensor, 1, 0, kNaN), StatusIs(kInvalid));
  EXPECT_THAT(fill_uniform(tensor, 1, 0, kInfinity), StatusIs(kInvalid));
  EXPECT_THAT(fill_uniform(tensor, 1, -kInfinity, 0), StatusIs(kInvalid));
  EXPECT_THAT(fill_uniform(tensor, 1, kInfinity, kInfinity), StatusIs(kInvalid));
  EXPECT_THAT(ValuesOf<double>(tensor), ElementsAre(7, 8));
  EXPECT_THAT(ValuesOf<double>(Uniform({5}, kFloat64, 1, -2.5, -2.5)), Each(-2.5));
  EXPECT_THAT(ValuesOf<double>(Uniform({500}, kFloat64, 1, -2, 6)),
              Each(::testing::AllOf(::testing::Ge(-2), ::testing::Lt(6))));
}

// Bit for bit against the formula, narrowed in the contract's steps.
TEST(UniformFillTest, EveryFloatingDTypeFollowsTheFormula) {
  for (const DataType dtype : FloatingDTypes()) {
    std::mt19937_64 engine(99);
    for (const std::uint64_t bits : BitsOf(Uniform({3, 7}, dtype, 99, -1, 3))) {
      const double unit = std::ldexp(static_cast<double>(engine() >> 11), -53);
      const double value = -1 + unit * 4;  // a multiplication by 4 is exact: nothing to fuse
      EXPECT_EQ(bits, testing::reference::ConvertBits(dtype, kFloat64,
                                                      std::bit_cast<std::uint64_t>(value)));
    }
  }
}

// The transform over draws that a test chooses.
struct ConstantEngine {
  std::uint64_t draw;
  std::uint64_t operator()() const { return draw; }
};

// P61: ln 0 must not reach the result.
TEST(BoxMullerTest, AZeroDrawIsFinite) {
  ConstantEngine zero{0};
  internal::BoxMuller normal(zero);
  EXPECT_THAT(normal.Next(), DoubleNear(8.571674348652905, 1e-12));  // sqrt(106 ln 2), cos 0
  EXPECT_EQ(normal.Next(), 0);                                       // sin 0
  ConstantEngine below{2047};  // the eleven bits that the uniform drops
  internal::BoxMuller also(below);
  EXPECT_TRUE(std::isfinite(also.Next()));
}

TEST(BoxMullerTest, TheLargestDrawIsFinite) {
  ConstantEngine largest{std::numeric_limits<std::uint64_t>::max()};
  EXPECT_EQ(internal::UnitUniform(largest), 1 - 0x1p-53);
  internal::BoxMuller normal(largest);
  EXPECT_TRUE(std::isfinite(normal.Next()));
  EXPECT_TRUE(std::isfinite(normal.Next()));
}

// Values computed apart, with another implementation of the generator and of libm.
TEST(NormalFillTest, GoldenValues) {
  EXPECT_THAT(
      ValuesOf<double>(Normal({5}, kFloat64, 42)),
      ElementsAre(DoubleNear(-0.481217699801845, 1e-14), DoubleNear(-0.5745368738983058, 1e-14),
                  DoubleNear(0.4945838562352136, 1e-14), DoubleNear(0.5701215522073741, 1e-14),
                  DoubleNear(0.3745542688498138, 1e-14)));
}

TEST(NormalFillTest, MeanAndStddevInEveryFloatingDType) {
  const std::vector<double> standard = ValuesOf<double>(Normal({9}, kFloat64, 7));
  for (const DataType dtype : FloatingDTypes()) {
    const std::vector<std::uint64_t> bits = BitsOf(Normal({9}, dtype, 7, 10, 4));
    for (std::size_t i = 0; i < standard.size(); ++i) {
      const double value = 10 + 4 * standard[i];  // a multiplication by 4 is exact
      EXPECT_EQ(bits[i], testing::reference::ConvertBits(dtype, kFloat64,
                                                         std::bit_cast<std::uint64_t>(value)));
    }
  }
}

// P62: z0 before z1, an odd count drops the last z1, nothing is carried to the next call.
TEST(NormalFillTest, PairOrderAndOddCounts) {
  const std::vector<std::uint64_t> four = BitsOf(Normal({4}, kFloat32, 5));
  const std::vector<std::uint64_t> three = BitsOf(Normal({3}, kFloat32, 5));
  EXPECT_EQ(std::vector<std::uint64_t>(four.begin(), four.begin() + 3), three);
  EXPECT_EQ(BitsOf(Normal({3}, kFloat32, 5)), three);
  EXPECT_THAT(ValuesOf<float>(Normal({5}, kFloat32, 5, -1.25, 0)), Each(-1.25f));
}

TEST(NormalFillTest, Arguments) {
  const Tensor tensor = testing::TensorOf<double>({2}, {7, 8});
  EXPECT_THAT(fill_normal(tensor, 1, kNaN, 1), StatusIs(kInvalid));
  EXPECT_THAT(fill_normal(tensor, 1, kInfinity, 1), StatusIs(kInvalid));
  EXPECT_THAT(fill_normal(tensor, 1, 0, -1), StatusIs(kInvalid, "stddev -1"));
  EXPECT_THAT(fill_normal(tensor, 1, 0, kNaN), StatusIs(kInvalid));
  EXPECT_THAT(fill_normal(tensor, 1, 0, kInfinity), StatusIs(kInvalid));
  EXPECT_THAT(ValuesOf<double>(tensor), ElementsAre(7, 8));
}

// The distribution, roughly: a transposed sine and cosine or a lost factor 2 would show.
TEST(NormalFillTest, Moments) {
  constexpr int kCount = 100000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (const double value : ValuesOf<double>(Normal({kCount}, kFloat64, 11))) {
    sum += value;
    squares += value * value;
    beyond_two += std::abs(value) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(static_cast<double>(beyond_two) / kCount, 0.0455, 0.004);
}

// What both fills share, over either.
using Fill = core::Status (*)(const Tensor&);
constexpr Fill kFills[] = {[](const Tensor& tensor) { return fill_uniform(tensor, 3); },
                           [](const Tensor& tensor) { return fill_normal(tensor, 3); }};

// P63: logical row-major order, so that a strided target gets the values of a fresh one, and
// nothing beside it is written.
TEST(RandomFillTest, StridedTargets) {
  for (const Fill fill : kFills) {
    for (const DataType dtype : FloatingDTypes()) {
      const Tensor fresh = PoisonedTensor({2, 2}, dtype);
      ENGINE_ASSERT_OK(fill(fresh));
      const Tensor storage = PoisonedTensor({2, 4}, dtype);
      const std::uint64_t poison = BitsOf(storage).front();
      ENGINE_ASSERT_OK(fill(*storage.slice(1, 1, 3)));
      const std::vector<std::uint64_t> values = BitsOf(fresh);
      EXPECT_THAT(BitsOf(storage), ElementsAre(poison, values[0], values[1], poison, poison,
                                               values[2], values[3], poison));
      const Tensor other = PoisonedTensor({2, 2}, dtype);
      ENGINE_ASSERT_OK(fill(*other.transpose(0, 1)));
      EXPECT_THAT(BitsOf(other), ElementsAre(values[0], values[2], values[1], values[3]));
      const Tensor misaligned = testing::PoisonedTensor({2, 2}, dtype, 1);
      ENGINE_ASSERT_OK(fill(misaligned));
      EXPECT_EQ(BitsOf(misaligned), values);
      const Tensor scalar = PoisonedTensor({}, dtype);
      ENGINE_ASSERT_OK(fill(scalar));
      EXPECT_THAT(BitsOf(scalar), ElementsAre(values[0]));
    }
  }
}

// P63: only floating dtypes.
TEST(RandomFillTest, OtherDTypesAreRefused) {
  for (const Fill fill : kFills) {
    for (const DataType dtype : testing::StorableDTypes()) {
      if (is_floating_point(dtype)) continue;
      const Tensor tensor = PoisonedTensor({2}, dtype);
      const std::vector<std::uint64_t> before = BitsOf(tensor);
      EXPECT_THAT(fill(tensor), StatusIs(kInvalid, "expected a floating one"));
      EXPECT_EQ(BitsOf(tensor), before);
    }
  }
}

TEST(RandomFillTest, ReadOnlyStorageIsRefused) {
  for (const Fill fill : kFills) {
    const Tensor tensor = testing::TensorOf<float>({2}, {5, 6});
    EXPECT_THAT(fill(testing::ReadOnlyView(tensor)), StatusIs(kInvalid, "read-only"));
    EXPECT_THAT(ValuesOf<float>(tensor), ElementsAre(5, 6));
  }
}

// P45: null storage.
TEST(RandomFillTest, EmptyTensors) {
  for (const Fill fill : kFills) {
    for (const DataType dtype : FloatingDTypes()) {
      ENGINE_EXPECT_OK(fill(PoisonedTensor({3, 0}, dtype)));
    }
  }
  EXPECT_THAT(fill_uniform(PoisonedTensor({0}, kFloat32), 1, 1, 0), StatusIs(kInvalid));
}

TEST(RandomFillTest, IndependentOfTheHostsFloatingPointMode) {
  const std::vector<std::uint64_t> uniform = BitsOf(Uniform({200}, kFloat32, 3, -0.1, 1e-3));
  const std::vector<std::uint64_t> tiny = BitsOf(Uniform({200}, kFloat32, 3, 0, 1e-39));
  const std::vector<std::uint64_t> normal = BitsOf(Normal({200}, kFloat64, 3, 0.1, 0.3));
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    const Tensor uniforms = PoisonedTensor({200}, kFloat32);
    const Tensor tinies = PoisonedTensor({200}, kFloat32);
    const Tensor normals = PoisonedTensor({200}, kFloat64);
    core::Status ok;
    core::Status inverted;
    core::Status negative;
    const std::uint64_t after = testing::ControlAfter(mode.control, [&] {
      ok.Update(fill_uniform(uniforms, 3, -0.1, 1e-3));
      ok.Update(fill_uniform(tinies, 3, 0, 1e-39));
      ok.Update(fill_normal(normals, 3, 0.1, 0.3));
      inverted = fill_uniform(uniforms, 3, -1e-310, -2e-310);
      negative = fill_normal(normals, 3, 0, -1e-310);
    });
    EXPECT_EQ(after, mode.control) << mode.name;
    ENGINE_EXPECT_OK(ok);
    EXPECT_EQ(BitsOf(uniforms), uniform) << mode.name;
    EXPECT_EQ(BitsOf(tinies), tiny) << mode.name;
    EXPECT_EQ(BitsOf(normals), normal) << mode.name;
    EXPECT_THAT(inverted, StatusIs(kInvalid)) << mode.name;
    EXPECT_THAT(negative, StatusIs(kInvalid)) << mode.name;
  }
}

}  // namespace
}  // namespace engine::tensor::ops
