// strided/convert.h: what converting one element means. Every kernel equals these functions bit for
// bit; this is the definition, not the fast path.
// Layer 2. Header-only, no allocation, thread-safe. The floating-point results assume the default
// control word (strided/fp_environment.h).
// Source: docs/design/tensor.md, "Casts".
#ifndef ENGINE_STRIDED_CONVERT_H_
#define ENGINE_STRIDED_CONVERT_H_

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tensor/dtype.h"
#include "tensor/half.h"

namespace engine::strided {

// float16 or bfloat16.
template <typename T>
inline constexpr bool kIsHalf =
    std::same_as<T, tensor::float16> || std::same_as<T, tensor::bfloat16>;
// A C++ floating type or a half.
template <typename T>
inline constexpr bool kIsFloating = std::floating_point<T> || kIsHalf<T>;
// A C++ integer type. bool is none: casts refuse it.
template <typename T>
inline constexpr bool kIsInteger = std::integral<T> && !std::same_as<T, bool>;
// The dtypes that cast converts between: every mapped one but bool.
template <typename T>
concept CastElement = kIsFloating<T> || kIsInteger<T>;

// Reads an element from any address. A bool is read as a byte: values other than 0 and 1 are true,
// and never become an invalid bool object.
template <typename T>
[[nodiscard]] T LoadElement(const void* address) {
  if constexpr (std::same_as<T, bool>) {
    unsigned char byte = 0;
    std::memcpy(&byte, address, 1);
    return byte != 0;
  } else {
    T value;
    std::memcpy(&value, address, sizeof(T));
    return value;
  }
}

// Writes an element to any address.
template <typename T>
void StoreElement(void* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

// Sets the quiet bit of a NaN and keeps the rest; other values pass unchanged. A conversion in
// hardware does the same, but a compiler may fold float -> double -> float away.
[[nodiscard]] constexpr float Quieted(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) <= 0x7F800000u) return value;
  return std::bit_cast<float>(bits | 0x00400000u);
}
[[nodiscard]] constexpr double Quieted(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if ((bits & 0x7FFFFFFFFFFFFFFFu) <= 0x7FF0000000000000u) return value;
  return std::bit_cast<double>(bits | 0x0008000000000000u);
}

// Any castable element as a double: exact but for 64-bit integers beyond 2^53, which round to
// nearest even.
template <CastElement Src>
[[nodiscard]] constexpr double WidenToDouble(Src value) {
  if constexpr (std::same_as<Src, double>) {
    return Quieted(value);
  } else if constexpr (kIsFloating<Src>) {
    return static_cast<double>(Quieted(static_cast<float>(value)));
  } else {
    return static_cast<double>(value);
  }
}

// A double as a floating element: double -> float -> half, each step rounding to nearest even. The
// double rounding is the definition. Out of range becomes infinity.
template <CastElement Dst>
requires kIsFloating<Dst>
[[nodiscard]] constexpr Dst NarrowFromDouble(double value) {
  if constexpr (std::same_as<Dst, double>) {
    return value;
  } else {
    return static_cast<Dst>(static_cast<float>(value));
  }
}

// True when `value`, truncated toward zero, is a `Dst`; NaN and infinities never are. Both bounds
// are exact doubles. For 64-bit targets the open lower bound min - 1 is not a double, and the
// closed one at min admits the same doubles.
template <typename Dst>
requires kIsInteger<Dst>
[[nodiscard]] constexpr bool TruncatesInto(double value) {
  constexpr int kValueBits = std::numeric_limits<Dst>::digits;
  constexpr double kUpper = 2.0 * static_cast<double>(std::uint64_t{1} << (kValueBits - 1));
  if (!(value < kUpper)) return false;
  if constexpr (std::is_unsigned_v<Dst>) {
    return value > -1.0;
  } else if constexpr (sizeof(Dst) == 8) {
    return value >= -kUpper;
  } else {
    return value > -kUpper - 1.0;
  }
}

// Converts one element as cast does. Returns false, with `out` unchanged, when an integer target
// cannot represent the (truncated) value. Same-type conversion copies the bits.
template <CastElement Src, CastElement Dst>
[[nodiscard]] constexpr bool ConvertElement(Src value, Dst& out) {
  if constexpr (std::same_as<Src, Dst>) {
    out = value;
    return true;
  } else if constexpr (kIsFloating<Dst>) {
    out = NarrowFromDouble<Dst>(WidenToDouble(value));
    return true;
  } else if constexpr (kIsFloating<Src>) {
    const double wide = WidenToDouble(value);
    if (!TruncatesInto<Dst>(wide)) return false;
    out = static_cast<Dst>(wide);
    return true;
  } else {
    if (!std::in_range<Dst>(value)) return false;
    out = static_cast<Dst>(value);
    return true;
  }
}

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_CONVERT_H_
