// Compiled in the compilers' GNU mode, in which their extended types count as arithmetic.
#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tensor/scalar.h"

namespace engine::tensor {
namespace {

#ifdef __SIZEOF_INT128__
#ifdef __GLIBCXX__
static_assert(std::is_arithmetic_v<__int128>, "the mode this test is about");
#endif
static_assert(!std::is_constructible_v<Scalar, __int128>);
static_assert(!std::is_constructible_v<Scalar, unsigned __int128>);
#endif
#ifdef __SIZEOF_FLOAT128__
static_assert(!std::is_constructible_v<Scalar, __float128>);
#endif
static_assert(std::convertible_to<std::int64_t, Scalar>);
static_assert(std::convertible_to<std::uint64_t, Scalar>);
static_assert(std::convertible_to<long long, Scalar>);
static_assert(std::convertible_to<long double, Scalar>);
static_assert(std::convertible_to<bool, Scalar>);

// Scalar refuses what it would truncate.
TEST(ScalarExtensionsTest, KeepsSixtyFourBits) {
  EXPECT_EQ(Scalar(std::uint64_t{18446744073709551615u}).ToString(), "18446744073709551615");
}

}  // namespace
}  // namespace engine::tensor
