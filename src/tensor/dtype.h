// tensor/dtype.h: element types, their names, widths and C++ counterparts.
// Layer 1 (tensor_base). Header-only, no state; every function is thread-safe.
// Source: docs/design/tensor.md, "Data types".
#ifndef ENGINE_TENSOR_DTYPE_H_
#define ENGINE_TENSOR_DTYPE_H_

#include <fmt/core.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/check.h"
#include "core/formatter.h"
#include "core/status.h"

namespace engine::tensor {

// The type of a tensor's elements. Values are stable: append, never renumber; they reach files and
// messages.
enum class DataType : std::uint8_t {
  kFloat32 = 0,   // IEEE 754 binary32
  kFloat16 = 1,   // IEEE 754 binary16
  kBFloat16 = 2,  // the upper half of a binary32
  kInt8 = 3,      // two's complement, as every signed integer here
  kUInt8 = 4,     // 0 to 255
  kInt32 = 5,     // 4 bytes
  kInt64 = 6,     // 8 bytes; the default of ops::arange
  kBool = 7,      // one byte; zero is false, anything else reads as true
  kFP8E4M3 = 8,   // reserved: representable, not allocatable
  kInt4 = 9,      // reserved; two elements a byte, the lower index in the low nibble
  kInt16 = 10,    // 2 bytes
  kUInt16 = 11,   // 2 bytes
  kUInt32 = 12,   // 4 bytes
  kUInt64 = 13,   // 8 bytes
  kFloat64 = 14,  // IEEE 754 binary64
};

// The size of tables that a DataType indexes. Grows when a dtype is appended.
inline constexpr std::size_t kNumDataTypes = 15;

// Every DataType in declaration order.
inline constexpr std::array<DataType, kNumDataTypes> kAllDataTypes = {
    DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16, DataType::kInt8,
    DataType::kUInt8,   DataType::kInt32,   DataType::kInt64,    DataType::kBool,
    DataType::kFP8E4M3, DataType::kInt4,    DataType::kInt16,    DataType::kUInt16,
    DataType::kUInt32,  DataType::kUInt64,  DataType::kFloat64,
};

namespace internal {

enum class DTypeKind : std::uint8_t { kFloating, kIntegral, kBoolean };

struct DTypeInfo {
  DataType dtype;
  std::string_view name;  // as HuggingFace's config.json spells it
  int bits;
  DTypeKind kind;
  bool reserved;
};

inline constexpr std::array<DTypeInfo, kNumDataTypes> kDTypeInfo = {{
    {DataType::kFloat32, "float32", 32, DTypeKind::kFloating, false},
    {DataType::kFloat16, "float16", 16, DTypeKind::kFloating, false},
    {DataType::kBFloat16, "bfloat16", 16, DTypeKind::kFloating, false},
    {DataType::kInt8, "int8", 8, DTypeKind::kIntegral, false},
    {DataType::kUInt8, "uint8", 8, DTypeKind::kIntegral, false},
    {DataType::kInt32, "int32", 32, DTypeKind::kIntegral, false},
    {DataType::kInt64, "int64", 64, DTypeKind::kIntegral, false},
    {DataType::kBool, "bool", 8, DTypeKind::kBoolean, false},
    {DataType::kFP8E4M3, "fp8_e4m3", 8, DTypeKind::kFloating, true},
    {DataType::kInt4, "int4", 4, DTypeKind::kIntegral, true},
    {DataType::kInt16, "int16", 16, DTypeKind::kIntegral, false},
    {DataType::kUInt16, "uint16", 16, DTypeKind::kIntegral, false},
    {DataType::kUInt32, "uint32", 32, DTypeKind::kIntegral, false},
    {DataType::kUInt64, "uint64", 64, DTypeKind::kIntegral, false},
    {DataType::kFloat64, "float64", 64, DTypeKind::kFloating, false},
}};

// The enum, kAllDataTypes and the table cannot drift apart: each stays dense, ordered and complete.
constexpr bool DTypeTablesAgree() {
  for (std::size_t i = 0; i < kNumDataTypes; ++i) {
    if (static_cast<std::size_t>(kAllDataTypes[i]) != i) return false;
    if (kDTypeInfo[i].dtype != kAllDataTypes[i]) return false;
  }
  return true;
}
static_assert(DTypeTablesAgree());
static_assert(static_cast<std::size_t>(DataType::kFloat64) + 1 == kNumDataTypes);

constexpr const DTypeInfo& InfoOf(DataType dtype) {
  ENGINE_CHECK(static_cast<std::size_t>(dtype) < kNumDataTypes, "{} is not a DataType",
               static_cast<int>(dtype));
  return kDTypeInfo[static_cast<std::size_t>(dtype)];
}

// For static_asserts on the tables of other modules: whether each dtype that tensors can have is the
// `dtype_of` of exactly one entry, and no reserved one is.
template <typename Table, typename DTypeOf>
constexpr bool ListsEachDTypeOnce(const Table& table, DTypeOf dtype_of) {
  for (const DTypeInfo& info : kDTypeInfo) {
    int found = 0;
    for (const auto& entry : table) found += dtype_of(entry) == info.dtype ? 1 : 0;
    if (found != (info.reserved ? 0 : 1)) return false;
  }
  return true;
}

}  // namespace internal

// Element width in bits, sub-byte dtypes included. CHECKs that `dtype` is an enumerator, as does
// every function below.
[[nodiscard]] constexpr int itemsize_bits(DataType dtype) { return internal::InfoOf(dtype).bits; }

// True for dtypes narrower than a byte (kInt4).
[[nodiscard]] constexpr bool is_sub_byte(DataType dtype) { return itemsize_bits(dtype) < 8; }

// Element width in bytes. CHECKs that the dtype is not sub-byte.
[[nodiscard]] constexpr int itemsize(DataType dtype) {
  ENGINE_CHECK(!is_sub_byte(dtype), "itemsize: {} is narrower than a byte; use itemsize_bits",
               internal::InfoOf(dtype).name);
  return itemsize_bits(dtype) / 8;
}

// True for the floating kinds, the reserved fp8_e4m3 included.
[[nodiscard]] constexpr bool is_floating_point(DataType dtype) {
  return internal::InfoOf(dtype).kind == internal::DTypeKind::kFloating;
}

// True for the integer kinds, the reserved int4 included; bool is neither floating nor integral.
[[nodiscard]] constexpr bool is_integral(DataType dtype) {
  return internal::InfoOf(dtype).kind == internal::DTypeKind::kIntegral;
}

// True for dtypes that have a name and a width but no storage yet: tensors of them cannot be made
// (Unimplemented).
[[nodiscard]] constexpr bool is_reserved(DataType dtype) {
  return internal::InfoOf(dtype).reserved;
}

// The name, e.g. "float16". Valid for the life of the process.
[[nodiscard]] inline std::string_view to_string(DataType dtype) {
  return internal::InfoOf(dtype).name;
}

// The dtype of that exact name.
//   Errors   InvalidArgument: unknown name.
[[nodiscard]] inline core::StatusOr<DataType> from_string(std::string_view name) {
  for (const internal::DTypeInfo& info : internal::kDTypeInfo) {
    if (info.name == name) return info.dtype;
  }
  return core::InvalidArgumentError("from_string: '{}' is not a dtype name", name);
}

// DTypeTraits<T>::value is the DataType whose elements are T. The primary template is undefined, so
// that an unmapped type is a compile error. half.h adds float16 and bfloat16.
template <typename T>
struct DTypeTraits;

namespace internal {
template <DataType kValue>
struct DTypeTraitsOf {
  static constexpr DataType value = kValue;
};
}  // namespace internal

template <>
struct DTypeTraits<float> : internal::DTypeTraitsOf<DataType::kFloat32> {};
template <>
struct DTypeTraits<double> : internal::DTypeTraitsOf<DataType::kFloat64> {};
template <>
struct DTypeTraits<std::int8_t> : internal::DTypeTraitsOf<DataType::kInt8> {};
template <>
struct DTypeTraits<std::uint8_t> : internal::DTypeTraitsOf<DataType::kUInt8> {};
template <>
struct DTypeTraits<std::int16_t> : internal::DTypeTraitsOf<DataType::kInt16> {};
template <>
struct DTypeTraits<std::uint16_t> : internal::DTypeTraitsOf<DataType::kUInt16> {};
template <>
struct DTypeTraits<std::int32_t> : internal::DTypeTraitsOf<DataType::kInt32> {};
template <>
struct DTypeTraits<std::uint32_t> : internal::DTypeTraitsOf<DataType::kUInt32> {};
template <>
struct DTypeTraits<std::int64_t> : internal::DTypeTraitsOf<DataType::kInt64> {};
template <>
struct DTypeTraits<std::uint64_t> : internal::DTypeTraitsOf<DataType::kUInt64> {};
template <>
struct DTypeTraits<bool> : internal::DTypeTraitsOf<DataType::kBool> {};

// The DataType whose elements are T, which must not be const. A compile error for other types.
template <typename T>
inline constexpr DataType dtype_of = DTypeTraits<T>::value;

// A C++ type that some DataType stores.
template <typename T>
concept MappedElement = requires {
  { DTypeTraits<T>::value } -> std::convertible_to<DataType>;
};

}  // namespace engine::tensor

// Prints the name; takes string format specs ("{:>10}").
template <>
struct fmt::formatter<engine::tensor::DataType> : engine::core::TextFormatter {
  template <typename FormatContext>
  auto format(engine::tensor::DataType dtype, FormatContext& context) const {
    return Write(engine::tensor::to_string(dtype), context);
  }
};

#endif  // ENGINE_TENSOR_DTYPE_H_
