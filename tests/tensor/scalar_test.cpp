#include "tensor/scalar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

#include "ops_test_util.h"
#include "testing/reference.h"
#include "testing/samples.h"

namespace engine::tensor {
namespace {

using enum DataType;

constexpr std::uint64_t kUntouched = 0xA5A5A5A5A5A5A5A5u;

// The bits of one element of `dtype`, or nothing when it cannot represent the value. Expects that
// the bytes behind the element, and all of them on failure, stay as they were.
std::optional<std::uint64_t> Stored(const Scalar& value, DataType dtype) {
  std::uint64_t element = kUntouched;
  if (!value.StoreAs(dtype, reinterpret_cast<std::byte*>(&element))) {
    EXPECT_EQ(element, kUntouched);
    return std::nullopt;
  }
  const int width = itemsize_bits(dtype);
  if (width < 64) {
    EXPECT_EQ(element >> width, kUntouched >> width) << to_string(dtype);
  }
  return testing::reference::LowBits(element, width);
}

// Integers keep all their bits into integer dtypes and are range-checked exactly.
TEST(ScalarTest, IntegersKeepSixtyFourBits) {
  EXPECT_EQ(Stored(std::numeric_limits<std::uint64_t>::max(), kUInt64), 0xFFFFFFFFFFFFFFFFu);
  EXPECT_EQ(Stored(std::numeric_limits<std::int64_t>::min(), kInt64), 0x8000000000000000u);
  EXPECT_EQ(Stored(std::int64_t{9007199254740993}, kInt64), 9007199254740993u);  // 2^53 + 1
  EXPECT_EQ(Stored(std::uint64_t{18446744073709551615u}, kInt64), std::nullopt);
  EXPECT_EQ(Stored(std::uint64_t{9223372036854775807u}, kInt64), 9223372036854775807u);
  EXPECT_EQ(Stored(std::uint64_t{9223372036854775808u}, kInt64), std::nullopt);
  EXPECT_EQ(Stored(-1, kUInt64), std::nullopt);
}

TEST(ScalarTest, IntegerRangesOfEveryIntegerDType) {
  for (const DataType dtype : testing::kCastableDTypes) {
    if (is_floating_point(dtype)) continue;
    for (const std::uint64_t bits : testing::SampleBits(kInt64)) {
      const auto value = static_cast<std::int64_t>(bits);
      ASSERT_EQ(Stored(value, dtype), testing::reference::ConvertBits(dtype, kInt64, bits))
          << value << " into " << to_string(dtype);
      ASSERT_EQ(Stored(bits, dtype), testing::reference::ConvertBits(dtype, kUInt64, bits))
          << bits << " into " << to_string(dtype);
    }
  }
}

// Into floating dtypes every value goes through double, then float, then half.
TEST(ScalarTest, FloatingDTypesNarrowAsCast) {
  for (const DataType dtype : testing::FloatingDTypes()) {
    for (const std::uint64_t bits : testing::SampleBits(kInt64)) {
      ASSERT_EQ(Stored(static_cast<std::int64_t>(bits), dtype),
                testing::reference::ConvertBits(dtype, kInt64, bits));
    }
    for (const std::uint64_t bits : testing::SampleBits(kFloat64)) {
      const auto value = std::bit_cast<double>(bits);
      if (value != value) continue;  // passing a NaN by value may quiet it
      ASSERT_EQ(Stored(value, dtype), testing::reference::ConvertBits(dtype, kFloat64, bits))
          << value << " into " << to_string(dtype);
    }
  }
}

TEST(ScalarTest, NanAndInfinityReachFloatingDTypes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Stored(nan, kFloat32), 0x7FC00000u);
  EXPECT_EQ(Stored(nan, kFloat16), 0x7E00u);
  EXPECT_EQ(Stored(nan, kBFloat16), 0x7FC0u);
  EXPECT_EQ(Stored(-infinity, kFloat16), 0xFC00u);
  EXPECT_EQ(Stored(1e6, kFloat16), 0x7C00u);  // P22: out of range is infinity, not an error.
}

// P13: double -> float -> half rounds twice; 3C01 and 7BFF would be single roundings.
TEST(ScalarTest, DoubleRoundingIsTheDefinition) {
  EXPECT_EQ(Stored(1.00048828125000022204, kFloat16), 0x3C00u);
  EXPECT_EQ(Stored(65519.999999999993, kFloat16), 0x7C00u);
}

// P16: 2^63 is not an int64, its negative is.
TEST(ScalarTest, BoundsOfInt64AsDouble) {
  EXPECT_EQ(Stored(9223372036854775807.0, kInt64), std::nullopt);
  EXPECT_EQ(Stored(-9223372036854775808.0, kInt64), 0x8000000000000000u);
  EXPECT_EQ(Stored(9223372036854774784.0, kInt64), 9223372036854774784u);
  EXPECT_EQ(Stored(18446744073709551616.0, kUInt64), std::nullopt);
  EXPECT_EQ(Stored(18446744073709549568.0, kUInt64), 18446744073709549568u);
}

// P22: a floating value into an integer dtype must be integral and in range.
TEST(ScalarTest, FractionsAndRangesAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Stored(3.14, kInt32), std::nullopt);
  EXPECT_EQ(Stored(-0.5, kUInt8), std::nullopt);  // cast would truncate to 0
  EXPECT_EQ(Stored(255.5, kUInt8), std::nullopt);
  EXPECT_EQ(Stored(300, kInt8), std::nullopt);
  EXPECT_EQ(Stored(300.0, kInt8), std::nullopt);
  EXPECT_EQ(Stored(-129, kInt8), std::nullopt);
  EXPECT_EQ(Stored(-1, kUInt8), std::nullopt);
  EXPECT_EQ(Stored(-1.0, kUInt8), std::nullopt);
  EXPECT_EQ(Stored(-0.0, kInt32), 0u);
  EXPECT_EQ(Stored(-128.0, kInt8), 0x80u);
  for (const DataType dtype : testing::StorableDTypes()) {
    if (is_floating_point(dtype)) continue;
    EXPECT_EQ(Stored(nan, dtype), std::nullopt) << to_string(dtype);
    EXPECT_EQ(Stored(infinity, dtype), std::nullopt) << to_string(dtype);
    EXPECT_EQ(Stored(-infinity, dtype), std::nullopt) << to_string(dtype);
  }
}

