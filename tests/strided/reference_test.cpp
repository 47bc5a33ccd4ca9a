// The oracle against values known from elsewhere: public bug reports, the processor's own
// instructions, published limits.
#include "testing/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "tensor/dtype.h"
#include "testing/samples.h"

namespace engine::testing::reference {
namespace {

using enum tensor::DataType;

struct KnownConversion {
  DataType dst;
  DataType src;
  std::uint64_t bits;
  std::optional<std::uint64_t> expected;
};

constexpr std::optional<std::uint64_t> kRejected = std::nullopt;

TEST(ReferenceTest, AgreesWithKnownConversions) {
  constexpr KnownConversion kKnown[] = {
      // Rounding, carry, subnormals and overflow of float16.
      {kFloat16, kFloat32, 0x34200000, 0x0002},
      {kFloat16, kFloat32, 0x34200001, 0x0003},
      {kFloat16, kFloat32, 0x34600000, 0x0004},
      {kFloat16, kFloat32, 0x40001000, 0x4000},
      {kFloat16, kFloat32, 0x38000000, 0x0200},
      {kFloat16, kFloat32, 0x387FFFFF, 0x0400},
      {kFloat16, kFloat32, 0x33000000, 0x0000},
      {kFloat16, kFloat32, 0x33000001, 0x0001},
      {kFloat16, kFloat32, 0xB3000001, 0x8001},
      {kFloat16, kFloat32, 0xBFFFFFB5, 0xC000},
      {kFloat16, kFloat32, 0x477FEFFF, 0x7BFF},
      {kFloat16, kFloat32, 0x477FF000, 0x7C00},
      {kFloat16, kFloat32, 0xC77FF000, 0xFC00},
      // bfloat16.
      {kBFloat16, kFloat32, 0x7F7F7FFF, 0x7F7F},
      {kBFloat16, kFloat32, 0x7F7F8000, 0x7F80},
      {kBFloat16, kFloat32, 0x3E89CCD5, 0x3E8A},
      {kBFloat16, kFloat32, 0x00400000, 0x0040},
      {kBFloat16, kFloat32, 0x00018000, 0x0002},
      {kBFloat16, kFloat32, 0x80008001, 0x8001},
      {kBFloat16, kFloat32, 0x00008000, 0x0000},
      // NaN: quieted, payload cut.
      {kFloat16, kFloat32, 0x7F802000, 0x7E01},
      {kFloat16, kFloat32, 0x7F810000, 0x7E08},
      {kBFloat16, kFloat32, 0x7F802000, 0x7FC0},
      {kBFloat16, kFloat32, 0x7F810000, 0x7FC1},
      {kFloat64, kFloat32, 0xFF800001, 0xFFF8000020000000},
      {kFloat32, kFloat64, 0x7FF0000000000001, 0x7FC00000},
      // Double rounding.
      {kFloat16, kFloat64, 0x3FF0020000000001, 0x3C00},
      {kFloat32, kInt64, 0x7FFFFF4000000001, 0x5EFFFFFE},
      {kFloat32, kInt64, 0x358A09A000000002, 0x5E562826},
      {kBFloat16, kInt32, 33685505, 0x4C00},
      {kFloat64, kUInt64, 0xFFFFFFFFFFFFFFFF, 0x43F0000000000000},
      // Bounds of integers.
      {kInt32, kFloat32, 0x4F000000, kRejected},
      {kInt32, kFloat32, 0x4EFFFFFF, 2147483520},
      {kInt32, kFloat32, 0xCF000000, 0x80000000},
      {kInt32, kFloat32, 0xCF000001, kRejected},
      {kInt64, kFloat32, 0x5F000000, kRejected},
      {kInt64, kFloat32, 0x5EFFFFFF, 9223371487098961920},
      {kInt64, kFloat32, 0xDF000000, 0x8000000000000000},
      {kUInt8, kFloat32, 0xBF7FFFFF, 0},
      {kUInt8, kFloat32, 0xBF800000, kRejected},
      {kUInt8, kFloat32, 0x437FFFFE, 255},
      {kUInt8, kFloat32, 0x43800000, kRejected},
      {kInt8, kInt64, 0xFFFFFFFFFFFFFF7F, kRejected},
      {kInt8, kInt64, 0xFFFFFFFFFFFFFF80, 0x80},
      {kInt8, kUInt8, 128, kRejected},
      {kUInt8, kInt32, 0xFFFFFFFF, kRejected},
      {kUInt64, kFloat64, 0x43EFFFFFFFFFFFFF, 0xFFFFFFFFFFFFF800},
      {kInt32, kFloat32, 0x7FC00000, kRejected},
      {kInt32, kFloat32, 0xFF800000, kRejected},
  };
  for (const KnownConversion& known : kKnown) {
    EXPECT_EQ(ConvertBits(known.dst, known.src, known.bits), known.expected)
        << tensor::to_string(known.src) << " " << std::hex << known.bits << " to "
        << tensor::to_string(known.dst);
  }
}

// Widening and narrowing between float and double is what the processor does, too.
TEST(ReferenceTest, AgreesWithTheProcessorOnNumbers) {
  for (const std::uint64_t bits : SampleBits(kFloat64)) {
    const auto value = std::bit_cast<double>(bits);
    if (value != value) continue;
    ASSERT_EQ(ConvertBits(kFloat32, kFloat64, bits),
              std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  }
  for (const std::uint64_t bits : SampleBits(kFloat32)) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (value != value) continue;
    ASSERT_EQ(ConvertBits(kFloat64, kFloat32, bits),
              std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  }
  for (const std::uint64_t bits : SampleBits(kInt64)) {
    ASSERT_EQ(ConvertBits(kFloat64, kInt64, bits),
              std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(bits))));
    ASSERT_EQ(ConvertBits(kFloat64, kUInt64, bits),
              std::bit_cast<std::uint64_t>(static_cast<double>(bits)));
  }
}

TEST(ReferenceTest, WalksByLogicalIndex) {
  // A 2 x 3 source stored column by column, into every second element.
  const std::uint8_t src[] = {1, 4, 2, 5, 3, 6};
  std::uint16_t dst[12] = {};
  EXPECT_EQ(ConvertStrided({2, 3}, kUInt16, dst, {6, 2}, kUInt8, src, {1, 2}), std::nullopt);
  const std::uint16_t expected[12] = {1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0};
  EXPECT_TRUE(std::equal(dst, dst + 12, expected));
  const std::int8_t negative[] = {1, 4, 2, -5, 3, -6};
  EXPECT_EQ(ConvertStrided({2, 3}, kUInt16, dst, {6, 2}, kInt8, negative, {1, 2}), 4);
}

}  // namespace
}  // namespace engine::testing::reference
