#include "strided/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "strided/dtype_visit.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "testing/reference.h"
#include "testing/samples.h"

namespace engine::strided {
namespace {

using tensor::DataType;

// What converting one element means, for every pair of castable dtypes, against integer arithmetic:
// all patterns of 8-bit and 16-bit sources, boundaries and random patterns of wider ones.

template <typename Src, typename Dst>
std::optional<std::uint64_t> ConvertWithLibrary(std::uint64_t bits) {
  std::array<std::byte, 8> element{};
  testing::reference::StoreBits(element.data(), bits, sizeof(Src));
  Dst out{};
  if (!ConvertElement(LoadElement<Src>(element.data()), out)) return std::nullopt;
  StoreElement(element.data(), out);
  return testing::reference::LoadBits(element.data(), sizeof(Dst));
}

class ConvertElementTest : public ::testing::TestWithParam<DataType> {};

TEST_P(ConvertElementTest, EqualsTheReferenceForEveryTarget) {
  const DataType src = GetParam();
  const std::vector<std::uint64_t> samples = testing::SampleBits(src);
  for (const DataType dst : testing::kCastableDTypes) {
    using Function = std::optional<std::uint64_t> (*)(std::uint64_t);
    const auto reject = [](DataType) -> Function { return nullptr; };
    const Function convert = VisitDType(
        src,
        [&](auto src_tag) {
          return VisitDType(
              dst,
              [](auto dst_tag) -> Function {
                using Src = typename decltype(src_tag)::type;
                using Dst = typename decltype(dst_tag)::type;
                if constexpr (CastElement<Src> && CastElement<Dst>) {
                  return ConvertWithLibrary<Src, Dst>;
                } else {
                  return nullptr;
                }
              },
              reject);
        },
        reject);
    ASSERT_NE(convert, nullptr);
    for (const std::uint64_t bits : samples) {
      ASSERT_EQ(convert(bits), testing::reference::ConvertBits(dst, src, bits))
          << tensor::to_string(src) << " " << std::hex << bits << " to " << tensor::to_string(dst);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, ConvertElementTest, ::testing::ValuesIn(testing::kCastableDTypes),
                         [](const auto& info) {
                           return std::string(tensor::to_string(info.param));
                         });

TEST(ConvertElementFailureTest, LeavesTheOutputUnchanged) {
  std::uint8_t out = 77;
  EXPECT_FALSE(ConvertElement(256.0f, out));
  EXPECT_FALSE(ConvertElement(std::int64_t{-1}, out));
  EXPECT_EQ(out, 77);
}

TEST(ConvertElementConstexprTest, IsUsableAtCompileTime) {
  constexpr auto kConverted = [] {
    tensor::float16 out = tensor::float16::from_bits(0);
    const bool ok = ConvertElement(65520.0, out);
    return std::pair(ok, out.to_bits());
  }();
  static_assert(kConverted.first && kConverted.second == 0x7C00);
}

// P23: a byte other than 0 and 1 is never loaded as a bool.
TEST(LoadElementTest, EveryNonzeroByteIsTrue) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    EXPECT_EQ(LoadElement<bool>(&value), byte != 0);
  }
}

TEST(LoadElementTest, AnyAddressWillDo) {
  const std::array<unsigned char, 9> bytes = {0xFF, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(LoadElement<std::uint64_t>(bytes.data() + 1), 0x0807060504030201u);
  std::array<unsigned char, 9> stored{};
  StoreElement(stored.data() + 1, std::uint32_t{0x04030201});
  EXPECT_EQ(stored, (std::array<unsigned char, 9>{0, 1, 2, 3, 4, 0, 0, 0, 0}));
}

TEST(QuietedTest, TouchesSignallingNanAlone) {
  for (const std::uint64_t bits : testing::SampleBits(DataType::kFloat32)) {
    const auto pattern = static_cast<std::uint32_t>(bits);
    const std::uint32_t magnitude = pattern & 0x7FFFFFFFu;
    const std::uint32_t expected = magnitude > 0x7F800000u ? pattern | 0x00400000u : pattern;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(Quieted(std::bit_cast<float>(pattern))), expected);
  }
  EXPECT_EQ(std::bit_cast<std::uint64_t>(Quieted(std::bit_cast<double>(0xFFF0000000000001u))),
            0xFFF8000000000001u);
  EXPECT_EQ(Quieted(-1.5), -1.5);
}

}  // namespace
}  // namespace engine::strided
