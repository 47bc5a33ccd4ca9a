#include "tensor/dtype.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/status.h"
#include "tensor/half.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::IsOk;
using ::engine::testing::StatusIs;

// What files and messages rely on, written out by hand.
struct Expected {
  DataType dtype;
  int value;
  std::string_view name;
  int bits;
  bool floating;
  bool integral;
  bool reserved;
};
constexpr Expected kExpected[] = {
    {DataType::kFloat32, 0, "float32", 32, true, false, false},
    {DataType::kFloat16, 1, "float16", 16, true, false, false},
    {DataType::kBFloat16, 2, "bfloat16", 16, true, false, false},
    {DataType::kInt8, 3, "int8", 8, false, true, false},
    {DataType::kUInt8, 4, "uint8", 8, false, true, false},
    {DataType::kInt32, 5, "int32", 32, false, true, false},
    {DataType::kInt64, 6, "int64", 64, false, true, false},
    {DataType::kBool, 7, "bool", 8, false, false, false},
    {DataType::kFP8E4M3, 8, "fp8_e4m3", 8, true, false, true},
    {DataType::kInt4, 9, "int4", 4, false, true, true},
    {DataType::kInt16, 10, "int16", 16, false, true, false},
    {DataType::kUInt16, 11, "uint16", 16, false, true, false},
    {DataType::kUInt32, 12, "uint32", 32, false, true, false},
    {DataType::kUInt64, 13, "uint64", 64, false, true, false},
    {DataType::kFloat64, 14, "float64", 64, true, false, false},
};

// The enum itself: stable numbers, one byte, complete and in declaration order.
TEST(DataTypeTest, NumericValuesAreStable) {
  static_assert(std::is_same_v<std::underlying_type_t<DataType>, std::uint8_t>);
  static_assert(kNumDataTypes == 15);
  ASSERT_EQ(std::size(kExpected), kAllDataTypes.size());
  for (std::size_t i = 0; i < kAllDataTypes.size(); ++i) {
    EXPECT_EQ(kAllDataTypes[i], kExpected[i].dtype) << i;
    EXPECT_EQ(static_cast<int>(kExpected[i].dtype), kExpected[i].value) << kExpected[i].name;
  }
}

TEST(DataTypeTest, Widths) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(itemsize_bits(expected.dtype), expected.bits);
    EXPECT_EQ(is_sub_byte(expected.dtype), expected.bits < 8);
    if (expected.bits % 8 == 0) {
      EXPECT_EQ(itemsize(expected.dtype), expected.bits / 8);
    }
  }
}

TEST(DataTypeTest, Kinds) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(is_floating_point(expected.dtype), expected.floating);
    EXPECT_EQ(is_integral(expected.dtype), expected.integral);
    EXPECT_EQ(is_reserved(expected.dtype), expected.reserved);
  }
}

TEST(DataTypeTest, NamesRoundTrip) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(to_string(expected.dtype), expected.name);
    const core::StatusOr<DataType> parsed = from_string(expected.name);
    ASSERT_THAT(parsed, IsOk());
    EXPECT_EQ(*parsed, expected.dtype);
  }
}

// Names come from files: anything but an exact name is an error that quotes it.
TEST(DataTypeTest, UnknownNamesAreInvalidArgument) {
  for (const std::string_view name :
       {"", " ", "float", "Float32", "FLOAT32", "float32 ", " float32", "float321", "float3", "F32",
        "f16", "half", "fp8", "int", "int128", "uint4", "complex64", "kFloat32", "torch.float32"}) {
    EXPECT_THAT(from_string(name), StatusIs(core::StatusCode::kInvalidArgument,
                                            ::testing::HasSubstr(fmt::format("'{}'", name))));
  }
  EXPECT_THAT(from_string(std::string_view("int8\0", 5)),
              StatusIs(core::StatusCode::kInvalidArgument));
}

TEST(DataTypeTest, FormatsAsItsNameAndTakesStringSpecs) {
  for (const Expected& expected : kExpected) {
    EXPECT_EQ(fmt::format("{}", expected.dtype), expected.name);
  }
  EXPECT_EQ(fmt::format("[{:>10}]", DataType::kBFloat16), "[  bfloat16]");
  EXPECT_EQ(fmt::format("[{:<6}]", DataType::kInt8), "[int8  ]");
  EXPECT_EQ(fmt::format("[{:*^8}]", DataType::kInt4), "[**int4**]");
  EXPECT_EQ(fmt::format("{:.5}", DataType::kFloat32), "float");
}

// Besides what <fmt/core.h> alone offers.
TEST(DataTypeTest, FormatsWithTheRestOfFmt) {
  EXPECT_EQ(fmt::to_string(DataType::kFloat32), "float32");
  EXPECT_EQ(fmt::format(FMT_COMPILE("{:>6}"), DataType::kInt8), "  int8");
  const std::vector<DataType> dtypes = {DataType::kFloat32, DataType::kInt8};
  EXPECT_EQ(fmt::format("{}", dtypes), "[float32, int8]");
  EXPECT_EQ(fmt::format("{}", fmt::join(dtypes, " ")), "float32 int8");
}

