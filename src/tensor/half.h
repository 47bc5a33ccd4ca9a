// tensor/half.h: float16 (IEEE 754 binary16) and bfloat16 host types.
// Layer 1 (tensor_base). Header-only, constexpr, thread-safe.
//
// Conversions are pure integer work on bit patterns: the same bits on every compiler, CPU and
// floating-point mode, at compile time and at run time, and NaN payloads never pass the FPU.
//   Narrowing  explicit; round to nearest, ties to even; overflow becomes infinity, underflow a
//              zero of the same sign.
//   Widening   implicit and exact, so halves drop into float expressions; they have no arithmetic
//              or comparison of their own.
//   NaN        stays NaN: the payload keeps the bits that fit, and the quiet bit is forced only
//              when none is left. half -> float -> half is the identity for all 65536 patterns.
// Source: docs/design/tensor.md, "Half-precision host types".
#ifndef ENGINE_TENSOR_HALF_H_
#define ENGINE_TENSOR_HALF_H_

#include <fmt/core.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/formatter.h"
#include "tensor/dtype.h"

namespace engine::tensor {
namespace internal {

// Drops the low `shift` bits of `value` (0 < shift < 32), rounding to nearest, ties to even. The
// carry may reach the bit above; in a floating-point pattern that is the correct next exponent.
constexpr std::uint32_t ShiftRightRoundToEven(std::uint32_t value, int shift) {
  const std::uint32_t half = std::uint32_t{1} << (shift - 1);
  const std::uint32_t odd = (value >> shift) & 1u;
  return (value + (half - 1u) + odd) >> shift;
}

constexpr std::uint16_t Float32BitsToFloat16Bits(std::uint32_t bits) {
  constexpr std::uint32_t kInfinity32 = 0x7F800000u;
  constexpr std::uint32_t kOverflow = 0x477FF000u;        // 65520, the midpoint above 65504
  constexpr std::uint32_t kSmallestNormal = 0x38800000u;  // 2^-14
  constexpr std::uint32_t kUnderflow = 0x33000000u;       // 2^-25, half of the smallest subnormal
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;

  if (magnitude > kInfinity32) {
    std::uint32_t payload = (magnitude >> 13) & 0x03FFu;
    if (payload == 0) payload = 0x0200u;
    return static_cast<std::uint16_t>(sign | 0x7C00u | payload);
  }
  if (magnitude >= kOverflow) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (magnitude >= kSmallestNormal) {
    // Rebias the exponent from 127 to 15; the rounding carry may move into it.
    const std::uint32_t rebased = magnitude - (std::uint32_t{127 - 15} << 23);
    return static_cast<std::uint16_t>(sign | ShiftRightRoundToEven(rebased, 13));
  }
  if (magnitude <= kUnderflow) return sign;  // the tie goes to the even zero
  // Subnormal result: the value is significand * 2^(exponent - 150), counted in units of 2^-24.
  const std::uint32_t exponent = magnitude >> 23;
  const std::uint32_t significand = (magnitude & 0x007FFFFFu) | 0x00800000u;
  const int shift = static_cast<int>(126u - exponent);
  return static_cast<std::uint16_t>(sign | ShiftRightRoundToEven(significand, shift));
}

constexpr std::uint32_t Float16BitsToFloat32Bits(std::uint16_t bits) {
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000u) << 16;
  const std::uint32_t exponent = (std::uint32_t{bits} >> 10) & 0x1Fu;
  const std::uint32_t mantissa = std::uint32_t{bits} & 0x03FFu;
  if (exponent == 0x1Fu) return sign | 0x7F800000u | (mantissa << 13);
  if (exponent != 0) return sign | ((exponent + (127 - 15)) << 23) | (mantissa << 13);
  if (mantissa == 0) return sign;
  // Subnormal: mantissa * 2^-24. The leading bit becomes the implicit one.
  const int leading = std::bit_width(mantissa) - 1;
  const std::uint32_t fraction = (mantissa << (23 - leading)) & 0x007FFFFFu;
  return sign | (static_cast<std::uint32_t>(leading + (127 - 24)) << 23) | fraction;
}

constexpr std::uint16_t Float32BitsToBFloat16Bits(std::uint32_t bits) {
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    auto truncated = static_cast<std::uint16_t>(bits >> 16);
    if ((truncated & 0x007Fu) == 0) truncated |= 0x0040u;
    return truncated;
  }
  // The carry cannot leave the magnitude: infinity has a zero mantissa.
  return static_cast<std::uint16_t>(ShiftRightRoundToEven(bits, 16));
}

constexpr std::uint32_t BFloat16BitsToFloat32Bits(std::uint16_t bits) {
  return std::uint32_t{bits} << 16;
}

