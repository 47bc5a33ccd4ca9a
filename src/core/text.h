// core/text.h: text from untrusted files.
// Layer 0. Thread safety: all functions are reentrant.
#ifndef ENGINE_CORE_TEXT_H_
#define ENGINE_CORE_TEXT_H_

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace engine::core {

// The position of the first byte that is not part of well-formed UTF-8 (Unicode table 3-7: no
// overlong forms, no surrogates, nothing above U+10FFFF), or npos.
[[nodiscard]] std::size_t FindInvalidUtf8(std::string_view text);

// The position of the first character that a terminal would obey rather than show (controls, line
// separators, marks that reorder text), or npos. Of well-formed UTF-8.
[[nodiscard]] std::size_t FindControl(std::string_view text);

// How many bytes the character takes that `text` begins with, if it is one that FindControl finds;
// else 0. Of well-formed UTF-8.
[[nodiscard]] std::size_t ControlBytes(std::string_view text);

// `text` as a message may carry it, for fmt: bytes of characters that a terminal would obey rather
// than show as \xNN; all bytes above ASCII so, if any of them is malformed.
struct Escaped {
  std::string_view text;  // what is printed; not owned
};

// `text` in quotes as a message may carry it: shortened and escaped.
//   Throws   std::bad_alloc; see core::WithoutBadAlloc.
[[nodiscard]] std::string Quoted(std::string_view text);

}  // namespace engine::core

// Takes no format specs.
template <>
struct fmt::formatter<engine::core::Escaped> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::format_context::iterator format(engine::core::Escaped escaped,
                                       fmt::format_context& context) const;
};

#endif  // ENGINE_CORE_TEXT_H_
