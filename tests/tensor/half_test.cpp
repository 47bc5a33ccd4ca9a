#include "tensor/half.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "testing/half_reference.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace engine::tensor {
namespace {

using ::engine::testing::HalfReference;
using ::engine::testing::HalfReferenceFor;

constexpr int kPatterns = 65536;

template <typename T>
constexpr std::uint16_t Narrow(std::uint32_t float_bits) {
  return T(std::bit_cast<float>(float_bits)).to_bits();
}
template <typename T>
constexpr std::uint32_t Widen(std::uint16_t bits) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(T::from_bits(bits)));
}

// Storage: two trivial bytes, so that halves may live in tensor memory.
template <typename T>
constexpr bool kIsPlainStorage =
    sizeof(T) == 2 && alignof(T) == 2 &&
    std::is_trivial_v<T>&& std::is_standard_layout_v<T>&& std::is_trivially_copyable_v<
        T>&& std::is_trivially_default_constructible_v<T>&& std::is_trivially_destructible_v<T>;
static_assert(kIsPlainStorage<float16> && kIsPlainStorage<bfloat16>);
static_assert(float16{}.to_bits() == 0 && bfloat16{}.to_bits() == 0);  // value-initialised

// Narrowing is explicit, widening implicit; nothing converts between the half types silently.
template <typename T>
constexpr bool kConvertsOneWay =
    std::is_constructible_v<T, float> && !std::is_convertible_v<float, T> &&
    !std::is_assignable_v<T&, float> && !std::is_assignable_v<T&, int> &&
    !std::is_convertible_v<int, T> && std::is_convertible_v<T, float> &&
    std::is_convertible_v<T, double> && !std::is_convertible_v<std::uint16_t, T>;
static_assert(kConvertsOneWay<float16> && kConvertsOneWay<bfloat16>);
static_assert(!std::is_convertible_v<float16, bfloat16> &&
              !std::is_convertible_v<bfloat16, float16>);
static_assert(!std::is_assignable_v<float16&, bfloat16>);

// No arithmetic of their own: expressions are float, and compound assignment does not exist.
static_assert(std::is_same_v<decltype(float16{} + float16{}), float>);
static_assert(std::is_same_v<decltype(bfloat16{} * 2.0f), float>);
static_assert(std::is_same_v<decltype(-float16{}), float>);
static_assert(std::is_same_v<decltype(bfloat16{} / 2.0), double>);
static_assert(std::is_same_v<decltype(float16{} - bfloat16{}), float>);
template <typename T>
concept HasCompoundAssignment = requires(T a) {
  a += 1.0f;
};
static_assert(!HasCompoundAssignment<float16> && !HasCompoundAssignment<bfloat16>);

static_assert(dtype_of<float16> == DataType::kFloat16);
static_assert(dtype_of<bfloat16> == DataType::kBFloat16);

// P05, at compile time: half -> float -> half is the identity. In pieces, because compilers limit
// the length of one evaluation.
constexpr int kPiece = 2048;
template <typename T>
constexpr bool IsIdentityFrom(int first) {
  for (int bits = first; bits < first + kPiece; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    if (T(static_cast<float>(T::from_bits(pattern))).to_bits() != pattern) return false;
  }
  return true;
}
template <typename T, int kFirst>
constexpr bool kIsIdentityFrom = IsIdentityFrom<T>(kFirst);
template <typename T, int... kPieces>
constexpr bool IsIdentity(std::integer_sequence<int, kPieces...>) {
  return (kIsIdentityFrom<T, kPieces * kPiece> && ...);
}
static_assert(IsIdentity<float16>(std::make_integer_sequence<int, kPatterns / kPiece>()));
static_assert(IsIdentity<bfloat16>(std::make_integer_sequence<int, kPatterns / kPiece>()));

// Hand-checked conversions: a binary32 pattern and what it narrows to.
struct Golden {
  const char* what;
  std::uint32_t from;
  std::uint16_t to;
};

