#include "interop/internal/safetensors_text.h"

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
static_assert(tensor::internal::ListsEachDTypeOnce(kFormats,
                                                   [](const Format& f) { return f.dtype; }));

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

}  // namespace engine::safetensors::internal
