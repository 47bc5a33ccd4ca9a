#include "interop/safetensors_sharded.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <utility>

#include "core/checked_math.h"
#include "core/no_throw.h"
#include "core/text.h"
#include "interop/internal/safetensors_index.h"
#include "interop/internal/safetensors_json.h"
#include "interop/internal/safetensors_writer.h"
#include "memory/mapped_file.h"
#include "memory/replacement_file.h"

namespace engine::safetensors {
namespace {

using core::Quoted;
using core::WithoutBadAlloc;
using internal::AppendJsonString;
using internal::Plan;

constexpr std::string_view kIndexEnding = ".safetensors.index.json";
// Names have five digits.
constexpr std::size_t kMaxShards = 99'999;

core::StatusOr<internal::Index> ReadIndex(const std::string& path) {
  ENGINE_ASSIGN_OR_RETURN(const memory::MappedFile mapped, memory::MappedFile::Open(path));
  const std::string_view text(static_cast<const char*>(mapped.buffer()->data()),
                              mapped.size_bytes());
  core::StatusOr<internal::Index> index = internal::ParseIndex(text);
  if (index.ok() || core::IsOutOfMemory(index.status())) return index;
  return core::InvalidArgumentError("'{}': {}", core::Escaped{path},
                                    std::string(index.status().message()));
}

core::Status NotFound(std::string_view name) {
  return WithoutBadAlloc([&]() -> core::Status {
    return core::NotFoundError("safetensors: the index has no tensor {}", Quoted(name));
  });
}

// --- Writing ---

// Consecutive tensors, so many that their data stays within the limit, one at least.
core::StatusOr<std::vector<std::span<const NamedTensor>>> DealOut(
    std::span<const NamedTensor> tensors, std::uint64_t max_shard_bytes) {
  std::vector<std::span<const NamedTensor>> shards;
  std::size_t begin = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t nbytes = tensors[i].tensor.nbytes();
    const std::uint64_t sum = core::SaturatingAdd(bytes, nbytes);
    if (i > begin && sum > max_shard_bytes) {
      shards.push_back(tensors.subspan(begin, i - begin));
      begin = i;
      bytes = nbytes;
    } else {
      bytes = sum;
    }
  }
  shards.push_back(tensors.subspan(begin));
  if (shards.size() > kMaxShards) {
    return core::InvalidArgumentError(
        "safetensors: {} files of {} bytes of data each, expected at most {}", shards.size(),
        max_shard_bytes, kMaxShards);
  }
  return shards;
}

std::string ShardName(std::string_view stem, std::size_t i, std::size_t count) {
  return fmt::format("{}-{:05}-of-{:05}.safetensors", stem, i + 1, count);
}

// As huggingface_hub writes it: indented by two, by name.
core::StatusOr<std::string> IndexText(std::span<const std::span<const NamedTensor>> shards,
                                      std::string_view stem) {
  std::vector<std::pair<std::string_view, std::size_t>> sorted;
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const NamedTensor& named : shards[i]) {
      sorted.emplace_back(named.name, i);
      total_bytes = core::SaturatingAdd<std::uint64_t>(total_bytes, named.tensor.nbytes());
    }
  }
  std::sort(sorted.begin(), sorted.end());
  std::string text = fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{", total_bytes);
  const char* separator = "\n    ";
  for (const auto& [name, shard] : sorted) {
    text += std::exchange(separator, ",\n    ");
    AppendJsonString(name, text);
    text += ": ";
    AppendJsonString(ShardName(stem, shard, shards.size()), text);
  }
  text += sorted.empty() ? "}\n}\n" : "\n  }\n}\n";
  if (text.size() > kMaxHeaderBytes) {
    return core::InvalidArgumentError("safetensors: the index takes {} bytes, expected at most {}",
                                      text.size(), kMaxHeaderBytes);
  }
  return text;
}

// Files that take their places together, in the order they were added.
class FileSet {
 public:
  // A file with this content under `path`, so far beside it. Durable and closed, so that what can
  // fail has, and any number of files is within the limit of descriptors.
  template <typename Write>
  core::Status Add(std::string path, Write write) {
    paths_.push_back(std::move(path));
    memory::ReplacementFile& file = files_.emplace_back("safetensors", paths_.back());
    ENGINE_RETURN_IF_ERROR(file.Create());
    ENGINE_RETURN_IF_ERROR(write(file));
    return file.Finish();
  }
  // The last one is to be new only where all others are, after a crash of the machine too. All are in
  // one folder.
  core::Status Commit() {
    for (memory::ReplacementFile& file : files_) {
      if (&file == &files_.back()) {
        ENGINE_RETURN_IF_ERROR(memory::SyncFolderOf("safetensors", paths_.back()));
      }
      ENGINE_RETURN_IF_ERROR(file.Commit());
    }
    return memory::SyncFolderOf("safetensors", paths_.back());
  }