constexpr Golden kFloat16Goldens[] = {
    {"P01: a NaN whose payload is only in the dropped bits", 0x7F800001, 0x7E00},
    {"P01", 0xFF800030, 0xFE00},
    {"P02: an all-ones NaN does not carry", 0x7FFFFFFF, 0x7FFF},
    {"P02", 0xFFFFFFFF, 0xFFFF},
    {"P03: a payload that survives", 0x7FC02000, 0x7E01},
    {"P04: a signalling NaN is truncated, not quieted", 0x7F802000, 0x7C01},
    {"P04", 0x7F810000, 0x7C08},
    {"P06: ties to even among subnormals", 0x34200000, 0x0002},
    {"P06: just above a tie", 0x34200001, 0x0003},
    {"P06", 0x34600000, 0x0004},
    {"P06: a tie of normal values", 0x40001000, 0x4000},
    {"P07: subnormals are kept", 0x38000000, 0x0200},
    {"P07: rounds up into the normal range", 0x387FFFFF, 0x0400},
    {"P07: the tie below the smallest subnormal", 0x33000000, 0x0000},
    {"P07: just above it", 0x33000001, 0x0001},
    {"P07: negative", 0xB3000001, 0x8001},
    {"P08: the carry reaches the exponent", 0xBFFFFFB5, 0xC000},
    {"P08", 0x3FFFF000, 0x4000},
    {"P09: just below the overflow threshold", 0x477FEFFF, 0x7BFF},
    {"P09: 65520 is infinite", 0x477FF000, 0x7C00},
    {"P09: negative", 0xC77FF000, 0xFC00},
    {"zero", 0x00000000, 0x0000},
    {"negative zero", 0x80000000, 0x8000},
    {"smallest float subnormal", 0x00000001, 0x0000},
    {"negative underflow keeps its sign", 0x80000001, 0x8000},
    {"one", 0x3F800000, 0x3C00},
    {"infinity", 0x7F800000, 0x7C00},
    {"negative infinity", 0xFF800000, 0xFC00},
    {"largest finite float", 0x7F7FFFFF, 0x7C00},
};

constexpr Golden kBFloat16Goldens[] = {
    {"P01: a NaN whose payload is only in the dropped bits", 0x7F800001, 0x7FC0},
    {"P01", 0xFF800030, 0xFFC0},
    {"P02: an all-ones NaN does not carry", 0x7FFFFFFF, 0x7FFF},
    {"P02", 0xFFFFFFFF, 0xFFFF},
    {"P04: no payload bit is left", 0x7F802000, 0x7FC0},
    {"P04: a signalling NaN is truncated, not quieted", 0x7F810000, 0x7F81},
    {"P10: just below the overflow threshold", 0x7F7F7FFF, 0x7F7F},
    {"P10: overflow by rounding", 0x7F7F8000, 0x7F80},
    {"P10", 0x7F7FFFFF, 0x7F80},
    {"P10: rounds, does not truncate", 0x3E89CCD5, 0x3E8A},
    {"P11: subnormals are kept", 0x00400000, 0x0040},
    {"P11: just above a tie", 0x00008001, 0x0001},
    {"P11: a tie goes up to even", 0x00018000, 0x0002},
    {"P11: negative", 0x80008001, 0x8001},
    {"P11: rounds up into the normal range", 0x007FFFFF, 0x0080},
    {"P11: a tie goes down to even", 0x00008000, 0x0000},
    {"zero", 0x00000000, 0x0000},
    {"negative zero", 0x80000000, 0x8000},
    {"negative underflow keeps its sign", 0x80000001, 0x8000},
    {"one", 0x3F800000, 0x3F80},
    {"infinity", 0x7F800000, 0x7F80},
    {"negative infinity", 0xFF800000, 0xFF80},
};

template <typename T, std::size_t kCount>
constexpr bool AllNarrowAs(const Golden (&goldens)[kCount]) {
  for (const Golden& golden : goldens) {
    if (Narrow<T>(golden.from) != golden.to) return false;
  }
  return true;
}
static_assert(AllNarrowAs<float16>(kFloat16Goldens));
static_assert(AllNarrowAs<bfloat16>(kBFloat16Goldens));

