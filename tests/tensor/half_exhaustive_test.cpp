// All 2^32 float patterns through both half types; labelled exhaustive.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tensor/half.h"
#include "testing/half_reference.h"

namespace engine::tensor {
namespace {

using ::engine::testing::HalfReference;
using ::engine::testing::HalfReferenceFor;

// The top four bits of the patterns: sixteen pieces per type, which ctest can run side by side.
constexpr int kPieces = 16;

struct Piece {
  DataType dtype;
  int index;
};
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << fmt::format("{}_{:x}", piece.dtype, piece.index);
}

// Narrows 2^28 consecutive patterns. Their values rise (in magnitude) with the pattern, so the
// expected result is a pointer into the table of midpoints that only moves up.
template <typename T>
void ExpectPieceMatches(std::uint32_t first) {
  const HalfReference& reference = HalfReferenceFor<T>();
  const std::uint16_t infinity = reference.infinity();
  const std::uint32_t last = first | 0x0FFFFFFFu;
  const std::uint32_t sign = first & 0x80000000u;
  std::uint16_t expected = reference.Narrow(first - sign);
  std::int64_t mismatches = 0;
  std::string first_mismatch;
  for (std::uint64_t i = first; i <= last; ++i) {
    const auto bits = static_cast<std::uint32_t>(i);
    const float value = std::bit_cast<float>(bits - sign);
    if (bits - sign > 0x7F800000u) {
      expected = reference.Narrow(bits - sign);
    } else {
      while (expected < infinity &&
             (value > reference.Midpoint(expected) ||
              (value == reference.Midpoint(expected) && expected % 2 != 0))) {
        ++expected;
      }
    }
    const std::uint16_t actual = T(std::bit_cast<float>(bits)).to_bits();
    if (actual == (expected | sign >> 16)) continue;
    if (mismatches++ == 0) {
      first_mismatch =
          fmt::format("{:08X} -> {:04X}, expected {:04X}", bits, actual, expected | sign >> 16);
    }
  }
  EXPECT_EQ(mismatches, 0) << first_mismatch;
}

class HalfExhaustiveTest : public ::testing::TestWithParam<Piece> {};

// Narrowing equals the reference on every binary32 pattern, NaNs included.
TEST_P(HalfExhaustiveTest, NarrowsEveryFloat) {
  const std::uint32_t first = static_cast<std::uint32_t>(GetParam().index) << 28;
  if (GetParam().dtype == DataType::kFloat16) {
    ExpectPieceMatches<float16>(first);
  } else {
    ExpectPieceMatches<bfloat16>(first);
  }
}

std::vector<Piece> AllPieces() {
  std::vector<Piece> pieces;
  for (const DataType dtype : {DataType::kFloat16, DataType::kBFloat16}) {
    for (int index = 0; index < kPieces; ++index) pieces.push_back({dtype, index});
  }
  return pieces;
}

INSTANTIATE_TEST_SUITE_P(AllFloats, HalfExhaustiveTest, ::testing::ValuesIn(AllPieces()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace engine::tensor
