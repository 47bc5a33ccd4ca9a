// interop/internal/safetensors_index.h: parsing model.safetensors.index.json.
#ifndef ENGINE_INTEROP_INTERNAL_SAFETENSORS_INDEX_H_
#define ENGINE_INTEROP_INTERNAL_SAFETENSORS_INDEX_H_

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

// Reads the index text.
//   Errors   InvalidArgument: see ShardedFile::Open.
//   Throws   std::bad_alloc; see core::WithoutBadAlloc.
[[nodiscard]] core::StatusOr<Index> ParseIndex(std::string_view text);

}  // namespace engine::safetensors::internal

#endif  // ENGINE_INTEROP_INTERNAL_SAFETENSORS_INDEX_H_
