// tensor/scalar.h: one value of any arithmetic type, on its way into a tensor.
// Layer 3.
#ifndef ENGINE_TENSOR_SCALAR_H_
#define ENGINE_TENSOR_SCALAR_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "core/status.h"
#include "tensor/dtype.h"
#include "tensor/half.h"

namespace engine::tensor {

// Holds an integer with all its 64 bits, or a floating value. Implicit from every arithmetic type
// and both halves, so that `full(shape, 1, dtype)` and `fill(t, 0.5f)` read as such. A float is
// kept as it is: widening it here would be done in the caller's floating-point mode, which may
// flush subnormals. Trivially copyable; thread-safe as a value.
class Scalar {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) : value_(Widen(value)) {}  // NOLINT(google-explicit-constructor)
  constexpr Scalar(float16 value) : value_(static_cast<float>(value)) {}   // NOLINT
  constexpr Scalar(bfloat16 value) : value_(static_cast<float>(value)) {}  // NOLINT

  // Writes the value as one element of `dtype` to `element`, which has room for 8 bytes.
  //   Integer dtypes   an integer keeps all its bits; a floating value must be integral; in range.
  //   Floating dtypes  through double, then as cast narrows (double -> float -> half); out of range
  //                    becomes infinity.
  //   Bool             exactly 0 or 1.
  //   Errors   InvalidArgument: not representable, with value and dtype; `element` is unchanged.
  //   CHECKs   dtype is not reserved.
  [[nodiscard]] core::Status StoreAs(DataType dtype, std::byte* element) const;

  // The value as a message prints it.
  [[nodiscard]] std::string ToString() const;

 private:
  using Value = std::variant<std::int64_t, std::uint64_t, float, double>;

  template <typename T>
  static constexpr Value Widen(T value) {
    if constexpr (std::same_as<T, float>) {
      return value;
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  Value value_;
};

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_SCALAR_H_
