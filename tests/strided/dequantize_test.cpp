// Dequantisation: every kernel gives the bits of float(int64(q) - zero_point) * scale, two
// roundings to nearest even. Expected bits come from integer arithmetic: the difference as an exact
// integer, rounded to binary32, then the exact 48-bit product of two significands, rounded again.
#include "strided/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "strided/layout.h"
#include "testing/death_test_style.h"
#include "testing/fp_mode.h"
#include "testing/guarded_memory.h"
#include "testing/reference.h"

namespace engine::strided {
namespace {

using tensor::DataType;
using tensor::Shape;
using tensor::Strides;
using testing::reference::DecodeFloat;
using testing::reference::EncodeFloat;
using testing::reference::ExactValue;
using testing::reference::kBinary32;

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

// Around 0, where a difference stops being exact in a float, and where it leaves int32.
const std::vector<std::int32_t> kZeroPoints = {
    0,          1,          -128,       127,        255,        8388607,    -8388609,   16777215,
    16777216,   16777217,   -16777217,  33554433,   -33554433,  1073741823, kMin,       kMin + 1,
    kMin + 127, kMin + 255, kMin + 256, kMin + 257, kMax - 256, kMax - 128, kMax - 127, kMax};

// Ordinary, inexact, negative, the smallest and largest of normal and subnormal.
const std::vector<std::uint32_t> kScaleBits = {0x3F800000, 0x3CC08312, 0xBDCCCCCD, 0x00000001,
                                               0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x3F7FFFFF,
                                               0x4B800001, 0x80000001, 0x00000000, 0x33800001};

std::uint32_t ExpectedBits(std::int64_t q, std::int32_t zero_point, std::uint32_t scale_bits) {
  const std::int64_t difference = q - zero_point;
  ExactValue integer;
  integer.negative = difference < 0;
  integer.significand = static_cast<std::uint64_t>(difference < 0 ? -difference : difference);
  const ExactValue a = DecodeFloat(kBinary32, EncodeFloat(kBinary32, integer));
  const ExactValue b = DecodeFloat(kBinary32, scale_bits);
  ExactValue product;
  product.negative = a.negative != b.negative;
  product.significand = a.significand * b.significand;  // 24 bits each
  product.exponent = a.exponent + b.exponent;
  return static_cast<std::uint32_t>(EncodeFloat(kBinary32, product));
}

std::int64_t ValueOf(std::byte element, DataType dtype) {
  return dtype == DataType::kInt8 ? std::int64_t{static_cast<std::int8_t>(element)}
                                  : std::int64_t{static_cast<std::uint8_t>(element)};
}

Quantization Of(std::uint32_t scale_bits, std::int32_t zero_point) {
  return {std::bit_cast<float>(scale_bits), zero_point};
}

std::vector<std::byte> AllBytes() {
  std::vector<std::byte> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

std::uint32_t BitsAt(const std::byte* dst, std::int64_t i) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, dst + 4 * i, 4);
  return bits;
}

// The reference itself, at values worked out by hand.
TEST(DequantizeTest, KnownValues) {
  EXPECT_EQ(ExpectedBits(3, 1, 0x3F000000), 0x3F800000u);          // 2 * 0.5
  EXPECT_EQ(ExpectedBits(-128, -128, 0xBF800000), 0x80000000u);    // +0 * -1
  EXPECT_EQ(ExpectedBits(1, -16777216, 0x3F800000), 0x4B800000u);  // 2^24 + 1: tie to even
  EXPECT_EQ(ExpectedBits(3, -16777216, 0x3F800000), 0x4B800002u);  // 2^24 + 3: up to even
  EXPECT_EQ(ExpectedBits(255, kMin, 0x3F800000), 0x4F000001u);     // 2^31 + 255 -> + 256
  EXPECT_EQ(ExpectedBits(-128, kMax, 0x3F800000), 0xCF000000u);    // -(2^31 + 127): halfway below
  EXPECT_EQ(ExpectedBits(2, 0, 0x7F7FFFFF), 0x7F800000u);          // overflows
  EXPECT_EQ(ExpectedBits(3, 0, 0x00000001), 0x00000003u);          // stays subnormal
}

// Every element, at every zero point and scale.
TEST(DequantizeTest, EveryElement) {
  const std::vector<std::byte> src = AllBytes();
  std::vector<std::byte> dst(1024);
  for (const DataType dtype : {DataType::kInt8, DataType::kUInt8}) {
    for (const std::int32_t zero_point : kZeroPoints) {
      for (const std::uint32_t scale : kScaleBits) {
        Dequantize(dst.data(), src.data(), Shape{256}, Strides{1}, dtype, Of(scale, zero_point));
        for (std::int64_t i = 0; i < 256; ++i) {
          ASSERT_EQ(
              BitsAt(dst.data(), i),
              ExpectedBits(ValueOf(src[static_cast<std::size_t>(i)], dtype), zero_point, scale))
              << "element " << i << ", zero point " << zero_point << ", scale bits " << scale;
        }
      }
    }
  }
}

// Every count around the vector widths, misaligned on both sides, between inaccessible pages.
TEST(DequantizeTest, EveryCountAtBothEndsOfMemory) {
  testing::GuardedMemory src(300);
  testing::GuardedMemory dst(1200);
  for (std::int64_t count = 0; count <= 150; ++count) {
    for (const bool at_end : {false, true}) {
      std::byte* const from = at_end ? src.end() - count : src.begin() + count % 3;
      std::byte* const to = at_end ? dst.end() - 4 * count : dst.begin() + count % 4;
      for (std::int64_t i = 0; i < count; ++i) from[i] = static_cast<std::byte>(37 * i + count);
      Dequantize(to, from, Shape{count}, Strides{1}, DataType::kInt8, Of(0x3CC08312, -5));
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(BitsAt(to, i), ExpectedBits(ValueOf(from[i], DataType::kInt8), -5, 0x3CC08312))
            << count << " " << i;
      }
    }
  }
}