 private:
  std::deque<std::string> paths_;  // where the files look for them
  std::deque<memory::ReplacementFile> files_;
};

}  // namespace

core::StatusOr<ShardedFile> ShardedFile::Open(const std::string& index_path) {
  return WithoutBadAlloc([&]() -> core::StatusOr<ShardedFile> {
    ENGINE_ASSIGN_OR_RETURN(internal::Index index, ReadIndex(index_path));
    ShardedFile sharded;
    sharded.total_size_ = index.total_size;
    const std::string folder = index_path.substr(0, index_path.rfind('/') + 1);
    for (std::string& name : index.shards) {
      ENGINE_ASSIGN_OR_RETURN(File file, File::Open(folder + name));
      sharded.shards_.push_back({std::move(name), std::move(file)});
    }
    sharded.tensors_ = std::move(index.tensors);
    for (const Entry& entry : sharded.tensors_) {
      const Shard& shard = sharded.shards_[entry.shard];
      if (shard.file.Find(entry.name) == nullptr) {
        return core::InvalidArgumentError("'{}': safetensors: tensor {} is not in {}",
                                          core::Escaped{index_path}, Quoted(entry.name),
                                          Quoted(shard.name));
      }
    }
    return sharded;
  });
}

const ShardedFile::Entry* ShardedFile::FindEntry(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

const TensorInfo* ShardedFile::Find(std::string_view name) const {
  const Entry* const entry = FindEntry(name);
  return entry == nullptr ? nullptr : shards_[entry->shard].file.Find(name);
}

core::StatusOr<tensor::Tensor> ShardedFile::Get(std::string_view name) const {
  const Entry* const entry = FindEntry(name);
  if (entry == nullptr) return NotFound(name);
  return shards_[entry->shard].file.Get(name);
}

core::StatusOr<tensor::Tensor> ShardedFile::GetAligned(std::string_view name,
                                                       memory::Allocator* allocator) const {
  const Entry* const entry = FindEntry(name);
  if (entry == nullptr) return NotFound(name);
  return shards_[entry->shard].file.GetAligned(name, allocator);
}

core::Status SaveSharded(const std::string& index_path, std::span<const NamedTensor> tensors,
                         std::uint64_t max_shard_bytes, const Metadata& metadata) {
  return WithoutBadAlloc([&]() -> core::Status {
    const std::size_t name_begin = index_path.rfind('/') + 1;
    std::string_view stem = std::string_view(index_path).substr(name_begin);
    if (!stem.ends_with(kIndexEnding) || stem.size() == kIndexEnding.size()) {
      return core::InvalidArgumentError("safetensors: {} does not end in a name and {}",
                                        Quoted(index_path), kIndexEnding);
    }
    stem.remove_suffix(kIndexEnding.size());
    // The index has to spell the names of the files, and Open to take them.
    if (core::FindInvalidUtf8(stem) != std::string_view::npos) {
      return core::InvalidArgumentError("safetensors: the name {} is not UTF-8", Quoted(stem));
    }
    const std::string first = ShardName(stem, 0, 1);  // as long as the others
    if (!internal::IsPlainName(first)) {
      return core::InvalidArgumentError(
          "safetensors: the name {} has a control character, or more than {} bytes", Quoted(first),
          internal::kMaxNameBytes);
    }
    if (max_shard_bytes == 0) {
      return core::InvalidArgumentError("safetensors: files of 0 bytes of data");
    }
    ENGINE_RETURN_IF_ERROR(internal::CheckTensors(tensors));
    ENGINE_ASSIGN_OR_RETURN(const auto shards, DealOut(tensors, max_shard_bytes));
    ENGINE_ASSIGN_OR_RETURN(const std::string index, IndexText(shards, stem));
    FileSet files;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      ENGINE_ASSIGN_OR_RETURN(const Plan plan, internal::MakePlan(shards[i], metadata));
      ENGINE_RETURN_IF_ERROR(
          files.Add(index_path.substr(0, name_begin) + ShardName(stem, i, shards.size()),
                    [&](memory::ByteSink& sink) { return internal::AppendAll(plan, sink); }));
    }
    ENGINE_RETURN_IF_ERROR(files.Add(index_path, [&](memory::ByteSink& sink) {
      return sink.Append(index.data(), index.size());
    }));
    return files.Commit();
  });
}

}  // namespace engine::safetensors
