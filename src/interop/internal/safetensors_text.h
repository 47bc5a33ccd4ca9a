// interop/internal/safetensors_text.h: the names of element formats, and text from untrusted files.
#ifndef ENGINE_INTEROP_INTERNAL_SAFETENSORS_TEXT_H_
#define ENGINE_INTEROP_INTERNAL_SAFETENSORS_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace engine::safetensors::internal {

// An element format that the published reference knows.
struct Format {
  std::string_view name;  // as files spell it
  int bits;               // per element
  std::optional<tensor::DataType> dtype;
};

// Null for a name that no version of the reference has published.
[[nodiscard]] const Format* FindFormat(std::string_view name);
// The file's name of a dtype. CHECKs that the dtype is not reserved.
[[nodiscard]] std::string_view FormatName(tensor::DataType dtype);

// The position of the first byte that is not part of well-formed UTF-8 (Unicode table 3-7: no
// overlong forms, no surrogates, nothing above U+10FFFF), or npos.
[[nodiscard]] std::size_t FindInvalidUtf8(std::string_view text);

// `text` in quotes as a message may carry it: shortened; malformed bytes, and those of characters
// that a terminal would obey rather than show, as \xNN.
[[nodiscard]] std::string Quoted(std::string_view text);

}  // namespace engine::safetensors::internal

#endif  // ENGINE_INTEROP_INTERNAL_SAFETENSORS_TEXT_H_