// What both half types share; `kNarrow` and `kWiden` convert binary32 patterns.
template <typename Self, std::uint16_t (*kNarrow)(std::uint32_t),
          std::uint32_t (*kWiden)(std::uint16_t)>
class HalfBase {
 public:
  HalfBase() = default;  // uninitialised, like float
  explicit constexpr HalfBase(float value) : bits_(kNarrow(std::bit_cast<std::uint32_t>(value))) {}
  constexpr operator float() const {  // NOLINT(google-explicit-constructor): widening is exact
    return std::bit_cast<float>(kWiden(bits_));
  }
  [[nodiscard]] constexpr std::uint16_t to_bits() const { return bits_; }
  [[nodiscard]] static constexpr Self from_bits(std::uint16_t bits) {
    Self value(0.0f);
    value.bits_ = bits;
    return value;
  }

 private:
  std::uint16_t bits_;
};

}  // namespace internal

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
class float16 final : public internal::HalfBase<float16, internal::Float32BitsToFloat16Bits,
                                                internal::Float16BitsToFloat32Bits> {
 public:
  using HalfBase::HalfBase;
};

// bfloat16: 1 sign, 8 exponent (bias 127), 7 mantissa bits.
class bfloat16 final : public internal::HalfBase<bfloat16, internal::Float32BitsToBFloat16Bits,
                                                 internal::BFloat16BitsToFloat32Bits> {
 public:
  using HalfBase::HalfBase;
};

static_assert(sizeof(float16) == 2 && alignof(float16) == 2);
static_assert(sizeof(bfloat16) == 2 && alignof(bfloat16) == 2);
static_assert(std::is_trivially_copyable_v<float16> && std::is_trivially_copyable_v<bfloat16>);
static_assert(std::is_trivially_default_constructible_v<float16>);
static_assert(std::is_trivially_default_constructible_v<bfloat16>);

template <>
struct DTypeTraits<float16> : internal::DTypeTraitsOf<DataType::kFloat16> {};
template <>
struct DTypeTraits<bfloat16> : internal::DTypeTraitsOf<DataType::kBFloat16> {};

namespace internal {

// The members of std::numeric_limits that both half types share.
template <typename T>
class HalfLimits {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int radix = 2;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;

  static constexpr T denorm_min() noexcept { return T::from_bits(0x0001); }
  static constexpr T round_error() noexcept { return T(0.5f); }
};

}  // namespace internal
}  // namespace engine::tensor

// Limits of IEEE 754 binary16.
template <>
class std::numeric_limits<engine::tensor::float16>
    : public engine::tensor::internal::HalfLimits<engine::tensor::float16> {
  using T = engine::tensor::float16;

 public:
  static constexpr bool is_iec559 = true;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;

  static constexpr T min() noexcept { return T::from_bits(0x0400); }
  static constexpr T lowest() noexcept { return T::from_bits(0xFBFF); }
  static constexpr T max() noexcept { return T::from_bits(0x7BFF); }
  static constexpr T epsilon() noexcept { return T::from_bits(0x1400); }
  static constexpr T infinity() noexcept { return T::from_bits(0x7C00); }
  static constexpr T quiet_NaN() noexcept { return T::from_bits(0x7E00); }
  static constexpr T signaling_NaN() noexcept { return T::from_bits(0x7D00); }
};

// Limits of bfloat16, whose exponents are those of float.
template <>
class std::numeric_limits<engine::tensor::bfloat16>
    : public engine::tensor::internal::HalfLimits<engine::tensor::bfloat16> {
  using T = engine::tensor::bfloat16;

 public:
  static constexpr bool is_iec559 = false;  // not an interchange format of the standard
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int min_exponent = -125;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;

  static constexpr T min() noexcept { return T::from_bits(0x0080); }
  static constexpr T lowest() noexcept { return T::from_bits(0xFF7F); }
  static constexpr T max() noexcept { return T::from_bits(0x7F7F); }
  static constexpr T epsilon() noexcept { return T::from_bits(0x3C00); }
  static constexpr T infinity() noexcept { return T::from_bits(0x7F80); }
  static constexpr T quiet_NaN() noexcept { return T::from_bits(0x7FC0); }
  static constexpr T signaling_NaN() noexcept { return T::from_bits(0x7FA0); }
};

// Print the shortest form of the exact float value; take float's format specs.
template <>
struct fmt::formatter<engine::tensor::float16> : engine::core::FloatFormatter {
  template <typename FormatContext>
  auto format(engine::tensor::float16 value, FormatContext& context) const {
    return Write(static_cast<float>(value), context);
  }
};
// As float16.
template <>
struct fmt::formatter<engine::tensor::bfloat16> : engine::core::FloatFormatter {
  template <typename FormatContext>
  auto format(engine::tensor::bfloat16 value, FormatContext& context) const {
    return Write(static_cast<float>(value), context);
  }
};

#endif  // ENGINE_TENSOR_HALF_H_
