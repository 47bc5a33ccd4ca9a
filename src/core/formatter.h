// core/formatter.h: bases of the fmt formatters of our types.
// Layer 0. What they need of <fmt/format.h>, which is slow to compile and leaves its templates in
// every object file, is compiled once, in this module; headers get by with <fmt/core.h>. (Until fmt
// 10. From fmt 11 on the one includes the other.)
//
//   template <>
//   struct fmt::formatter<Colour> : engine::core::TextFormatter {
//     template <typename FormatContext>
//     auto format(Colour colour, FormatContext& context) const {
//       return Write(NameOf(colour), context);
//     }
//   };
//
// Thread safety: as any formatter, one belongs to the call that formats.
#ifndef ENGINE_CORE_FORMATTER_H_
#define ENGINE_CORE_FORMATTER_H_

#include <fmt/core.h>

#include <string_view>

namespace engine::core {

// Of a type that prints as text; takes the format specs of strings ("{:>10}").
class TextFormatter {
 public:
  // Reads the specs, as fmt asks of a formatter; at compile time where fmt checks format strings.
  template <typename ParseContext>
  constexpr auto parse(ParseContext& context) {
    return text_.parse(context);
  }

 protected:
  // Appends `text` as the specs say, and returns the output's end.
  //   Throws   what fmt does: fmt::format_error of specs from arguments, std::bad_alloc.
  fmt::format_context::iterator Write(std::string_view text, fmt::format_context& context) const;
  // To the other outputs: of FMT_COMPILE and, in some releases, fmt::to_string. They are of headers
  // that include <fmt/format.h>.
  template <typename FormatContext>
  auto Write(std::string_view text, FormatContext& context) const {
    return text_.format(fmt::string_view(text.data(), text.size()), context);
  }

 private:
  fmt::formatter<fmt::string_view> text_;
};

// Of a type that prints as a float; takes the format specs of floats ("{:+.3e}").
class FloatFormatter {
 public:
  // As TextFormatter's.
  template <typename ParseContext>
  constexpr auto parse(ParseContext& context) {
    return float_.parse(context);
  }

 protected:
  // Appends `value` as the specs say; without any, in the shortest form that reads back exactly.
  //   Throws   as TextFormatter::Write.
  fmt::format_context::iterator Write(float value, fmt::format_context& context) const;
  template <typename FormatContext>
  auto Write(float value, FormatContext& context) const {
    return float_.format(value, context);
  }

 private:
  fmt::formatter<float> float_;
};

}  // namespace engine::core

#endif  // ENGINE_CORE_FORMATTER_H_