// Sources with steps, gaps, permuted axes and rows of every length against the packing's size.
TEST(DequantizeTest, StridedSources) {
  struct Case {
    Shape shape;
    Strides strides;
  };
  const Case cases[] = {{Shape{}, Strides{}},
                        {Shape{1}, Strides{9}},
                        {Shape{5}, Strides{3}},
                        {Shape{3, 300}, Strides{301, 1}},
                        {Shape{3, 255}, Strides{301, 1}},
                        {Shape{40, 300}, Strides{1, 40}},
                        {Shape{2, 3, 4, 5}, Strides{1, 2, 6, 24}},
                        {Shape{9000}, Strides{2}},
                        {Shape{7, 1, 700}, Strides{1400, 5, 2}},
                        {Shape{3, 4096}, Strides{1, 3}},
                        {Shape{2, 3, 260}, Strides{3 * 4200, 4200, 1}},
                        {Shape{4, 4}, Strides{1, 1}},
                        {Shape{2, 0, 3}, Strides{5, 5, 5}}};
  std::vector<std::byte> src(30000);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(i * 151 + i / 256);
  for (const Case& c : cases) {
    const auto numel = static_cast<std::size_t>(c.shape.numel());
    std::vector<std::byte> dst(4 * numel + 8, std::byte{0xEE});
    Dequantize(dst.data(), src.data(), c.shape, c.strides, DataType::kUInt8, Of(0x3F9D70A4, 77));
    std::int64_t logical = 0;
    testing::reference::ForEachCoordinates(c.shape, [&](const tensor::DimVector& coordinates) {
      const auto at =
          static_cast<std::size_t>(testing::reference::OffsetAt(coordinates, c.strides));
      EXPECT_EQ(BitsAt(dst.data(), logical++),
                ExpectedBits(ValueOf(src[at], DataType::kUInt8), 77, 0x3F9D70A4));
    });
    for (std::size_t i = 4 * numel; i < dst.size(); ++i) EXPECT_EQ(dst[i], std::byte{0xEE});
  }
}

TEST(DequantizeTest, TheHostsFloatingPointModeDoesNotMatter) {
  const std::vector<std::byte> src = AllBytes();
  std::vector<std::byte> dst(1024);
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    for (const std::int32_t zero_point : {0, 16777217, kMin, kMax}) {
      for (const std::uint32_t scale : kScaleBits) {
        std::uint64_t after = 0;
        {
          const testing::ScopedFpControl host(mode.control);
          Dequantize(dst.data(), src.data(), Shape{256}, Strides{1}, DataType::kInt8,
                     Of(scale, zero_point));
          after = testing::ReadFpControl();
        }
        ASSERT_EQ(after, mode.control);
        for (std::int64_t i = 0; i < 256; ++i) {
          ASSERT_EQ(BitsAt(dst.data(), i),
                    ExpectedBits(ValueOf(src[static_cast<std::size_t>(i)], DataType::kInt8),
                                 zero_point, scale))
              << mode.name << ", element " << i << ", scale bits " << scale;
        }
      }
    }
  }
}

class DequantizeDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(DequantizeDeathTest, OtherDTypesAndScales) {
  float dst = 0;
  const std::int16_t src = 0;
  EXPECT_DEATH(Dequantize(&dst, &src, Shape{1}, Strides{1}, DataType::kInt16, {1, 0}),
               "dtype int16, expected int8 or uint8");
  EXPECT_DEATH(Dequantize(&dst, &src, Shape{1}, Strides{1}, DataType::kInt8, Of(0x7F800000, 0)),
               "scale inf, expected finite");
  EXPECT_DEATH(Dequantize(&dst, &src, Shape{1}, Strides{1}, DataType::kInt8, Of(0x7FC00000, 0)),
               "scale nan, expected finite");
  EXPECT_DEATH(Dequantize(&dst, &src, Shape{1}, Strides{}, DataType::kInt8, {1, 0}),
               "rank 1 with 0 strides");
}

}  // namespace
}  // namespace engine::strided
