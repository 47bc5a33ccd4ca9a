// interop/internal/safetensors_index.h: parsing model.safetensors.index.json.
#ifndef ENGINE_INTEROP_INTERNAL_SAFETENSORS_INDEX_H_
#define ENGINE_INTEROP_INTERNAL_SAFETENSORS_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "interop/safetensors_sharded.h"

namespace engine::safetensors::internal {

struct Index {
  std::vector<std::string> shards;          // file names, sorted
  std::vector<ShardedFile::Entry> tensors;  // by name
  std::optional<std::uint64_t> total_size;
};

// Of file systems (NAME_MAX): what is longer cannot be there, and would be long in messages.
inline constexpr std::size_t kMaxNameBytes = 255;

// A name, not a path: the index must not lead out of its folder. Without controls, since messages of
// the file system repeat it as it is.
[[nodiscard]] bool IsPlainName(std::string_view name);

// Reads the index text.
//   Errors   InvalidArgument: see ShardedFile::Open.
//   Throws   std::bad_alloc; see core::WithoutBadAlloc.
[[nodiscard]] core::StatusOr<Index> ParseIndex(std::string_view text);

}  // namespace engine::safetensors::internal

#endif  // ENGINE_INTEROP_INTERNAL_SAFETENSORS_INDEX_H_
