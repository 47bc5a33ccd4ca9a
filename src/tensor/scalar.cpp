#include "tensor/scalar.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/check.h"
#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"

namespace engine::tensor {
namespace {

// Converts into `out`; false, with `out` unchanged, when T cannot represent the value.
template <typename T, typename Source>
bool Represent(Source value, T& out) {
  if constexpr (std::same_as<T, bool>) {
    if (value != Source{0} && value != Source{1}) return false;
    out = value == Source{1};
    return true;
  } else if constexpr (strided::kIsFloating<T>) {
    out = strided::NarrowFromDouble<T>(strided::WidenToDouble(value));
    return true;
  } else {
    // Unlike cast, a value with a fraction is refused rather than truncated.
    if constexpr (std::floating_point<Source>) {
      if (std::trunc(value) != value) return false;
    }
    return strided::ConvertElement(value, out);
  }
}

// Out of line, so that the arithmetic stays between the two ends of the caller's floating-point
// scope.
template <typename T, typename Value>
[[gnu::noinline]] bool Store(const Value& value, std::byte* element) {
  T converted{};
  const bool representable =
      std::visit([&converted](auto held) { return Represent(held, converted); }, value);
  if (representable) strided::StoreElement(element, converted);
  return representable;
}

// The parts of a long double whose format is wider than double's: with an explicit leading bit (x87,
// 64 bits of significand) or without (binary128, 113 bits). Both have 15 bits of exponent.
struct WideFloat {
  bool negative;
  int exponent;  // biased by kWideBias; a subnormal's is 1
  std::uint64_t
      significand;  // its highest bit is worth 2^(exponent - kWideBias); the lowest stands
                    // for everything below it as well
};

constexpr int kWideBias = 16383;
constexpr int kWideMaxExponent = 0x7FFF;  // infinity and NaN

WideFloat Decompose(long double value) {
  constexpr int kDigits = std::numeric_limits<long double>::digits;
  static_assert(kDigits == 53 || kDigits == 64 || kDigits == 113);  // 53: never called
  std::uint64_t low = 0;
  std::memcpy(&low, &value, sizeof(low));
  std::uint64_t high = 0;
  std::memcpy(&high, reinterpret_cast<const std::byte*>(&value) + sizeof(low),
              kDigits == 64 ? 2 : sizeof(high));
  const std::uint64_t sign_exponent = kDigits == 64 ? high : high >> 48;
  const int exponent = static_cast<int>(sign_exponent & 0x7FFFu);
  std::uint64_t significand = low;
  if constexpr (kDigits == 113) {
    const std::uint64_t below = low << 15;
    significand = (exponent != 0 ? std::uint64_t{1} << 63 : 0) | ((high & 0xFFFFFFFFFFFFu) << 15) |
                  (low >> 49) | (below != 0 ? 1u : 0u);
  }
  return {(sign_exponent & 0x8000u) != 0, exponent == 0 ? 1 : exponent, significand};
}

// The bits of the nearest double, without its sign; `wide` is finite.
std::uint64_t NearestDouble(const WideFloat& wide) {
  if (wide.significand == 0) return 0;
  const int leading_zeros = std::countl_zero(wide.significand);
  const std::uint64_t significand = wide.significand << leading_zeros;
  const int exponent = wide.exponent - kWideBias - leading_zeros;

  constexpr int kMaxExponent = 1023;
  constexpr int kMinExponent = -1022;  // of normal numbers
  constexpr std::uint64_t kInfinity = 0x7FF0000000000000u;
  if (exponent > kMaxExponent) return kInfinity;
  const bool normal = exponent >= kMinExponent;
  const int dropped_bits = normal ? 11 : 11 + kMinExponent - exponent;
  if (dropped_bits > 64) return 0;  // below half of the least subnormal
  std::uint64_t kept = dropped_bits == 64 ? 0 : significand >> dropped_bits;
  const std::uint64_t dropped = significand << (64 - dropped_bits);
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  if (dropped > kHalf || (dropped == kHalf && kept % 2 == 1)) ++kept;
  // The leading bit of `kept`, and a carry out of it, count in the exponent field.
  const auto field = normal ? static_cast<std::uint64_t>(exponent - kMinExponent) : 0;
  return kept + (field << 52);
}

double NarrowWide(const WideFloat& wide) {
  constexpr std::uint64_t kSign = 0x8000000000000000u;
  constexpr std::uint64_t kExponent = 0x7FF0000000000000u;
  constexpr std::uint64_t kQuiet = 0x0008000000000000u;
  std::uint64_t bits = 0;
  if (wide.exponent != kWideMaxExponent) {
    bits = NearestDouble(wide);
  } else {
    const std::uint64_t payload = wide.significand << 1;  // without the leading bit
    bits = payload == 0 ? kExponent : kExponent | kQuiet | (payload >> 12);
  }
  return std::bit_cast<double>(wide.negative ? bits | kSign : bits);
}

}  // namespace

double internal::NarrowLongDouble(long double value) {
  if constexpr (std::numeric_limits<long double>::digits == std::numeric_limits<double>::digits) {
    return strided::Quieted(static_cast<double>(value));
  } else {
    return NarrowWide(Decompose(value));
  }
}

bool Scalar::StoreAs(DataType dtype, std::byte* element) const {
  ENGINE_CHECK(!is_reserved(dtype), "StoreAs: {} is a reserved dtype", dtype);
  const strided::ScopedDefaultFpEnvironment environment;
  return strided::VisitDType(
      dtype, [&]<typename T>(strided::TypeTag<T>) { return Store<T>(value_, element); },
      [](DataType) { return false; });
}

std::string Scalar::ToString() const { return fmt::format("{}", *this); }

}  // namespace engine::tensor
