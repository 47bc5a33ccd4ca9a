// memory/mapped_file.h: a file as read-only memory.
// Layer 2.
#ifndef ENGINE_MEMORY_MAPPED_FILE_H_
#define ENGINE_MEMORY_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "core/status.h"
#include "memory/buffer.h"

namespace engine::memory {

// A private read-only mapping of a whole regular file (mmap(2)). Opening reads nothing: pages come
// in when they are touched, and are shared with the page cache.
//
// The mapping belongs to the Buffer, whose deleter unmaps it; it may outlive the MappedFile.
//
// Changing the file while it is mapped is outside what a mapping can defend: changed bytes may
// show, and touching a page beyond a new, shorter end raises SIGBUS. CheckIntact() reports a size
// that has changed; replace files by rename(2), never in place.
//
// Thread safety: const methods may run concurrently.
class MappedFile {
 public:
  // Maps the file at `path` (bytes, as the kernel takes them; a NUL inside is an error).
  //   Errors   NotFound: no such file. PermissionDenied: not readable. InvalidArgument: a directory
  //            or anything else that is not a regular file, or a path that has a NUL or is too long
  //            for the kernel. kOutOfMemory: no address space or no memory for the handle.
  //            Internal: any other fault, with its errno text. Never throws.
  //
  // A file of size 0 (the files of /proc have it too) is not an error: its Buffer has zero bytes
  // and null data.
  [[nodiscard]] static core::StatusOr<MappedFile> Open(std::string path);

  // A moved-from MappedFile has no buffer and size 0; only buffer(), size_bytes(), assignment and
  // destruction remain.
  MappedFile(MappedFile&& other) noexcept;
  // Closes the present file; its mapping lives on while somebody holds the Buffer.
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  // Closes the file. The mapping goes when the last handle on its Buffer does.
  ~MappedFile();

  // The mapped bytes: read-only, page-aligned. Null only after a move.
  [[nodiscard]] const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  // The size of the file when it was opened.
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  // As it was given to Open.
  [[nodiscard]] const std::string& path() const { return path_; }

  // Compares the size of the file that is mapped with the size it had when it was opened.
  //   Errors   FailedPrecondition: it was truncated or extended, with both sizes.
  //   CHECKs   not moved from.
  [[nodiscard]] core::Status CheckIntact() const;

 private:
  MappedFile() = default;

  std::string path_;
  int file_descriptor_ = -1;  // kept so that CheckIntact sees this file, not a namesake
  std::size_t size_bytes_ = 0;
  std::shared_ptr<Buffer> buffer_;
};

}  // namespace engine::memory

#endif  // ENGINE_MEMORY_MAPPED_FILE_H_
