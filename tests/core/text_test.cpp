// Clause: names from files are checked and shown safely (docs/design/safetensors.md, "What is
// refused").
#include "core/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace engine::core {
namespace {

// The encoding of a code point by arithmetic, whatever its range.
std::string Encode(std::uint32_t code, int length) {
  if (length == 1) return std::string(1, static_cast<char>(code));
  std::string bytes;
  const std::uint32_t marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = length - 1; i >= 0; --i) {
    const std::uint32_t bits = code >> (6 * i);
    const bool lead = i == length - 1;
    bytes += static_cast<char>(lead ? (marks[length] | bits) : (0x80 | (bits & 0x3F)));
  }
  return bytes;
}

// Unicode table 3-7: every code point in every length of encoding. Well-formed is the shortest one
// of a scalar value, nothing else.
TEST(Utf8Test, EveryCodePointInEveryLength) {
  for (std::uint32_t code = 0; code < 0x200000; ++code) {
    const int shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const bool scalar_value = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    for (int length = shortest; length <= 4; ++length) {
      const bool well_formed = scalar_value && length == shortest;
      const std::string text = Encode(code, length);
      ASSERT_EQ(FindInvalidUtf8(text) == std::string_view::npos, well_formed)
          << code << " in " << length << " bytes";
    }
  }
}

TEST(Utf8Test, ReportsTheFirstByteOfWhatIsMalformed) {
  EXPECT_EQ(FindInvalidUtf8(""), std::string_view::npos);
  EXPECT_EQ(FindInvalidUtf8("ab\x80"), 2U);                // a continuation byte alone
  EXPECT_EQ(FindInvalidUtf8("\xC3\xA9\xE5\xB1"), 2U);      // cut short at the end
  EXPECT_EQ(FindInvalidUtf8("\xC3\xA9\xE5\xB1z"), 2U);     // cut short before ASCII
  EXPECT_EQ(FindInvalidUtf8("\xF0\x9F\x98\x80\xFF"), 4U);  // never a byte of UTF-8
}

TEST(QuotedTest, EscapesAndShortens) {
  EXPECT_EQ(Quoted(""), "''");
  EXPECT_EQ(Quoted("a.\xC3\xA9"), "'a.\xC3\xA9'");
  EXPECT_EQ(Quoted("a\n\x1B\x7F"), "'a\\x0a\\x1b\\x7f'");
  EXPECT_EQ(Quoted("a\xFF\xC3\xA9"), "'a\\xff\\xc3\\xa9'");
  EXPECT_EQ(Quoted(std::string(80, 'n')), "'" + std::string(80, 'n') + "'");
  EXPECT_EQ(Quoted(std::string(81, 'n')), "'" + std::string(80, 'n') + "...'");
  // A character that straddles the limit is left out whole.
  EXPECT_EQ(Quoted(std::string(78, 'n') + "\xF0\x9F\x98\x80"), "'" + std::string(78, 'n') + "...'");
}

// Controls that take more than one byte: C1, and what reorders or breaks lines. Every neighbour of
// theirs is shown.
TEST(QuotedTest, EscapesWhatATerminalWouldObey) {
  const auto acts = [](std::uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x61C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
  };
  for (std::uint32_t code = 0; code < 0x3000; ++code) {
    const std::string text = Encode(code, code < 0x80 ? 1 : code < 0x800 ? 2 : 3);
    std::string expected;
    for (const char byte : text) {
      constexpr char kDigits[] = "0123456789abcdef";
      const auto value = static_cast<unsigned char>(byte);
      expected += acts(code) ? std::string("\\x") + kDigits[value / 16] + kDigits[value % 16]
                             : std::string(1, byte);
    }
    ASSERT_EQ(Quoted("a" + text + "z"), "'a" + expected + "z'") << code;
    ASSERT_EQ(FindControl("a" + text + "z"), acts(code) ? 1U : std::string_view::npos) << code;
  }
}

}  // namespace
}  // namespace engine::core
