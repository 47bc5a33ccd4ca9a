#include "core/formatter.h"

#include <fmt/format.h>

namespace engine::core {

fmt::format_context::iterator TextFormatter::Write(std::string_view text,
                                                   fmt::format_context& context) const {
  return text_.format(fmt::string_view(text.data(), text.size()), context);
}

fmt::format_context::iterator FloatFormatter::Write(float value,
                                                    fmt::format_context& context) const {
  return float_.format(value, context);
}

}  // namespace engine::core