// P22: bool takes exactly 0 and 1.
TEST(ScalarTest, Bool) {
  EXPECT_EQ(Stored(true, kBool), 1u);
  EXPECT_EQ(Stored(false, kBool), 0u);
  EXPECT_EQ(Stored(1, kBool), 1u);
  EXPECT_EQ(Stored(1.0, kBool), 1u);
  EXPECT_EQ(Stored(-0.0, kBool), 0u);
  EXPECT_EQ(Stored(2, kBool), std::nullopt);
  EXPECT_EQ(Stored(-1, kBool), std::nullopt);
  EXPECT_EQ(Stored(0.5, kBool), std::nullopt);
  EXPECT_EQ(Stored(5e-324, kBool), std::nullopt);
}

// Every arithmetic type and both halves convert.
TEST(ScalarTest, TakesEveryArithmeticType) {
  EXPECT_EQ(Stored('A', kUInt8), 65u);
  EXPECT_EQ(Stored(std::int8_t{-5}, kInt64), static_cast<std::uint64_t>(-5));
  EXPECT_EQ(Stored(static_cast<unsigned short>(65535), kInt32), 65535u);
  EXPECT_EQ(Stored(2.5L, kFloat32), 0x40200000u);
  EXPECT_EQ(Stored(float16(1.5f), kFloat32), 0x3FC00000u);
  EXPECT_EQ(Stored(bfloat16(-2.0f), kInt8), 0xFEu);
  EXPECT_EQ(Stored(0.1f, kFloat64), std::bit_cast<std::uint64_t>(double{0.1f}));
}

