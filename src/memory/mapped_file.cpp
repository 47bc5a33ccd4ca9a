#include "memory/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "core/check.h"
#include "core/errno_status.h"
#include "core/text.h"

namespace engine::memory {
namespace {

int OpenForReading(const char* path) {
  // O_NONBLOCK, O_NOCTTY: opening a FIFO must not wait for a writer, nor a terminal become ours,
  // before their kind can be tested.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int file_descriptor = -1;
  do {
    file_descriptor = open(path, kFlags);
  } while (file_descriptor < 0 && errno == EINTR);  // network and FUSE file systems
  return file_descriptor;
}

core::StatusOr<Buffer> MapWholeFile(int file_descriptor, std::size_t size_bytes,
                                    const std::string& path) {
  void* data = nullptr;
  if (size_bytes > 0) {  // mmap refuses an empty range
    data = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file_descriptor, 0);
    if (data == MAP_FAILED) return core::ErrnoError(errno, "MappedFile: mmap '{}'", path);
  }
  // Small enough for std::function to hold without the heap.
  const auto unmap = [size_bytes](void* mapped) {
    if (mapped != nullptr) munmap(mapped, size_bytes);
  };
  return Buffer(data, size_bytes, tensor::Device::Cpu(), unmap, /*read_only=*/true);
}

}  // namespace

core::StatusOr<MappedFile> MappedFile::Open(std::string path) {
  if (path.find('\0') != std::string::npos) {
    return core::InvalidArgumentError("MappedFile: the path contains a NUL byte");
  }
  MappedFile file;  // closes the descriptor on every way out
  file.path_ = std::move(path);
  file.file_descriptor_ = OpenForReading(file.path_.c_str());
  if (file.file_descriptor_ < 0) {
    return core::ErrnoError(errno, "MappedFile: open '{}'", file.path_);
  }
  struct stat info = {};
  if (fstat(file.file_descriptor_, &info) != 0) {
    return core::ErrnoError(errno, "MappedFile: fstat '{}'", file.path_);
  }
  if (!S_ISREG(info.st_mode)) {
    return core::InvalidArgumentError("MappedFile: '{}' is {}, expected a regular file",
                                      core::Escaped{file.path_},
                                      S_ISDIR(info.st_mode) ? "a directory" : "a special file");
  }
  file.size_bytes_ = static_cast<std::size_t>(info.st_size);
  ENGINE_ASSIGN_OR_RETURN(Buffer mapping,
                          MapWholeFile(file.file_descriptor_, file.size_bytes_, file.path_));
  ENGINE_ASSIGN_OR_RETURN(file.buffer_, ShareBuffer(std::move(mapping)));
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_descriptor_(std::exchange(other.file_descriptor_, -1)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      buffer_(std::move(other.buffer_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  MappedFile incoming(std::move(other));
  path_.swap(incoming.path_);
  std::swap(file_descriptor_, incoming.file_descriptor_);
  std::swap(size_bytes_, incoming.size_bytes_);
  buffer_.swap(incoming.buffer_);
  return *this;
}

MappedFile::~MappedFile() {
  if (file_descriptor_ >= 0) close(file_descriptor_);
}

core::Status MappedFile::CheckIntact() const {
  ENGINE_CHECK(file_descriptor_ >= 0, "CheckIntact: this MappedFile was moved from");
  struct stat info = {};
  if (fstat(file_descriptor_, &info) != 0) {
    return core::ErrnoError(errno, "MappedFile: fstat '{}'", path_);
  }
  const auto size_now = static_cast<std::uint64_t>(info.st_size);
  if (size_now != size_bytes_) {
    return core::FailedPreconditionError(
        "MappedFile: '{}' had {} bytes when it was mapped and has {} now", core::Escaped{path_},
        size_bytes_, size_now);
  }
  return core::OkStatus();
}

}  // namespace engine::memory
