// core/checked_math.h: integer arithmetic that reports overflow instead of wrapping.
// Layer 0. No allocation; constexpr; no undefined behaviour for any argument.
#ifndef ENGINE_CORE_CHECKED_MATH_H_
#define ENGINE_CORE_CHECKED_MATH_H_

#include <concepts>
#include <limits>
#include <optional>

namespace engine::core {

// a + b, or nullopt when the sum does not fit T.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> CheckedAdd(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// a - b, or nullopt when the difference does not fit T.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> CheckedSub(T a, T b) {
  T difference{};
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}

// a * b, or nullopt when the product does not fit T.
template <std::integral T>
[[nodiscard]] constexpr std::optional<T> CheckedMul(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// a + b for non-negative arguments, or the largest T when the sum does not fit.
template <std::integral T>
[[nodiscard]] constexpr T SaturatingAdd(T a, T b) {
  return CheckedAdd(a, b).value_or(std::numeric_limits<T>::max());
}

// a * b for non-negative arguments, or the largest T when the product does not fit.
template <std::integral T>
[[nodiscard]] constexpr T SaturatingMul(T a, T b) {
  return CheckedMul(a, b).value_or(std::numeric_limits<T>::max());
}

}  // namespace engine::core

#endif  // ENGINE_CORE_CHECKED_MATH_H_
