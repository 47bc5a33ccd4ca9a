// testing/half_reference.h: the half-precision conversions stated by value instead of by bits.
// Test support; never installed.
//
// A table of midpoints between neighbouring halves, computed in double where all of them are exact,
// answers a narrowing by search. It shares no step with the shifts of tensor/half.h.
#ifndef ENGINE_TESTING_HALF_REFERENCE_H_
#define ENGINE_TESTING_HALF_REFERENCE_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tensor/half.h"

namespace engine::testing {

class HalfReference {
 public:
  HalfReference(int exponent_bits, int mantissa_bits)
      : mantissa_bits_(mantissa_bits),
        bias_((1 << (exponent_bits - 1)) - 1),
        infinity_(static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits)) {
    midpoints_.reserve(infinity_);
    for (int magnitude = 0; magnitude < infinity_; ++magnitude) {
      midpoints_.push_back((Value(magnitude) + Value(magnitude + 1)) / 2);
    }
  }

  // The pattern of +infinity; smaller patterns are the finite magnitudes in increasing order.
  [[nodiscard]] std::uint16_t infinity() const { return infinity_; }

  // The value of a pattern in [0, infinity()]; infinity() stands for the power of two that would
  // come next, as the rounding rule has it.
  [[nodiscard]] double Value(int magnitude) const {
    const int units = 1 << mantissa_bits_;
    const int exponent = magnitude / units;
    const int fraction = magnitude % units;
    if (exponent == 0) return std::ldexp(fraction, 1 - bias_ - mantissa_bits_);
    return std::ldexp(units + fraction, exponent - bias_ - mantissa_bits_);
  }

  // The value halfway between a finite pattern and its successor.
  [[nodiscard]] double Midpoint(std::uint16_t magnitude) const { return midpoints_[magnitude]; }

  // The half pattern for any binary32 pattern.
  [[nodiscard]] std::uint16_t Narrow(std::uint32_t float_bits) const {
    const int sign = float_bits >= kSign32 ? 0x8000 : 0;
    const std::uint32_t magnitude = float_bits % kSign32;
    if (magnitude > kInfinity32) return static_cast<std::uint16_t>(sign + NarrowNan(magnitude));
    const double value = static_cast<double>(std::bit_cast<float>(magnitude));
    const auto above = std::lower_bound(midpoints_.begin(), midpoints_.end(), value);
    auto result = static_cast<int>(above - midpoints_.begin());
    if (above != midpoints_.end() && *above == value) result += result % 2;  // a tie: to even
    return static_cast<std::uint16_t>(sign + result);
  }

  // The binary32 pattern for any half pattern.
  [[nodiscard]] std::uint32_t Widen(std::uint16_t bits) const {
    const std::uint32_t sign = bits >= 0x8000 ? kSign32 : 0;
    const int magnitude = bits % 0x8000;
    if (magnitude < infinity_) {
      return sign + std::bit_cast<std::uint32_t>(static_cast<float>(Value(magnitude)));
    }
    const auto payload = static_cast<std::uint32_t>(magnitude - infinity_);
    return sign + kInfinity32 + payload * DroppedUnits();
  }

 private:
  static constexpr std::uint32_t kSign32 = 0x80000000u;
  static constexpr std::uint32_t kInfinity32 = 0x7F800000u;

  // 2 to the number of mantissa bits that narrowing drops.
  [[nodiscard]] std::uint32_t DroppedUnits() const {
    return std::uint32_t{1} << (23 - mantissa_bits_);
  }

  [[nodiscard]] int NarrowNan(std::uint32_t magnitude) const {
    const auto payload = static_cast<int>((magnitude - kInfinity32) / DroppedUnits());
    const int quiet = 1 << (mantissa_bits_ - 1);
    return infinity_ + (payload == 0 ? quiet : payload);
  }

  int mantissa_bits_;
  int bias_;
  std::uint16_t infinity_;
  std::vector<double> midpoints_;
};

// The reference for tensor::float16 or tensor::bfloat16.
template <typename T>
const HalfReference& HalfReferenceFor() {
  constexpr bool kIsFloat16 = std::is_same_v<T, tensor::float16>;
  static_assert(kIsFloat16 || std::is_same_v<T, tensor::bfloat16>);
  static const HalfReference reference(kIsFloat16 ? 5 : 8, kIsFloat16 ? 10 : 7);
  return reference;
}

}  // namespace engine::testing

#endif  // ENGINE_TESTING_HALF_REFERENCE_H_
