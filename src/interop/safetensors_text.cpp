#include "interop/internal/safetensors_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/check.h"

namespace engine::safetensors::internal {
namespace {

using tensor::DataType;

constexpr std::array<Format, 22> kFormats = {{
    {"BOOL", 8, DataType::kBool},      {"U8", 8, DataType::kUInt8},
    {"I8", 8, DataType::kInt8},        {"U16", 16, DataType::kUInt16},
    {"I16", 16, DataType::kInt16},     {"U32", 32, DataType::kUInt32},
    {"I32", 32, DataType::kInt32},     {"U64", 64, DataType::kUInt64},
    {"I64", 64, DataType::kInt64},     {"F16", 16, DataType::kFloat16},
    {"BF16", 16, DataType::kBFloat16}, {"F32", 32, DataType::kFloat32},
    {"F64", 64, DataType::kFloat64},   {"F4", 4, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},      {"F6_E3M2", 6, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},      {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},      {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},  {"C64", 64, std::nullopt},
}};

// How much of a hostile name a message repeats.
constexpr std::size_t kMaxQuotedBytes = 80;

}  // namespace

const Format* FindFormat(std::string_view name) {
  const auto* const found = std::find_if(kFormats.begin(), kFormats.end(),
                                         [&](const Format& f) { return f.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

std::string_view FormatName(tensor::DataType dtype) {
  const auto* const found = std::find_if(kFormats.begin(), kFormats.end(),
                                         [&](const Format& f) { return f.dtype == dtype; });
  ENGINE_CHECK(found != kFormats.end(), "FormatName: {} is reserved", dtype);
  return found->name;
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

std::string Quoted(std::string_view text) {
  std::string_view shown = text.substr(0, kMaxQuotedBytes);
  // A character cut in half would be malformed; one has at most three bytes after its first.
  while (shown.size() < text.size() &&
         (static_cast<unsigned char>(text[shown.size()]) & 0xC0) == 0x80 &&
         shown.size() > kMaxQuotedBytes - 4) {
    shown.remove_suffix(1);
  }
  const bool well_formed = FindInvalidUtf8(shown) == std::string_view::npos;
  std::string quoted = "'";
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !well_formed)) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + (shown.size() < text.size() ? "...'" : "'");
}

}  // namespace engine::safetensors::internal
