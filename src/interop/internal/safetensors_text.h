// interop/internal/safetensors_text.h: the names of element formats.
#ifndef ENGINE_INTEROP_INTERNAL_SAFETENSORS_TEXT_H_
#define ENGINE_INTEROP_INTERNAL_SAFETENSORS_TEXT_H_

#include <optional>
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

}  // namespace engine::safetensors::internal

#endif  // ENGINE_INTEROP_INTERNAL_SAFETENSORS_TEXT_H_
