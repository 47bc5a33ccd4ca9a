#include "core/text.h"

#include <fmt/core.h>

#include <array>

namespace engine::core {
namespace {

// How much of a hostile name a message repeats.
constexpr std::size_t kMaxQuotedBytes = 80;

struct CharacterRange {
  std::string_view first;
  std::string_view last;  // as long as `first`
};

// What acts on a terminal or on the text around it instead of being shown: C0 and C1 controls,
// DEL, line separators, and the property Bidi_Control (Unicode PropList.txt), which reorders text.
constexpr std::array<CharacterRange, 7> kControls = {{
    {std::string_view("\0", 1), "\x1F"},
    {"\x7F", "\x7F"},
    {"\xC2\x80", "\xC2\x9F"},          // U+0080 to U+009F
    {"\xD8\x9C", "\xD8\x9C"},          // U+061C
    {"\xE2\x80\x8E", "\xE2\x80\x8F"},  // U+200E, U+200F
    {"\xE2\x80\xA8", "\xE2\x80\xAE"},  // U+2028 to U+202E
    {"\xE2\x81\xA6", "\xE2\x81\xA9"},  // U+2066 to U+2069
}};

}  // namespace

std::size_t ControlBytes(std::string_view text) {
  for (const CharacterRange& range : kControls) {
    const std::string_view character = text.substr(0, range.first.size());
    if (range.first <= character && character <= range.last) return character.size();
  }
  return 0;
}

std::size_t FindInvalidUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    if (lead < 0xC2 || lead > 0xF4) return i;
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > text.size() - i) return i;
    // Only the second byte has a range that depends on the first.
    const auto second = static_cast<unsigned char>(text[i + 1]);
    const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high) return i;
    for (std::size_t k = 2; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

std::size_t FindControl(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (ControlBytes(text.substr(i)) > 0) return i;
  }
  return std::string_view::npos;
}

std::string Quoted(std::string_view text) {
  std::string_view shown = text.substr(0, kMaxQuotedBytes);
  // A character cut in half would be malformed; one has at most three bytes after its first.
  while (shown.size() < text.size() &&
         (static_cast<unsigned char>(text[shown.size()]) & 0xC0) == 0x80 &&
         shown.size() > kMaxQuotedBytes - 4) {
    shown.remove_suffix(1);
  }
  return fmt::format("'{}{}'", Escaped{shown}, shown.size() < text.size() ? "..." : "");
}

}  // namespace engine::core

fmt::format_context::iterator fmt::formatter<engine::core::Escaped>::format(
    engine::core::Escaped escaped, fmt::format_context& context) const {
  const std::string_view text = escaped.text;
  const bool well_formed = engine::core::FindInvalidUtf8(text) == std::string_view::npos;
  auto out = context.out();
  std::size_t remaining = 0;  // bytes to escape, of the character that one before began
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (remaining == 0) remaining = engine::core::ControlBytes(text.substr(i));
    if (remaining == 0 && byte >= 0x80 && !well_formed) remaining = 1;
    if (remaining == 0) {
      *out++ = text[i];
    } else {
      out = fmt::format_to(out, "\\x{:02x}", byte);
      --remaining;
    }
  }
  return out;
}