TEST(HalfGoldenTest, Float16) {
  for (const Golden& golden : kFloat16Goldens) {
    const volatile std::uint32_t from = golden.from;
    EXPECT_EQ(Narrow<float16>(from), golden.to) << golden.what;
  }
}

TEST(HalfGoldenTest, BFloat16) {
  for (const Golden& golden : kBFloat16Goldens) {
    const volatile std::uint32_t from = golden.from;
    EXPECT_EQ(Narrow<bfloat16>(from), golden.to) << golden.what;
  }
}

// Both types against the reference by value.
template <typename T>
class HalfTest : public ::testing::Test {
 protected:
  // Counts instead of asserting per value: tens of thousands of patterns each.
  void ExpectNarrowsAsReference(std::uint32_t bits) {
    const std::uint16_t expected = HalfReferenceFor<T>().Narrow(bits);
    const std::uint16_t actual = Narrow<T>(bits);
    if (actual != expected && mismatches_++ == 0) {
      ADD_FAILURE() << fmt::format("{:08X} -> {:04X}, expected {:04X}", bits, actual, expected);
    }
  }

  int mismatches_ = 0;
};
using HalfTypes = ::testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(HalfTest, HalfTypes);

TYPED_TEST(HalfTest, EveryPatternWidensExactly) {
  const HalfReference& reference = HalfReferenceFor<TypeParam>();
  for (int i = 0; i < kPatterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    ASSERT_EQ(Widen<TypeParam>(bits), reference.Widen(bits)) << fmt::format("{:04X}", bits);
  }
}

// P05: the identity for all patterns, signalling NaNs included.
TYPED_TEST(HalfTest, EveryPatternSurvivesARoundTrip) {
  for (int i = 0; i < kPatterns; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    ASSERT_EQ(TypeParam::from_bits(bits).to_bits(), bits);
    ASSERT_EQ(Narrow<TypeParam>(Widen<TypeParam>(bits)), bits) << fmt::format("{:04X}", bits);
  }
}

// Where rounding decides: every representable value, every midpoint, and their float neighbours.
TYPED_TEST(HalfTest, NarrowsAroundEveryRoundingBoundary) {
  const HalfReference& reference = HalfReferenceFor<TypeParam>();
  for (int magnitude = 0; magnitude < reference.infinity(); ++magnitude) {
    const double exact = reference.Value(magnitude);
    const double midpoint = reference.Midpoint(static_cast<std::uint16_t>(magnitude));
    for (const double value : {exact, midpoint}) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      ASSERT_EQ(static_cast<double>(std::bit_cast<float>(bits)), value);
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        for (int step = -1; step <= 1; ++step) {
          this->ExpectNarrowsAsReference((bits | sign) + static_cast<std::uint32_t>(step));
        }
      }
    }
  }
  EXPECT_EQ(this->mismatches_, 0);
}

TYPED_TEST(HalfTest, NarrowsEveryExponentWithEdgeMantissas) {
  for (std::uint32_t exponent = 0; exponent < 512; ++exponent) {  // the sign on top
    for (int bit = 0; bit <= 23; ++bit) {
      const std::uint32_t power = std::uint32_t{1} << bit;  // bit 23: the next exponent
      for (const std::uint32_t mantissa : {power - 1, power, 0x7FFFFF - (power - 1)}) {
        this->ExpectNarrowsAsReference((exponent << 23) + mantissa);
      }
    }
  }
  EXPECT_EQ(this->mismatches_, 0);
}

TYPED_TEST(HalfTest, NarrowsRandomPatterns) {
  std::mt19937 engine(20240229);
  for (int i = 0; i < 200000; ++i) {
    this->ExpectNarrowsAsReference(static_cast<std::uint32_t>(engine()));
  }
  EXPECT_EQ(this->mismatches_, 0);
}

