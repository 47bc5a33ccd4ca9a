// GovernedTensor is for every type that has a dtype; float is the contract's case.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"
#include "testing/tensors.h"

namespace engine::governed {
namespace {

using tensor::bfloat16;
using tensor::float16;

template <typename T>
class GovernedElementTest : public ::testing::Test {};
using Elements =
    ::testing::Types<float, float16, bfloat16, double, std::int8_t, std::uint8_t, std::int16_t,
                     std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, bool>;
TYPED_TEST_SUITE(GovernedElementTest, Elements);

// A value with many bits, number `i` of them.
template <typename T>
T Value(int i) {
  if constexpr (std::same_as<T, bool>) {
    return i % 3 == 1;
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(std::numeric_limits<T>::max() - static_cast<T>(i));
  } else {
    return static_cast<T>(static_cast<float>(i) * 1.5f - 2.0f);
  }
}

template <typename T>
std::uint64_t Bits(T value) {
  return testing::reference::LoadBits(&value, sizeof(T));
}

TYPED_TEST(GovernedElementTest, CloneAndMaterializeKeepEveryBit) {
  using T = TypeParam;
  static_assert(std::is_nothrow_copy_constructible_v<GovernedTensor<T>>);
  static_assert(std::is_nothrow_move_constructible_v<GovernedTensor<T>>);
  static_assert(std::is_nothrow_move_assignable_v<GovernedTensor<T>>);
  ENGINE_ASSERT_OK_AND_ASSIGN(auto t, GovernedTensor<T>::Alloc({3, 4}));
  EXPECT_EQ(t.dtype(), tensor::dtype_of<T>);
  EXPECT_EQ(Bits(*t.Get({2, 3})), 0u);
  for (int i = 0; i < 12; ++i) ENGINE_ASSERT_OK(t.Set({i / 4, i % 4}, Value<T>(i)));
  ENGINE_ASSERT_OK_AND_ASSIGN(auto v, t.View({{1, 3}, {0, 4, 2}}));
  ENGINE_ASSERT_OK(v.Set({1, 1}, Value<T>(40)));
  EXPECT_EQ(Bits(*v.Get({0, 0})), Bits(Value<T>(4)));
  EXPECT_EQ(Bits(*v.Get({0, 1})), Bits(Value<T>(6)));
  EXPECT_EQ(Bits(*v.Get({1, 0})), Bits(Value<T>(8)));
  EXPECT_EQ(Bits(*v.Get({1, 1})), Bits(Value<T>(40)));
  EXPECT_EQ(Bits(*t.Get({2, 2})), Bits(Value<T>(10)));
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  ENGINE_ASSERT_OK(t.Materialize());
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(Bits(t.data()[(i % 4) * 3 + i / 4]), Bits(Value<T>(i))) << i;
  }
}

// Signalling NaNs and zeros of either sign are elements like any other.
TEST(GovernedElementTest, FloatBitsAreNotValues) {
  ENGINE_ASSERT_OK_AND_ASSIGN(auto t, GovernedTensor<float>::Alloc({4}));
  const std::uint32_t patterns[] = {0x7F800001u, 0x80000000u, 0xFFC00123u, 0x00000001u};
  float* const elements = *t.mutable_data();
  std::memcpy(elements, patterns, sizeof(patterns));
  auto copy = t;
  ENGINE_ASSERT_OK(copy.Materialize());
  EXPECT_EQ(std::memcmp(copy.data(), patterns, sizeof(patterns)), 0);
  ENGINE_ASSERT_OK(t.Set({1}, std::bit_cast<float>(patterns[2])));
  EXPECT_EQ(std::memcmp(t.data() + 1, &patterns[2], 4), 0);
}

// Bool bytes other than 0 and 1 read as true, and are copied as they are.
TEST(GovernedElementTest, BoolBytes) {
  const auto source = testing::TensorOfBits({4}, tensor::DataType::kBool, {0, 1, 2, 0x80});
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto t, GovernedTensor<bool>::FromTensor(source));
  EXPECT_FALSE(*t.Get({0}));
  EXPECT_TRUE(*t.Get({1}));
  EXPECT_TRUE(*t.Get({2}));
  EXPECT_TRUE(*t.Get({3}));
  auto copy = t;
  ENGINE_ASSERT_OK(copy.Set({0}, true));
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto shown, copy.AsTensor());
  EXPECT_EQ(testing::BitsOf(shown), (std::vector<std::uint64_t>{1, 1, 2, 0x80}));
}

}  // namespace
}  // namespace engine::governed
