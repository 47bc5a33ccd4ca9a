// memory/replacement_file.h: a file that appears under its name only when it is complete.
// Layer 2.
#ifndef ENGINE_MEMORY_REPLACEMENT_FILE_H_
#define ENGINE_MEMORY_REPLACEMENT_FILE_H_

#include <cstddef>
#include <string>

#include "core/status.h"
#include "memory/byte_sink.h"

namespace engine::memory {

// A new file beside `path` that takes its place in Commit, and is removed when that is not reached.
// Since `path` is never written to, it may be mapped meanwhile, also by what is being written.
//
//   ReplacementFile file("npy", path);
//   ENGINE_RETURN_IF_ERROR(file.Create());
//   ENGINE_RETURN_IF_ERROR(file.Append(bytes.data(), bytes.size()));
//   return file.Commit();
//
// A process that is killed leaves `.<format>-<pid>-<n>.tmp` behind, in the folder of `path`.
// Thread safety: none of its own; distinct objects are independent, also for one `path`.
class ReplacementFile final : public ByteSink {
 public:
  // `format` begins messages and names the temporary file. Both arguments must outlive this.
  ReplacementFile(const char* format, const std::string& path) : format_(format), path_(path) {}
  ReplacementFile(const char* format, const std::string&& path) = delete;
  ~ReplacementFile() override;

  // Makes the temporary file, with the permission bits (07777 but for set-user-ID, set-group-ID and
  // sticky) of the file it is to replace, or those of the umask. Its owner is the process's; access
  // lists and extended attributes are not carried over. A symbolic link at `path` is replaced
  // itself, and the bits are those of what it leads to. Call once, first.
  //   Errors   InvalidArgument: `path` contains a NUL, is too long, or is something other than a
  //            regular file. NotFound: no such folder, or `path` is empty. PermissionDenied,
  //            Internal: the file system's.
  //   Throws   std::bad_alloc; see core::WithoutBadAlloc. The other functions never do.
  [[nodiscard]] core::Status Create();

  // After an error, of this or another function, the file can only be destroyed: nothing incomplete
  // can be committed.
  //   Errors   Internal: the file system's (a full disk, say).
  [[nodiscard]] core::Status Append(const void* data, std::size_t size_bytes) override;

  // Makes the content durable (fsync) and closes the file; nothing can be appended any more. For
  // several files that replace others together: a disk that turns out to be full must show before
  // the first of them takes its place. A second call does nothing.
  //   Errors   the file system's.
  [[nodiscard]] core::Status Finish();

  // Finish, then rename to `path`: after a crash `path` is the old file or the whole new one, never
  // a name without data. Which of them, and in which order several files have taken their places, is
  // settled on the disk by SyncFolderOf only.
  //   Errors   the file system's; `path` is then what it was.
  [[nodiscard]] core::Status Commit();

 private:
  // The error of the system call that has just failed; the last one this file makes.
  [[nodiscard]] core::Status Failed(const char* call);
  [[nodiscard]] core::Status CheckNotFailed() const;

  const char* format_;
  const std::string& path_;
  std::string temporary_path_;
  int file_descriptor_ = -1;
  bool exists_ = false;
  bool failed_ = false;
};

// Makes durable which files the folder of `path` holds under which names: all renames into it so far
// outlive a crash of the machine. Where the folder cannot be read, or its file system has no such
// call, nothing is done. `format` begins messages.
//   Errors   the file system's.
//   Throws   std::bad_alloc.
[[nodiscard]] core::Status SyncFolderOf(const char* format, const std::string& path);

}  // namespace engine::memory

#endif  // ENGINE_MEMORY_REPLACEMENT_FILE_H_
