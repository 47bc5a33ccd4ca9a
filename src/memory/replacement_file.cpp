#include "memory/replacement_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "core/errno_status.h"
#include "core/text.h"

namespace engine::memory {
namespace {

int SyncUninterrupted(int file_descriptor) {
  int result = 0;
  do {
    result = fsync(file_descriptor);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

ReplacementFile::~ReplacementFile() {
  if (file_descriptor_ >= 0) close(file_descriptor_);
  if (exists_) unlink(temporary_path_.c_str());
}

core::Status ReplacementFile::Failed(const char* call) {
  const int error = errno;
  failed_ = true;
  return core::ErrnoError(error, "{}: {} '{}', to become '{}'", format_, call, temporary_path_,
                          path_);
}

core::Status ReplacementFile::CheckNotFailed() const {
  if (!failed_) return core::OkStatus();
  return core::InternalError("{}: '{}' cannot become '{}' after an error", format_,
                             core::Escaped{temporary_path_}, core::Escaped{path_});
}

core::Status ReplacementFile::Create() {
  if (path_.find('\0') != std::string::npos) {
    return core::InvalidArgumentError("{}: the path contains a NUL byte", format_);
  }
  struct stat replaced = {};
  const bool replaces = stat(path_.c_str(), &replaced) == 0;
  // rename(2) would put a file in place of a device or socket.
  if (replaces && !S_ISREG(replaced.st_mode)) {
    return core::InvalidArgumentError("{}: '{}' is {}, expected a regular file", format_,
                                      core::Escaped{path_},
                                      S_ISDIR(replaced.st_mode) ? "a directory" : "a special file");
  }
  // The temporary name is short whatever this one is; rename(2) would refuse only after the data.
  if (!replaces && (errno == ENAMETOOLONG || path_.empty())) {
    return core::ErrnoError(errno, "{}: '{}'", format_, path_);
  }
  const std::string_view folder = std::string_view(path_).substr(0, path_.rfind('/') + 1);
  static std::atomic<std::uint64_t> counter{0};
  // A private checkpoint stays private, also while it is written.
  const mode_t mode = replaces ? replaced.st_mode & 0777 : 0666;
  do {
    // Unlike mkstemp(3), open(2) applies the caller's umask; O_EXCL finds leftovers of a namesake.
    temporary_path_ =
        fmt::format("{}.{}-{}-{}.tmp", folder, format_, getpid(), counter.fetch_add(1));
    file_descriptor_ =
        open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  } while (file_descriptor_ < 0 && (errno == EEXIST || errno == EINTR));
  if (file_descriptor_ < 0) return Failed("create");
  exists_ = true;
  // What the umask took away. Never set-user-ID and set-group-ID: the new file belongs to whoever
  // writes it.
  if (replaces && fchmod(file_descriptor_, mode) != 0) return Failed("fchmod");
  return core::OkStatus();
}

core::Status ReplacementFile::Append(const void* data, std::size_t size_bytes) {
  ENGINE_RETURN_IF_ERROR(CheckNotFailed());
  const auto* next = static_cast<const std::byte*>(data);
  while (size_bytes > 0) {
    const ssize_t written = write(file_descriptor_, next, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write");
    next += written;
    size_bytes -= static_cast<std::size_t>(written);
  }
  return core::OkStatus();
}

core::Status ReplacementFile::Finish() {
  ENGINE_RETURN_IF_ERROR(CheckNotFailed());
  if (file_descriptor_ < 0) return core::OkStatus();
  // Delayed allocation may find the disk full only now; and after a crash `path` must be the old
  // file or the whole new one, never a name without data.
  if (SyncUninterrupted(file_descriptor_) != 0) return Failed("fsync");
  // After EINTR the descriptor is gone, on Linux, and what is durable stays so.
  if (close(std::exchange(file_descriptor_, -1)) != 0 && errno != EINTR) return Failed("close");
  return core::OkStatus();
}

core::Status ReplacementFile::Commit() {
  ENGINE_RETURN_IF_ERROR(Finish());
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) return Failed("rename");
  exists_ = false;
  return core::OkStatus();
}

core::Status SyncFolderOf(const char* format, const std::string& path) {
  const std::size_t name_begin = path.rfind('/') + 1;
  const std::string folder = name_begin == 0 ? "." : path.substr(0, name_begin);
  int file_descriptor = -1;
  do {
    file_descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (file_descriptor < 0 && errno == EINTR);
  // A folder may be one to write into but not to read.
  if (file_descriptor < 0 && errno == EACCES) return core::OkStatus();
  if (file_descriptor < 0) return core::ErrnoError(errno, "{}: open '{}'", format, folder);
  const int error = SyncUninterrupted(file_descriptor) == 0 ? 0 : errno;
  close(file_descriptor);
  // What file systems answer that have no such thing.
  if (error == 0 || error == EINVAL || error == EBADF) return core::OkStatus();
  return core::ErrnoError(error, "{}: fsync of the folder '{}'", format, folder);
}

}  // namespace engine::memory