TEST(ScalarTest, ToStringIsShortest) {
  EXPECT_EQ(Scalar(0.1f).ToString(), "0.1");
  EXPECT_EQ(Scalar(0.1).ToString(), "0.1");
  EXPECT_EQ(Scalar(-7).ToString(), "-7");
  EXPECT_EQ(fmt::format("{}", Scalar(-7)), "-7");
  EXPECT_EQ(Scalar(0.1L).ToString(), "0.1");
  EXPECT_EQ(Scalar(true).ToString(), "1");
  EXPECT_EQ(Scalar(std::numeric_limits<std::int64_t>::min()).ToString(), "-9223372036854775808");
}

// The host's rounding, flush-to-zero and denormals-are-zero change nothing, and stay set.
TEST(ScalarTest, IndependentOfTheHostsFloatingPointMode) {
  struct Case {
    Scalar value;
    DataType dtype;
    std::optional<std::uint64_t> bits;
  };
  const std::vector<Case> cases = {
      {1e-40f, kFloat32, 0x000116C2u},                    // subnormal, made by the caller
      {bfloat16::from_bits(0x0001), kBFloat16, 0x0001u},  // a float subnormal
      {1e-40, kFloat32, 0x000116C2u},                     // subnormal result
      {0.1, kFloat32, 0x3DCCCCCDu},                       // rounds up to nearest
      {0.1L, kFloat64, 0x3FB999999999999Au},              //
      {-0.1, kFloat32, 0xBDCCCCCDu},                      //
      {std::int64_t{9007199254740993}, kFloat64, 0x4340000000000000u},  // a tie to even
      {std::numeric_limits<std::int64_t>::max(), kFloat32, 0x5F000000u},
      {1e-310, kInt32, std::nullopt},  // not zero
      {1e-310, kBool, std::nullopt},   //
  };
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    for (const Case& test : cases) {
      std::uint64_t element = 0;
      bool stored = false;
      const std::uint64_t after = testing::ControlAfter(mode.control, [&] {
        stored = test.value.StoreAs(test.dtype, reinterpret_cast<std::byte*>(&element));
      });
      EXPECT_EQ(after, mode.control) << mode.name;
      EXPECT_EQ(stored, test.bits.has_value()) << mode.name << " " << test.value.ToString();
      EXPECT_EQ(element, test.bits.value_or(0)) << mode.name << " " << test.value.ToString();
    }
  }
}

#if defined(__x86_64__)
// The x87 unit, which computes in long double, has a rounding and a precision control of its own.
std::uint16_t ReadX87Control() {
  std::uint16_t control = 0;
  asm volatile("fnstcw %0" : "=m"(control));
  return control;
}
void WriteX87Control(std::uint16_t control) { asm volatile("fldcw %0" : : "m"(control)); }

TEST(ScalarLongDoubleTest, IndependentOfTheHostsX87ControlWord) {
  constexpr std::uint16_t kMasked = 0x007F;  // every exception, and a bit that is always set
  constexpr std::uint16_t kRoundings[] = {0x0000, 0x0400, 0x0800, 0x0C00};
  constexpr std::uint16_t kPrecisions[] = {0x0000, 0x0200, 0x0300};
  const volatile long double tenth = 0.1L;
  const volatile long double huge = 1e400L;
  const std::uint16_t saved = ReadX87Control();
  for (const std::uint16_t rounding : kRoundings) {
    for (const std::uint16_t precision : kPrecisions) {
      const auto control = static_cast<std::uint16_t>(kMasked | rounding | precision);
      WriteX87Control(control);
      const Scalar plus(tenth);
      const Scalar minus(-tenth);
      const Scalar overflow(huge);
      const std::uint16_t after = ReadX87Control();
      WriteX87Control(saved);
      EXPECT_EQ(after, control);
      EXPECT_EQ(Stored(plus, kFloat64), 0x3FB999999999999Au) << std::hex << control;
      EXPECT_EQ(Stored(minus, kFloat64), 0xBFB999999999999Au) << std::hex << control;
      EXPECT_EQ(Stored(overflow, kFloat64), 0x7FF0000000000000u) << std::hex << control;
    }
  }
}