TEST(DataTypeTest, WorksInConstantExpressions) {
  static_assert(itemsize_bits(DataType::kInt4) == 4);
  static_assert(itemsize(DataType::kFloat64) == 8);
  static_assert(is_sub_byte(DataType::kInt4) && !is_sub_byte(DataType::kFP8E4M3));
  static_assert(is_floating_point(DataType::kFP8E4M3) && is_integral(DataType::kInt4));
  static_assert(is_reserved(DataType::kFP8E4M3) && !is_reserved(DataType::kBool));
  constexpr int kWidest = [] {
    int widest = 0;
    for (const DataType dtype : kAllDataTypes) widest = std::max(widest, itemsize_bits(dtype));
    return widest;
  }();
  static_assert(kWidest == 64);
}

// The compile-time map between C++ types and enumerators.
template <typename T, DataType kDType>
struct Mapping {
  using Type = T;
  static constexpr DataType value = kDType;
};

template <typename M>
class DTypeTraitsTest : public ::testing::Test {};
using Mappings = ::testing::Types<
    Mapping<float, DataType::kFloat32>, Mapping<float16, DataType::kFloat16>,
    Mapping<bfloat16, DataType::kBFloat16>, Mapping<std::int8_t, DataType::kInt8>,
    Mapping<std::uint8_t, DataType::kUInt8>, Mapping<std::int32_t, DataType::kInt32>,
    Mapping<std::int64_t, DataType::kInt64>, Mapping<bool, DataType::kBool>,
    Mapping<std::int16_t, DataType::kInt16>, Mapping<std::uint16_t, DataType::kUInt16>,
    Mapping<std::uint32_t, DataType::kUInt32>, Mapping<std::uint64_t, DataType::kUInt64>,
    Mapping<double, DataType::kFloat64>>;
TYPED_TEST_SUITE(DTypeTraitsTest, Mappings);

TYPED_TEST(DTypeTraitsTest, MapsTypeToDType) {
  using T = typename TypeParam::Type;
  static_assert(MappedElement<T>);
  static_assert(DTypeTraits<T>::value == TypeParam::value);
  static_assert(dtype_of<T> == TypeParam::value);
  static_assert(itemsize(dtype_of<T>) == sizeof(T));
  static_assert(is_floating_point(dtype_of<T>) == !std::numeric_limits<T>::is_integer);
  static_assert(!is_reserved(dtype_of<T>));
}

// All dtypes but the reserved ones have a C++ type, and no two share one.
TEST(DTypeTraitsCoverageTest, EveryUnreservedDTypeIsMappedOnce) {
  std::array<int, kNumDataTypes> mapped{};
  [&mapped]<typename... M>(std::type_identity<::testing::Types<M...>>) {
    (++mapped[static_cast<std::size_t>(M::value)], ...);
  }(std::type_identity<Mappings>{});
  for (const DataType dtype : kAllDataTypes) {
    EXPECT_EQ(mapped[static_cast<std::size_t>(dtype)], is_reserved(dtype) ? 0 : 1)
        << to_string(dtype);
  }
}

// Unmapped types do not compile where an element type is needed.
static_assert(!MappedElement<char>);
static_assert(!MappedElement<long double>);
static_assert(!MappedElement<void>);
static_assert(!MappedElement<float*>);
static_assert(!MappedElement<const float>);
static_assert(!MappedElement<float&>);
static_assert(!MappedElement<DataType>);
static_assert(!MappedElement<std::byte>);

// Programmer errors: a width in bytes of a narrower dtype, and values that are no enumerator.
class DataTypeDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(DataTypeDeathTest, ItemsizeOfSubByte) {
  EXPECT_DEATH(static_cast<void>(itemsize(DataType::kInt4)),
               "itemsize: int4 is narrower than a byte");
}

TEST_F(DataTypeDeathTest, ValuesOutsideTheEnum) {
  const auto next = static_cast<DataType>(kNumDataTypes);
  const auto last = static_cast<DataType>(255);
  EXPECT_DEATH(static_cast<void>(itemsize_bits(next)), "15 is not a DataType");
  EXPECT_DEATH(static_cast<void>(itemsize(next)), "15 is not a DataType");
  EXPECT_DEATH(static_cast<void>(is_sub_byte(last)), "255 is not a DataType");
  EXPECT_DEATH(static_cast<void>(is_floating_point(last)), "255 is not a DataType");
  EXPECT_DEATH(static_cast<void>(is_integral(last)), "255 is not a DataType");
  EXPECT_DEATH(static_cast<void>(is_reserved(next)), "15 is not a DataType");
  EXPECT_DEATH(static_cast<void>(to_string(next)), "15 is not a DataType");
  EXPECT_DEATH(static_cast<void>(fmt::format("{}", last)), "255 is not a DataType");
}

}  // namespace
}  // namespace engine::tensor
