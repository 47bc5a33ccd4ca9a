// interop/safetensors.h: reading and writing .safetensors files.
// Layer 4.
//
//   ENGINE_ASSIGN_OR_RETURN(safetensors::File file, safetensors::File::Open("model.safetensors"));
//   for (const safetensors::TensorInfo& info : file.tensors()) fmt::print("{}\n", info.name);
//   ENGINE_ASSIGN_OR_RETURN(Tensor weight, file.Get("encoder.layer.0.weight"));  // no copy
//
// Source: https://github.com/safetensors/safetensors (format, README "Format");
// docs/design/safetensors.md for what is refused.
#ifndef ENGINE_INTEROP_SAFETENSORS_H_
#define ENGINE_INTEROP_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "memory/mapped_file.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace engine::safetensors {

// The longest header that is read, as in the reference implementation.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

// One tensor as the header describes it.
struct TensorInfo {
  std::string name;                       // UTF-8, as in the file
  std::string dtype_name;                 // as the file spells it: "F32", "BF16", ...
  std::optional<tensor::DataType> dtype;  // none for formats the library has no dtype for
  std::vector<std::int64_t> dims;         // any rank; Get takes up to tensor::kMaxRank
  std::uint64_t begin = 0;                // bytes, from the start of the data section
  std::uint64_t end = 0;                  // bytes, one past the last
};

// Keys and values, both UTF-8.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// An opened file: its header, and the bytes that tensors share.
//
// Hostile files cannot crash it, make it read outside the bytes, or make it take more heap than 32
// times the header (plus 8 KiB for an error's text). The exception is a file that is made shorter
// while it is open: touching what is gone, in Open or through a tensor, raises SIGBUS, as with
// every mapping. CheckIntact() tells; replace files by rename(2), as Save does.
//
// A File of Open keeps its descriptor. Thread safety: const methods may run concurrently.
class File {
 public:
  // Maps the file and reads its header; no tensor data is touched.
  //   Errors   those of memory::MappedFile::Open and of FromBuffer, with the path.
  [[nodiscard]] static core::StatusOr<File> Open(const std::string& path);

  // The same over bytes that are already in memory. Tensors share and keep `buffer` alive.
  //   Errors   InvalidArgument: fewer than 8 bytes; a header longer than kMaxHeaderBytes or than
  //            the file; not UTF-8; not a JSON object of the format's form; a duplicate key; offsets
  //            out of range, overlapping or leaving a gap; bytes after the last tensor; a size that
  //            is not the product of shape and dtype; a product that overflows. kOutOfMemory.
  //   CHECKs   buffer is not null and on the cpu.
  [[nodiscard]] static core::StatusOr<File> FromBuffer(std::shared_ptr<memory::Buffer> buffer);

  // Moves only: a copy could run out of memory. A moved-from File may be assigned to or destroyed.
  File(File&&) noexcept = default;
  File& operator=(File&&) noexcept = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() = default;

  // In the order of their data. Valid as long as this File, as is all that the functions below
  // return by pointer or view.
  [[nodiscard]] std::span<const TensorInfo> tensors() const { return tensors_; }
  // Null when there is none of that name.
  [[nodiscard]] const TensorInfo* Find(std::string_view name) const;
  // The header's "__metadata__", sorted by key; empty when absent.
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  // The length of the header's JSON text with its padding. The data section begins at byte
  // 8 + header_bytes().
  [[nodiscard]] std::size_t header_bytes() const { return header_bytes_; }

  // The tensor, sharing the file's bytes: read-only when the file was mapped. Its address may be
  // misaligned for its dtype (Tensor::is_aligned tells; ops take it, data_ptr does not).
  //   Errors   NotFound: no such name. Unimplemented: a dtype the library does not have.
  //            InvalidArgument: rank above tensor::kMaxRank. kOutOfMemory.
  [[nodiscard]] core::StatusOr<tensor::Tensor> Get(std::string_view name) const;
  // The same for an entry of tensors(). Another's entry cannot reach outside the file's bytes.
  [[nodiscard]] core::StatusOr<tensor::Tensor> Get(const TensorInfo& info) const;

  // The same tensor where data_ptr takes it: Get's when that is aligned, else a fresh contiguous
  // copy from `allocator` (null: the default), which may be written and does not share the file.
  //   Errors   as Get; kOutOfMemory: the copy.
  //   CHECKs   a given allocator serves the cpu.
  [[nodiscard]] core::StatusOr<tensor::Tensor> GetAligned(
      std::string_view name, memory::Allocator* allocator = nullptr) const;
  [[nodiscard]] core::StatusOr<tensor::Tensor> GetAligned(
      const TensorInfo& info, memory::Allocator* allocator = nullptr) const;

  // Whether the file that Open mapped still has its size (memory::MappedFile::CheckIntact). OK for
  // bytes in memory.
  //   Errors   FailedPrecondition: it was truncated or extended.
  [[nodiscard]] core::Status CheckIntact() const;

 private:
  File() = default;

  std::shared_ptr<memory::Buffer> buffer_;
  std::optional<memory::MappedFile> mapped_;  // of Open
  std::size_t header_bytes_ = 0;              // the JSON text, padding included
  std::vector<TensorInfo> tensors_;           // by data offset
  std::vector<std::uint32_t> by_name_;        // positions in tensors_, sorted by name
  Metadata metadata_;
};

// A tensor to be written under a name.
struct NamedTensor {
  std::string name;       // UTF-8, unique in its file
  tensor::Tensor tensor;  // any strides and alignment, on the cpu
};

// Writes a file that the reference implementation reads. Tensors are laid out by descending item
// size, then by name; strided tensors are written in row-major order without a temporary whole
// copy. The file appears under `path` only when it is complete: it is written beside it and
// renamed.
//   Errors   InvalidArgument: an undefined tensor, two tensors of one name, a name "__metadata__",
//            text that is not UTF-8, a duplicate metadata key, a header longer than
//            kMaxHeaderBytes, a `path` that is a directory, a device, too long or contains
//            a NUL.
//            Unimplemented: a CUDA tensor. NotFound, PermissionDenied, Internal: the file system,
//            with its message. kOutOfMemory. On any error `path` is what it was before.
[[nodiscard]] core::Status Save(const std::string& path, std::span<const NamedTensor> tensors,
                                const Metadata& metadata = {});

// The same bytes in memory.
//   Errors   as Save, without the file system's.
[[nodiscard]] core::StatusOr<memory::Buffer> Serialize(std::span<const NamedTensor> tensors,
                                                       const Metadata& metadata = {});

}  // namespace engine::safetensors

#endif  // ENGINE_INTEROP_SAFETENSORS_H_
