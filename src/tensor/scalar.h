// tensor/scalar.h: one value of any arithmetic type, on its way into a tensor.
// Layer 3.
#ifndef ENGINE_TENSOR_SCALAR_H_
#define ENGINE_TENSOR_SCALAR_H_

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "tensor/dtype.h"
#include "tensor/half.h"

namespace engine::tensor {

namespace internal {

// What Scalar can hold. Extended types that count as arithmetic in the compilers' GNU modes
// (__int128, __float128) are left out: they would lose bits without a word.
template <typename T>
concept ScalarSource =
    (std::integral<T> && sizeof(T) <= sizeof(std::int64_t)) || std::same_as<T, float> ||
    std::same_as<T, double> || std::same_as<T, long double>;

// To nearest even whatever the caller's floating-point mode, by integer arithmetic: the x87 unit
// has a control word of its own. Out of range becomes infinity; a NaN is quieted.
[[nodiscard]] double NarrowLongDouble(long double value);

}  // namespace internal

// Holds an integer with all its 64 bits, or a floating value. Implicit from every arithmetic type
// and both halves, so that `full(shape, 1, dtype)` and `fill(t, 0.5f)` read as such. A float is
// kept as it is: widening it here would be done in the caller's floating-point mode, which may
// flush subnormals. A long double becomes the nearest double. Trivially copyable; thread-safe as a
// value.
class Scalar {
 public:
  // Any C++ integer of up to 64 bits, bool, or floating value.
  template <internal::ScalarSource T>
  constexpr Scalar(T value) : value_(Widen(value)) {}  // NOLINT(google-explicit-constructor)
  // The halves widen exactly.
  constexpr Scalar(float16 value) : value_(static_cast<float>(value)) {}   // NOLINT
  constexpr Scalar(bfloat16 value) : value_(static_cast<float>(value)) {}  // NOLINT

  // Writes the value as one element of `dtype` to `element`, which has room for 8 bytes.
  //   Integer dtypes   an integer keeps all its bits; a floating value must be integral; in range.
  //   Floating dtypes  through double, then as cast narrows (double -> float -> half); out of range
  //                    becomes infinity.
  //   Bool             exactly 0 or 1.
  // False, with `element` unchanged, when the value is not representable: the caller knows what to
  // say about it.
  //   CHECKs   dtype is not reserved.
  [[nodiscard]] bool StoreAs(DataType dtype, std::byte* element) const;

  // The value as a message prints it, also through fmt.
  [[nodiscard]] std::string ToString() const;

 private:
  friend struct fmt::formatter<Scalar>;
  using Value = std::variant<std::int64_t, std::uint64_t, float, double>;

  template <typename T>
  static constexpr Value Widen(T value) {
    if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
      return value;
    } else if constexpr (std::same_as<T, long double>) {
      // The compiler itself rounds to nearest.
      if (std::is_constant_evaluated()) return static_cast<double>(value);
      return internal::NarrowLongDouble(value);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  Value value_;
};

}  // namespace engine::tensor

// Prints an integer in full and a floating value in its shortest form that reads back exactly.
template <>
struct fmt::formatter<engine::tensor::Scalar> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <typename FormatContext>
  auto format(const engine::tensor::Scalar& scalar, FormatContext& context) const {
    return std::visit([&](auto held) { return fmt::format_to(context.out(), "{}", held); },
                      scalar.value_);
  }
};

#endif  // ENGINE_TENSOR_SCALAR_H_
