// interop/internal/safetensors_header.h: parsing the header of .safetensors, and what the reader
// and the writer share.
#ifndef ENGINE_INTEROP_INTERNAL_SAFETENSORS_HEADER_H_
#define ENGINE_INTEROP_INTERNAL_SAFETENSORS_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "interop/safetensors.h"

namespace engine::safetensors::internal {

// The little-endian length that precedes the header text.
inline constexpr std::size_t kLengthBytes = 8;
inline constexpr std::string_view kMetadataKey = "__metadata__";

struct Header {
  std::vector<TensorInfo> tensors;  // by data offset
  Metadata metadata;                // by key
};

// Reads the header text and checks it against the size of the data section.
//   Errors   InvalidArgument: see File::FromBuffer.
//   Throws   std::bad_alloc; see core::WithoutBadAlloc.
[[nodiscard]] core::StatusOr<Header> ParseHeader(std::string_view text, std::uint64_t data_bytes);

}  // namespace engine::safetensors::internal

#endif  // ENGINE_INTEROP_INTERNAL_SAFETENSORS_HEADER_H_