// Halves in memory are their little-endian patterns.
TYPED_TEST(HalfTest, StoresItsBits) {
  const TypeParam values[2] = {TypeParam::from_bits(0x1234), TypeParam::from_bits(0xABCD)};
  unsigned char bytes[4];
  std::memcpy(bytes, values, sizeof(bytes));
  EXPECT_EQ(bytes[0], 0x34);
  EXPECT_EQ(bytes[1], 0x12);
  EXPECT_EQ(bytes[2], 0xCD);
  EXPECT_EQ(bytes[3], 0xAB);
}

// Comparison and arithmetic are float's.
TYPED_TEST(HalfTest, ComparesAsFloat) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T plus_zero(0.0f);
  const T minus_zero(-0.0f);
  EXPECT_FALSE(nan == nan);
  EXPECT_TRUE(nan != nan);
  EXPECT_FALSE(nan < nan);
  EXPECT_FALSE(nan >= nan);
  EXPECT_NE(plus_zero.to_bits(), minus_zero.to_bits());
  EXPECT_TRUE(plus_zero == minus_zero);
  EXPECT_FALSE(minus_zero < plus_zero);
  EXPECT_TRUE(T(1.0f) < T(2.0f));
  EXPECT_TRUE(T(-1.0f) > T(-2.0f));
  EXPECT_TRUE(T(1.5f) == 1.5f);
  EXPECT_TRUE(std::numeric_limits<T>::infinity() > std::numeric_limits<T>::max());
}

TYPED_TEST(HalfTest, ComputesInFloat) {
  using T = TypeParam;
  EXPECT_EQ(T(1.5f) * 2.0f, 3.0f);
  EXPECT_EQ(-T(1.5f), -1.5f);
  // Neither sum nor product is representable in a half: no intermediate rounding took place.
  EXPECT_EQ(T(1.0f) + 0x1p-20f, 1.0f + 0x1p-20f);
  EXPECT_EQ(std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon(),
            std::ldexp(1.0f, 2 - 2 * std::numeric_limits<T>::digits));
  float sum = 0.0f;
  for (int i = 0; i < 3; ++i) sum += T(0.25f);
  EXPECT_EQ(T(sum).to_bits(), T(0.75f).to_bits());
  EXPECT_TRUE(std::isinf(std::numeric_limits<T>::infinity()));
}

TEST(HalfMixedTest, HalfTypesMeetInFloat) {
  EXPECT_TRUE(float16(0.5f) == bfloat16(0.5f));
  EXPECT_EQ(float16(0.5f) + bfloat16(256.0f), 256.5f);
  EXPECT_EQ(bfloat16(float16(1.00390625f)).to_bits(), 0x3F80);  // 1 + 2^-8: a tie, to even
}

// P12, for half.h: neither flushing modes nor rounding modes of the host change a bit.
class ScopedHostileFpMode {
 public:
  explicit ScopedHostileFpMode(int rounding) {
    std::fegetenv(&saved_);
    std::fesetround(rounding);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ and DAZ
#elif defined(__aarch64__)
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr |= (std::uint64_t{1} << 24) | (std::uint64_t{1} << 19);  // FZ and FZ16
    asm volatile("msr fpcr, %0" ::"r"(fpcr));
#endif
  }
  ~ScopedHostileFpMode() { std::fesetenv(&saved_); }
  ScopedHostileFpMode(const ScopedHostileFpMode&) = delete;
  ScopedHostileFpMode& operator=(const ScopedHostileFpMode&) = delete;

 private:
  std::fenv_t saved_;
};

