// testing/reference.h: naive conversions and copies, the oracle that every kernel is compared with.
// Test support; never installed.
//
// Formulated apart from the library: elements are bit patterns, values are sign * significand *
// 2^exponent, rounding is integer arithmetic on them, layouts are walked by recursion over the
// coordinates. No floating-point operation happens here, so the host's floating-point mode cannot
// matter.
#ifndef ENGINE_TESTING_REFERENCE_H_
#define ENGINE_TESTING_REFERENCE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::testing::reference {

using tensor::DataType;

// The field widths of a binary floating-point format of IEEE 754's construction.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] int sign_position() const { return exponent_bits + mantissa_bits; }
  [[nodiscard]] std::uint64_t mantissa_mask() const {
    return (std::uint64_t{1} << mantissa_bits) - 1;
  }
  [[nodiscard]] std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
};

inline constexpr FloatFormat kBinary64{11, 52};
inline constexpr FloatFormat kBinary32{8, 23};
inline constexpr FloatFormat kBinary16{5, 10};
inline constexpr FloatFormat kBrain16{8, 7};

[[nodiscard]] inline FloatFormat FormatOf(DataType dtype) {
  if (dtype == DataType::kBFloat16) return kBrain16;
  if (dtype == DataType::kFloat16) return kBinary16;
  return dtype == DataType::kFloat32 ? kBinary32 : kBinary64;
}

[[nodiscard]] inline bool IsUnsigned(DataType dtype) {
  return dtype == DataType::kUInt8 || dtype == DataType::kUInt16 || dtype == DataType::kUInt32 ||
         dtype == DataType::kUInt64;
}

// Keeps the low `bits` bits.
[[nodiscard]] inline std::uint64_t LowBits(std::uint64_t value, int bits) {
  return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

struct ExactValue {
  enum class Kind : std::uint8_t { kFinite, kInfinity, kNaN };
  Kind kind = Kind::kFinite;
  bool negative = false;
  // Finite: the magnitude is significand * 2^exponent. NaN: the payload, widened to 52 bits.
  std::uint64_t significand = 0;
  int exponent = 0;
};

[[nodiscard]] inline ExactValue DecodeFloat(FloatFormat format, std::uint64_t bits) {
  ExactValue value;
  value.negative = ((bits >> format.sign_position()) & 1u) != 0;
  const std::uint64_t mantissa = bits & format.mantissa_mask();
  const auto exponent =
      static_cast<int>(LowBits(bits >> format.mantissa_bits, format.exponent_bits));
  if (exponent == (1 << format.exponent_bits) - 1) {
    value.kind = mantissa == 0 ? ExactValue::Kind::kInfinity : ExactValue::Kind::kNaN;
    value.significand = mantissa << (52 - format.mantissa_bits);
    return value;
  }
  const bool subnormal = exponent == 0;
  value.significand = subnormal ? mantissa : mantissa | (std::uint64_t{1} << format.mantissa_bits);
  value.exponent = (subnormal ? 1 : exponent) - format.bias() - format.mantissa_bits;
  return value;
}

[[nodiscard]] inline ExactValue DecodeInteger(DataType dtype, std::uint64_t bits) {
  const int width = tensor::itemsize_bits(dtype);
  ExactValue value;
  value.negative = !IsUnsigned(dtype) && ((bits >> (width - 1)) & 1u) != 0;
  value.significand = value.negative ? LowBits(~bits + 1, width) : bits;
  return value;
}

// The integer nearest to significand / 2^shift, ties to even.
[[nodiscard]] inline std::uint64_t DivideByPowerOfTwo(std::uint64_t significand, int shift) {
  if (shift > 64) return 0;  // below one half, whatever the significand
  const auto wide = static_cast<unsigned __int128>(significand);
  const unsigned __int128 unit = static_cast<unsigned __int128>(1) << shift;
  const auto quotient = static_cast<std::uint64_t>(wide / unit);
  const unsigned __int128 twice_remainder = 2 * (wide % unit);
  if (twice_remainder > unit || (twice_remainder == unit && quotient % 2 == 1)) return quotient + 1;
  return quotient;
}

// Rounds to nearest even; too large becomes infinity; a NaN becomes quiet and its payload is cut.
[[nodiscard]] inline std::uint64_t EncodeFloat(FloatFormat format, const ExactValue& value) {
  const std::uint64_t sign = std::uint64_t{value.negative} << format.sign_position();
  if (value.kind == ExactValue::Kind::kNaN) {
    const std::uint64_t quiet = std::uint64_t{1} << (format.mantissa_bits - 1);
    return sign | format.infinity() | quiet | (value.significand >> (52 - format.mantissa_bits));
  }
  if (value.kind == ExactValue::Kind::kInfinity) return sign | format.infinity();
  if (value.significand == 0) return sign;

  const int leading = std::bit_width(value.significand) - 1 + value.exponent;
  const int binade = leading < 1 - format.bias() ? 1 - format.bias() : leading;
  const int last_place = binade - format.mantissa_bits;
  const std::uint64_t units =
      value.exponent >= last_place
          ? value.significand << (value.exponent - last_place)
          : DivideByPowerOfTwo(value.significand, last_place - value.exponent);
  // A normal number's implicit bit supplies the final 1 of its biased exponent.
  const std::uint64_t magnitude =
      units + (static_cast<std::uint64_t>(binade + format.bias() - 1) << format.mantissa_bits);
  return sign | (magnitude < format.infinity() ? magnitude : format.infinity());
}

// Truncates toward zero; nullopt when the result does not fit or there is none.
[[nodiscard]] inline std::optional<std::uint64_t> EncodeInteger(DataType dtype,
                                                                const ExactValue& value) {
  if (value.kind != ExactValue::Kind::kFinite) return std::nullopt;
  const int width = tensor::itemsize_bits(dtype);
  unsigned __int128 magnitude = value.significand;
  if (magnitude != 0 && value.exponent > 0) {
    if (std::bit_width(value.significand) + value.exponent > 64) return std::nullopt;
    magnitude <<= value.exponent;
  } else if (value.exponent < 0) {
    magnitude = value.exponent <= -64 ? 0 : magnitude >> -value.exponent;
  }
  const int value_bits = IsUnsigned(dtype) ? width : width - 1;
  const unsigned __int128 range = static_cast<unsigned __int128>(1) << value_bits;
  if (value.negative) {
    const unsigned __int128 most_negative = IsUnsigned(dtype) ? 0 : range;
    if (magnitude > most_negative) return std::nullopt;
    return LowBits(~static_cast<std::uint64_t>(magnitude) + 1, width);
  }
  if (magnitude >= range) return std::nullopt;
  return static_cast<std::uint64_t>(magnitude);
}

// One element as cast converts it, from bits to bits; nullopt when it is not representable.
[[nodiscard]] inline std::optional<std::uint64_t> ConvertBits(DataType dst, DataType src,
                                                              std::uint64_t bits) {
  if (dst == src) return bits;
  ExactValue value =
      tensor::is_floating_point(src) ? DecodeFloat(FormatOf(src), bits) : DecodeInteger(src, bits);
  if (!tensor::is_floating_point(dst)) return EncodeInteger(dst, value);
  // The contract's steps: to double, to float, to half.
  std::uint64_t result = EncodeFloat(kBinary64, value);
  if (dst == DataType::kFloat64) return result;
  result = EncodeFloat(kBinary32, DecodeFloat(kBinary64, result));
  if (dst == DataType::kFloat32) return result;
  return EncodeFloat(FormatOf(dst), DecodeFloat(kBinary32, result));
}

// Elements are little-endian bit patterns at any address.
[[nodiscard]] inline std::uint64_t LoadBits(const void* address, int bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, address, static_cast<std::size_t>(bytes));
  return bits;
}
inline void StoreBits(void* address, std::uint64_t bits, int bytes) {
  std::memcpy(address, &bits, static_cast<std::size_t>(bytes));
}

