#include "interop/internal/safetensors_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace engine::safetensors::internal {

std::optional<Piece> JsonPool::CloseObject() {
  const auto first = keys_.begin() + first_key_.back();
  std::sort(first, keys_.end(), [&](Piece a, Piece b) { return TextOf(a) < TextOf(b); });
  const auto twice = std::adjacent_find(first, keys_.end(),
                                        [&](Piece a, Piece b) { return TextOf(a) == TextOf(b); });
  if (twice != keys_.end()) return *twice;
  keys_.erase(first, keys_.end());
  first_key_.pop_back();
  return std::nullopt;
}

core::Status CheckJsonText(const char* what, std::string_view text) {
  if (!text.starts_with('{')) {
    return core::InvalidArgumentError("{} does not begin with '{{'", what);
  }
  const std::size_t invalid = core::FindInvalidUtf8(text);
  if (invalid != std::string_view::npos) {
    return core::InvalidArgumentError("{} is not UTF-8 at byte {}", what, invalid);
  }
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;  // an escaped quote does not end the string
    } else if (c == '"') {
      in_string = !in_string;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      const bool whitespace = c == '\n' || c == '\r' || c == '\t';
      if (in_string || !whitespace) {
        return core::InvalidArgumentError("{} is not JSON: control character 0x{:02x} at byte {}",
                                          what, static_cast<unsigned>(c), i);
      }
    }
  }
  return core::OkStatus();
}

std::string_view ParserMessage(std::string_view what) {
  // nlohmann's prefix is "[json.exception.…] ".
  what = what.substr(std::min(what.find("] ") + 2, what.size()));
  return what.substr(0, std::min(what.find("; last read"), what.find(" parsing '")));
}

void AppendJsonString(std::string_view text, std::string& out) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    const std::size_t escape = kEscaped.find(c);
    if (escape != std::string_view::npos) {
      out += {'\\', kLetters[escape]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace engine::safetensors::internal