TYPED_TEST(HalfTest, IgnoresTheHostsFloatingPointMode) {
  // Every half pattern and its neighbourhood, with the answers computed in the default mode.
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint16_t> expected;
  for (std::uint32_t i = 0; i < kPatterns; ++i) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x1000u, 0x7FFFu, 0x8000u, 0x8001u}) {
      inputs.push_back(i << 16 | low);
      expected.push_back(HalfReferenceFor<TypeParam>().Narrow(inputs.back()));
    }
  }
  for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::vector<std::uint16_t> narrowed(inputs.size());
    bool identity = true;
    {
      const ScopedHostileFpMode mode(rounding);
      for (std::size_t i = 0; i < inputs.size(); ++i) narrowed[i] = Narrow<TypeParam>(inputs[i]);
      for (int i = 0; i < kPatterns; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        identity = identity && Narrow<TypeParam>(Widen<TypeParam>(bits)) == bits;
      }
    }
    EXPECT_TRUE(identity) << rounding;
    EXPECT_EQ(narrowed == expected, true) << rounding;
  }
}

// The guard above would prove nothing if it did not flush.
TEST(HalfHostModeTest, TheHostileModeIsInForce) {
  volatile float subnormal = std::numeric_limits<float>::denorm_min();
  volatile float product = 0.0f;
  {
    const ScopedHostileFpMode mode(FE_TONEAREST);
    product = subnormal * 4.0f;
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(product)), 0u);
}

// P14: the values of numeric_limits, as patterns.
template <typename T>
struct LimitBits {
  static constexpr std::array<std::uint16_t, 7> kBits = {
      std::numeric_limits<T>::min().to_bits(),        std::numeric_limits<T>::max().to_bits(),
      std::numeric_limits<T>::lowest().to_bits(),     std::numeric_limits<T>::epsilon().to_bits(),
      std::numeric_limits<T>::denorm_min().to_bits(), std::numeric_limits<T>::infinity().to_bits(),
      std::numeric_limits<T>::round_error().to_bits()};
};

TEST(HalfLimitsTest, Patterns) {
  using Bits = std::array<std::uint16_t, 7>;
  EXPECT_EQ(LimitBits<float16>::kBits,
            (Bits{0x0400, 0x7BFF, 0xFBFF, 0x1400, 0x0001, 0x7C00, 0x3800}));
  EXPECT_EQ(LimitBits<bfloat16>::kBits,
            (Bits{0x0080, 0x7F7F, 0xFF7F, 0x3C00, 0x0001, 0x7F80, 0x3F00}));
  EXPECT_EQ(std::numeric_limits<float16>::digits, 11);
  EXPECT_EQ(std::numeric_limits<bfloat16>::digits, 8);
  EXPECT_EQ(std::numeric_limits<float16>::max_digits10, 5);
  EXPECT_EQ(std::numeric_limits<bfloat16>::max_digits10, 4);
}

// The other members follow from the definition of a binary format.
TYPED_TEST(HalfTest, LimitsFitTogether) {
  using Limits = std::numeric_limits<TypeParam>;
  static_assert(Limits::is_specialized && Limits::is_signed && !Limits::is_integer);
  static_assert(!Limits::is_exact && Limits::is_bounded && !Limits::is_modulo);
  static_assert(Limits::has_infinity && Limits::has_quiet_NaN && Limits::has_signaling_NaN);
  static_assert(Limits::has_denorm == std::denorm_present && Limits::radix == 2);
  static_assert(Limits::round_style == std::round_to_nearest);
  static_assert(std::numeric_limits<const TypeParam>::digits == Limits::digits);
  EXPECT_EQ(Limits::min(), std::ldexp(1.0, Limits::min_exponent - 1));
  EXPECT_EQ(Limits::max(),
            std::ldexp(1.0 - std::ldexp(1.0, -Limits::digits), Limits::max_exponent));
  EXPECT_EQ(Limits::lowest(), -Limits::max());
  EXPECT_EQ(Limits::epsilon(), std::ldexp(1.0, 1 - Limits::digits));
  EXPECT_EQ(Limits::epsilon(),
            TypeParam::from_bits(static_cast<std::uint16_t>(TypeParam(1.0f).to_bits() + 1)) - 1.0f);
  EXPECT_EQ(Limits::denorm_min(), std::ldexp(1.0, Limits::min_exponent - Limits::digits));
  EXPECT_EQ(Limits::digits10, static_cast<int>((Limits::digits - 1) * std::log10(2.0)));
  EXPECT_EQ(Limits::max_digits10,
            static_cast<int>(std::ceil(1 + Limits::digits * std::log10(2.0))));
  EXPECT_GE(std::pow(10.0, Limits::min_exponent10), Limits::min());
  EXPECT_LT(std::pow(10.0, Limits::min_exponent10 - 1), Limits::min());
  EXPECT_LE(std::pow(10.0, Limits::max_exponent10), Limits::max());
  EXPECT_GT(std::pow(10.0, Limits::max_exponent10 + 1), Limits::max());
}