// Calls visit(coordinates) for every element, in logical order.
template <typename Visit>
void ForEachCoordinates(const tensor::Shape& shape, Visit&& visit,
                        tensor::DimVector prefix = tensor::DimVector()) {
  if (prefix.size() == shape.rank()) {
    visit(prefix);
    return;
  }
  for (std::int64_t i = 0; i < shape.dim(prefix.size()); ++i) {
    tensor::DimVector longer = prefix;
    longer.push_back(i);
    ForEachCoordinates(shape, visit, longer);
  }
}

[[nodiscard]] inline std::int64_t OffsetAt(const tensor::DimVector& coordinates,
                                           const tensor::Strides& strides) {
  std::int64_t offset = 0;
  for (int i = 0; i < coordinates.size(); ++i) offset += coordinates[i] * strides[i];
  return offset;
}

// Calls visit(a, b) for every element in logical order: its offset in two equal-shaped layouts.
template <typename Visit>
void ForEachElement(const tensor::Shape& shape, const tensor::Strides& a_strides,
                    const tensor::Strides& b_strides, const Visit& visit, int axis = 0,
                    std::int64_t a = 0, std::int64_t b = 0) {
  if (axis == shape.rank()) {
    visit(a, b);
    return;
  }
  for (std::int64_t i = 0; i < shape.dim(axis); ++i) {
    ForEachElement(shape, a_strides, b_strides, visit, axis + 1, a + i * a_strides[axis],
                   b + i * b_strides[axis]);
  }
}

// dst[i] = convert(src[i]) for every element that is representable. Returns the logical index of
// the first one that is not.
inline std::optional<std::int64_t> ConvertStrided(const tensor::Shape& shape, DataType dst_dtype,
                                                  void* dst, const tensor::Strides& dst_strides,
                                                  DataType src_dtype, const void* src,
                                                  const tensor::Strides& src_strides) {
  const int dst_bytes = tensor::itemsize(dst_dtype);
  const int src_bytes = tensor::itemsize(src_dtype);
  std::optional<std::int64_t> first_offender;
  std::int64_t logical_index = 0;
  ForEachElement(shape, dst_strides, src_strides, [&](std::int64_t to_at, std::int64_t from_at) {
    const auto* const from = static_cast<const std::byte*>(src) + from_at * src_bytes;
    auto* const to = static_cast<std::byte*>(dst) + to_at * dst_bytes;
    const std::optional<std::uint64_t> converted =
        ConvertBits(dst_dtype, src_dtype, LoadBits(from, src_bytes));
    if (converted.has_value()) {
      StoreBits(to, *converted, dst_bytes);
    } else if (!first_offender.has_value()) {
      first_offender = logical_index;
    }
    ++logical_index;
  });
  return first_offender;
}

}  // namespace engine::testing::reference

#endif  // ENGINE_TESTING_REFERENCE_H_
