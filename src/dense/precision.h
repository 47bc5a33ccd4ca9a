// dense/precision.h: the precision of element types that have only one.
// Layer 4. constexpr.
//
// Generic code that also serves scalars of run-time precision passes a precision around. For the
// types of this library it is a constant: it is compared and never stored.
// Source: docs/design/dense.md, "Precision".
#ifndef ENGINE_DENSE_PRECISION_H_
#define ENGINE_DENSE_PRECISION_H_

#include <limits>

#include "core/status.h"
#include "tensor/dtype.h"
#include "tensor/half.h"

namespace engine::dense {

// Significand bits. A type of its own, so that it cannot be mistaken for an extent.
struct Precision {
  // Explicit: an integer is no precision.
  constexpr explicit Precision(int significand_bits) : bits(significand_bits) {}
  friend constexpr bool operator==(const Precision&, const Precision&) = default;

  int bits;  // of the significand
};

// 53 for double, 24 for float, 11 for float16, 8 for bfloat16; the value bits of an integer (31 for
// int32_t), 1 for bool.
template <tensor::MappedElement T>
[[nodiscard]] constexpr Precision native_precision() {
  return Precision(std::numeric_limits<T>::digits);
}

namespace internal {

// InvalidArgument unless `precision` is T's own.
template <tensor::MappedElement T>
[[nodiscard]] core::Status RequireNativePrecision(const char* operation, Precision precision) {
  if (precision == native_precision<T>()) return core::OkStatus();
  return core::InvalidArgumentError("{}: precision {}, but {} has {} bits (precision.native)",
                                    operation, precision.bits, tensor::dtype_of<T>,
                                    native_precision<T>().bits);
}

}  // namespace internal
}  // namespace engine::dense

#endif  // ENGINE_DENSE_PRECISION_H_
