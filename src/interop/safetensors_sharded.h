// interop/safetensors_sharded.h: checkpoints in several .safetensors files with an index.
// Layer 4.
//
//   ENGINE_ASSIGN_OR_RETURN(auto model, ShardedFile::Open("model.safetensors.index.json"));
//   ENGINE_ASSIGN_OR_RETURN(Tensor weight, model.Get("encoder.layer.0.weight"));  // no copy
//
// Source: https://huggingface.co/docs/huggingface_hub/package_reference/serialization (the index);
// docs/design/safetensors.md, "Sharded checkpoints".
#ifndef ENGINE_INTEROP_SAFETENSORS_SHARDED_H_
#define ENGINE_INTEROP_SAFETENSORS_SHARDED_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "interop/safetensors.h"
#include "memory/allocator.h"
#include "tensor/tensor.h"

namespace engine::safetensors {

// An opened checkpoint: the index, and every file that it names.
//
// What is said of File holds for each of them. The index is untrusted too: reading it takes at most
// 32 times its size in heap (plus 8 KiB), and it leads to no file outside its own folder but
// through symbolic links that are there.
//
// Thread safety: const methods may run concurrently.
class ShardedFile {
 public:
  // One of the files.
  struct Shard {
    std::string name;  // the file's, as the index spells it
    File file;         // opened
  };
  // One tensor of the index.
  struct Entry {
    std::string name;         // the tensor's
    std::uint32_t shard = 0;  // a position in shards()
  };

  // Reads the index and opens its files, which are beside it; no tensor data is touched.
  //   Errors   those of memory::MappedFile::Open and File::Open, with the path. InvalidArgument: an
  //            index longer than kMaxHeaderBytes; not UTF-8; not a JSON object with a "weight_map"
  //            of strings; a duplicate key; a file name that is empty, "." or "..", longer than 255
  //            bytes, or has a '/' or a control character; a tensor that its file does not hold.
  //            kOutOfMemory.
  [[nodiscard]] static core::StatusOr<ShardedFile> Open(const std::string& index_path);

  // Moves only, as File.
  ShardedFile(ShardedFile&&) noexcept = default;
  ShardedFile& operator=(ShardedFile&&) noexcept = default;
  ShardedFile(const ShardedFile&) = delete;
  ShardedFile& operator=(const ShardedFile&) = delete;
  ~ShardedFile() = default;

  // By name. Valid as long as this object, as is all that the functions below return by pointer,
  // reference or view.
  [[nodiscard]] std::span<const Shard> shards() const { return shards_; }
  // The tensors of the index, by name. A tensor that a file holds and the index does not name is
  // reachable through shards() only.
  [[nodiscard]] std::span<const Entry> tensors() const { return tensors_; }
  // Null when the index has none of that name.
  [[nodiscard]] const TensorInfo* Find(std::string_view name) const;
  // "total_size" of the index's metadata, as it stands there: writers disagree about what it
  // counts.
  [[nodiscard]] std::optional<std::uint64_t> total_size() const { return total_size_; }

  // As File's.
  //   Errors   NotFound: no such name. Else File's.
  [[nodiscard]] core::StatusOr<tensor::Tensor> Get(std::string_view name) const;
  // As File's; the same errors.
  [[nodiscard]] core::StatusOr<tensor::Tensor> GetAligned(
      std::string_view name, memory::Allocator* allocator = nullptr) const;

 private:
  ShardedFile() = default;
  [[nodiscard]] const Entry* FindEntry(std::string_view name) const;

  std::vector<Shard> shards_;
  std::vector<Entry> tensors_;
  std::optional<std::uint64_t> total_size_;
};

// Writes a checkpoint as files of at most `max_shard_bytes` of tensor data each, and the index at
// `index_path`, which must end in ".safetensors.index.json". The files are named after it:
// "model-00001-of-00003.safetensors". Tensors are dealt out in the given order; one that is larger
// than the limit has a file of its own. No tensor at all makes one file. `metadata` goes into every
// file.
//
// Every file is written whole beside its place before any takes it, the index last: on disk too,
// since the folder is synced before the index takes its place and after it. On an error before the
// renames, the checkpoint that was there is untouched; an error of the renames or the folder, or
// the end of the process or machine between them, can leave some files new. Files of an earlier
// checkpoint that the new index does not name stay.
//   Errors   those of Save; InvalidArgument: another ending; a name that ShardedFile::Open refuses
//            (not UTF-8, a control character, files' names of more than 255 bytes); max_shard_bytes
//            0; more than 99,999 files; an index longer than kMaxHeaderBytes.
[[nodiscard]] core::Status SaveSharded(const std::string& index_path,
                                       std::span<const NamedTensor> tensors,
                                       std::uint64_t max_shard_bytes,
                                       const Metadata& metadata = {});

}  // namespace engine::safetensors

#endif  // ENGINE_INTEROP_SAFETENSORS_SHARDED_H_