TYPED_TEST(HalfTest, NansOfTheLimits) {
  using Limits = std::numeric_limits<TypeParam>;
  const int quiet_bit = 1 << (Limits::digits - 2);
  EXPECT_TRUE(std::isnan(Limits::quiet_NaN()));
  EXPECT_TRUE(std::isnan(Limits::signaling_NaN()));
  EXPECT_NE(Limits::quiet_NaN().to_bits() & quiet_bit, 0);
  EXPECT_EQ(Limits::signaling_NaN().to_bits() & quiet_bit, 0);
}

// P70, half part: the shortest text that reads back as the same float.
TEST(HalfFormatTest, ShortestForm) {
  EXPECT_EQ(fmt::format("{}", bfloat16::from_bits(0x7F7F)), "3.3895314e+38");
  EXPECT_EQ(fmt::format("{}", float16::from_bits(0x2E66)), "0.099975586");
  EXPECT_EQ(fmt::format("{}", float16(1.0f)), "1");
  EXPECT_EQ(fmt::format("{}", float16(-1.5f)), "-1.5");
  EXPECT_EQ(fmt::format("{}", float16::from_bits(0x7BFF)), "65504");
  EXPECT_EQ(fmt::format("{}", float16::from_bits(0x0001)), "5.9604645e-08");
  EXPECT_EQ(fmt::format("{} {}", bfloat16(0.0f), bfloat16(-0.0f)), "0 -0");
  EXPECT_EQ(fmt::format("{} {}", float16::from_bits(0x7C00), bfloat16::from_bits(0xFF80)),
            "inf -inf");
  EXPECT_EQ(fmt::format("{} {}", float16::from_bits(0x7E00), bfloat16::from_bits(0x7FC0)),
            "nan nan");
}

TEST(HalfFormatTest, TakesFloatSpecs) {
  const float16 pi(3.14159f);  // 3.140625
  EXPECT_EQ(fmt::format("{:.2f}", pi), "3.14");
  EXPECT_EQ(fmt::format("{:9.4f}", pi), "   3.1406");
  EXPECT_EQ(fmt::format("{:.3e}", pi), "3.141e+00");
  EXPECT_EQ(fmt::format("{:+}", bfloat16(2.5f)), "+2.5");
  EXPECT_EQ(fmt::format("{:*<6}", bfloat16(2.5f)), "2.5***");
  EXPECT_EQ(fmt::format("{:06.2f}", float16(1.5f)), "001.50");
  EXPECT_EQ(fmt::format("{:{}.{}f}", float16(1.5f), 7, 1), "    1.5");
  EXPECT_EQ(fmt::to_string(pi), "3.140625");
  EXPECT_EQ(fmt::format(FMT_COMPILE("{:.2f} {}"), pi, bfloat16(2.5f)), "3.14 2.5");
}

TYPED_TEST(HalfTest, EveryFiniteValueReadsBack) {
  for (int i = 0; i < kPatterns; ++i) {
    const TypeParam value = TypeParam::from_bits(static_cast<std::uint16_t>(i));
    if (!std::isfinite(static_cast<float>(value))) continue;
    const std::string text = fmt::format("{}", value);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr)),
              Widen<TypeParam>(value.to_bits()))
        << text;
  }
}

}  // namespace
}  // namespace engine::tensor