// Patterns that no arithmetic makes, and ties at every border.
TEST(ScalarLongDoubleTest, BitPatternsOfTheX87Format) {
  struct Case {
    std::uint16_t sign_exponent;
    std::uint64_t significand;
    std::uint64_t expected;
  };
  constexpr std::uint16_t kOne = 16383;
  constexpr Case kCases[] = {
      {0x0000, 0, 0},
      {0x8000, 0, 0x8000000000000000u},
      {kOne, 0x8000000000000000u, 0x3FF0000000000000u},
      {kOne, 0x8000000000000400u, 0x3FF0000000000000u},         // a tie, down to even
      {kOne, 0x8000000000000401u, 0x3FF0000000000001u},         // just above it
      {kOne, 0x8000000000000C00u, 0x3FF0000000000002u},         // a tie, up to even
      {kOne, 0xFFFFFFFFFFFFFFFFu, 0x4000000000000000u},         // a carry into the exponent
      {kOne + 1023, 0xFFFFFFFFFFFFFBFFu, 0x7FEFFFFFFFFFFFFFu},  // the largest double
      {kOne + 1023, 0xFFFFFFFFFFFFFC00u, 0x7FF0000000000000u},  // half a step beyond it
      {kOne + 1024, 0x8000000000000000u, 0x7FF0000000000000u},  // 2^1024
      {kOne - 1023, 0xFFFFFFFFFFFFFFFFu, 0x0010000000000000u},  // up to the least normal
      {kOne - 1074, 0x8000000000000000u, 0x0000000000000001u},  // the least subnormal
      {kOne - 1074, 0xC000000000000000u, 0x0000000000000002u},  // one and a half, a tie
      {kOne - 1075, 0x8000000000000000u, 0},                    // half of it, a tie
      {kOne - 1075, 0x8000000000000001u, 0x0000000000000001u},  //
      {kOne - 1076, 0xFFFFFFFFFFFFFFFFu, 0},                    // below half
      {0x0000, 0x0000000000000001u, 0},                         // its own least subnormal
      {0x7FFF, 0x8000000000000000u, 0x7FF0000000000000u},       // infinity
      {0xFFFF, 0x8000000000000000u, 0xFFF0000000000000u},       //
      {0x7FFF, 0xC000000000000000u, 0x7FF8000000000000u},       // quiet NaN
      {0xFFFF, 0x8000000000000001u, 0xFFF8000000000000u},       // signaling
      {0x7FFF, 0x8000000000001800u, 0x7FF8000000000003u},       // its payload
  };
  for (const Case& test : kCases) {
    long double value = 0;
    std::memcpy(&value, &test.significand, sizeof(test.significand));
    std::memcpy(reinterpret_cast<std::byte*>(&value) + sizeof(test.significand),
                &test.sign_exponent, sizeof(test.sign_exponent));
    EXPECT_EQ(Stored(value, kFloat64), test.expected)
        << std::hex << test.sign_exponent << " " << test.significand;
  }
}
#endif

// Against the compiler's own conversion, which in the default mode rounds to nearest even too.
TEST(ScalarLongDoubleTest, NarrowsAsTheHardwareDoes) {
  std::mt19937_64 engine(4);
  for (int round = 0; round < 100000; ++round) {
    const int exponent = static_cast<int>(engine() % 2300) - 1160;
    const long double fraction = static_cast<long double>(engine()) +
                                 static_cast<long double>(engine() >> (engine() % 64)) * 0x1p-64L;
    const long double value = std::ldexp(engine() % 2 == 0 ? fraction : -fraction, exponent - 63);
    ASSERT_EQ(Stored(value, kFloat64), std::bit_cast<std::uint64_t>(static_cast<double>(value)))
        << value;
  }
}

static_assert(std::is_trivially_copyable_v<Scalar>);
[[maybe_unused]] constexpr Scalar kConstant = 0.1L;

}  // namespace
}  // namespace engine::tensor
