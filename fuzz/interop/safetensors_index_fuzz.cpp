// Bytes from anywhere, read as model.safetensors.index.json.
//
// Whatever they are, ParseIndex answers without touching anything outside them; what it accepts
// names files that are plain names, sorted and distinct, and tensors likewise.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/check.h"
#include "interop/internal/safetensors_index.h"

namespace engine::safetensors::internal {
namespace {

void Check(std::string_view text) {
  const core::StatusOr<Index> index = ParseIndex(text);
  if (!index.ok()) return;
  for (const std::string& file : index->shards) {
    ENGINE_CHECK(!file.empty() && file != "." && file != "..");
    for (const char c : file) ENGINE_CHECK(c != '/' && static_cast<unsigned char>(c) >= 0x20);
  }
  const auto unordered = [](const auto& a, const auto& b) { return a >= b; };
  ENGINE_CHECK(std::adjacent_find(index->shards.begin(), index->shards.end(), unordered) ==
               index->shards.end());
  for (std::size_t i = 0; i < index->tensors.size(); ++i) {
    ENGINE_CHECK(index->tensors[i].shard < index->shards.size());
    ENGINE_CHECK(i == 0 || index->tensors[i - 1].name < index->tensors[i].name);
  }
}

}  // namespace
}  // namespace engine::safetensors::internal

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // An allocation of exactly these bytes, so that the sanitizer sees its end.
  const auto exact = std::make_unique<char[]>(size);
  std::copy_n(bytes, size, exact.get());
  engine::safetensors::internal::Check(std::string_view(exact.get(), size));
  return 0;
}
