#include "core/checked_math.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace engine::core {
namespace {

constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();

// Usable in constant expressions.
static_assert(CheckedAdd(2, 3) == 5);
static_assert(!CheckedAdd(kMax64, std::int64_t{1}).has_value());
static_assert(CheckedSub(2, 3) == -1);
static_assert(CheckedMul(std::int64_t{1} << 31, std::int64_t{1} << 31) == std::int64_t{1} << 62);
static_assert(SaturatingAdd(kMax64, kMax64) == kMax64);
static_assert(SaturatingMul(kMax64, std::int64_t{2}) == kMax64);

// What the exact result, computed in a wider type, says about fitting T.
template <typename T>
std::optional<T> Fit(int exact) {
  if (exact < std::numeric_limits<T>::min() || exact > std::numeric_limits<T>::max()) {
    return std::nullopt;
  }
  return static_cast<T>(exact);
}

template <typename T>
class CheckedMathExhaustiveTest : public ::testing::Test {};
using EightBitTypes = ::testing::Types<std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(CheckedMathExhaustiveTest, EightBitTypes);

// Every pair of 8-bit values against int arithmetic.
TYPED_TEST(CheckedMathExhaustiveTest, EveryPair) {
  using T = TypeParam;
  constexpr int kLow = std::numeric_limits<T>::min();
  constexpr int kHigh = std::numeric_limits<T>::max();
  for (int a = kLow; a <= kHigh; ++a) {
    for (int b = kLow; b <= kHigh; ++b) {
      const T x = static_cast<T>(a);
      const T y = static_cast<T>(b);
      ASSERT_EQ(CheckedAdd(x, y), Fit<T>(a + b)) << a << " + " << b;
      ASSERT_EQ(CheckedSub(x, y), Fit<T>(a - b)) << a << " - " << b;
      ASSERT_EQ(CheckedMul(x, y), Fit<T>(a * b)) << a << " * " << b;
      if (a < 0 || b < 0) continue;
      ASSERT_EQ(SaturatingAdd(x, y), static_cast<T>(a + b > kHigh ? kHigh : a + b));
      ASSERT_EQ(SaturatingMul(x, y), static_cast<T>(a * b > kHigh ? kHigh : a * b));
    }
  }
}

// The edges of the 64-bit types, where no wider standard type helps.
TEST(CheckedMathTest, AddAtTheEdges) {
  EXPECT_EQ(CheckedAdd(kMax64, std::int64_t{0}), kMax64);
  EXPECT_EQ(CheckedAdd(kMax64 - 1, std::int64_t{1}), kMax64);
  EXPECT_EQ(CheckedAdd(kMax64, std::int64_t{1}), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMin64, std::int64_t{-1}), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMin64, kMax64), -1);
  EXPECT_EQ(CheckedAdd(kMin64, kMin64), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMaxU64, std::uint64_t{0}), kMaxU64);
  EXPECT_EQ(CheckedAdd(kMaxU64, std::uint64_t{1}), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMaxU64, kMaxU64), std::nullopt);
}

TEST(CheckedMathTest, SubAtTheEdges) {
  EXPECT_EQ(CheckedSub(kMin64, std::int64_t{0}), kMin64);
  EXPECT_EQ(CheckedSub(kMin64, std::int64_t{1}), std::nullopt);
  EXPECT_EQ(CheckedSub(std::int64_t{0}, kMin64), std::nullopt);
  EXPECT_EQ(CheckedSub(std::int64_t{-1}, kMin64), kMax64);
  EXPECT_EQ(CheckedSub(kMax64, kMin64), std::nullopt);
  EXPECT_EQ(CheckedSub(kMin64, kMin64), 0);
  EXPECT_EQ(CheckedSub(std::uint64_t{0}, std::uint64_t{1}), std::nullopt);
  EXPECT_EQ(CheckedSub(kMaxU64, kMaxU64), 0u);
}

TEST(CheckedMathTest, MulAtTheEdges) {
  EXPECT_EQ(CheckedMul(kMin64, std::int64_t{1}), kMin64);
  EXPECT_EQ(CheckedMul(kMin64, std::int64_t{-1}), std::nullopt);
  EXPECT_EQ(CheckedMul(std::int64_t{-1}, kMin64), std::nullopt);
  EXPECT_EQ(CheckedMul(kMax64, std::int64_t{-1}), kMin64 + 1);
  EXPECT_EQ(CheckedMul(kMin64, std::int64_t{0}), 0);
  EXPECT_EQ(CheckedMul(kMin64, kMin64), std::nullopt);
  // isqrt(2^63 - 1) = 3037000499.
  EXPECT_EQ(CheckedMul(std::int64_t{3037000499}, std::int64_t{3037000499}), 9223372030926249001);
  EXPECT_EQ(CheckedMul(std::int64_t{3037000500}, std::int64_t{3037000500}), std::nullopt);
  EXPECT_EQ(CheckedMul(std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(CheckedMul(-(std::int64_t{1} << 32), std::int64_t{1} << 31), kMin64);
  EXPECT_EQ(CheckedMul(std::uint64_t{1} << 32, std::uint64_t{1} << 31), std::uint64_t{1} << 63);
  EXPECT_EQ(CheckedMul(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::nullopt);
  // 2^64 - 1 = (2^32 - 1) * (2^32 + 1).
  EXPECT_EQ(CheckedMul(std::uint64_t{4294967295}, std::uint64_t{4294967297}), kMaxU64);
  EXPECT_EQ(CheckedMul(kMaxU64, kMaxU64), std::nullopt);
}

TEST(CheckedMathTest, SaturatesAtTheLargestValue) {
  EXPECT_EQ(SaturatingAdd(kMax64 - 1, std::int64_t{1}), kMax64);
  EXPECT_EQ(SaturatingAdd(kMax64, std::int64_t{1}), kMax64);
  EXPECT_EQ(SaturatingMul(kMax64, std::int64_t{0}), 0);
  EXPECT_EQ(SaturatingMul(kMax64, kMax64), kMax64);
  EXPECT_EQ(SaturatingMul(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(SaturatingAdd<std::size_t>(kMaxU64, 63), kMaxU64);
  EXPECT_EQ(SaturatingMul<std::size_t>(kMaxU64, 2), kMaxU64);
}

}  // namespace
}  // namespace engine::core
