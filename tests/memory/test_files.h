// Files for the memory tests: in a folder that disappears with the test, or without a name.
#ifndef ENGINE_TESTS_MEMORY_TEST_FILES_H_
#define ENGINE_TESTS_MEMORY_TEST_FILES_H_

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/check.h"

namespace engine::memory {

class TempDirectory {
 public:
  TempDirectory() : path_(::testing::TempDir() + "engine_memory_XXXXXX") {
    ENGINE_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  [[nodiscard]] std::string Path(const std::string& name) const { return path_ + "/" + name; }

  // Creates or replaces a file; returns its path.
  std::string Write(const std::string& name, const std::string& content) const {
    std::string path = Path(name);
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << content;
    file.close();
    ENGINE_CHECK(file.good(), "cannot write {}", path);
    return path;
  }

 private:
  std::string path_;
};

// A file that lives in memory and has no name in any folder, so that a dying death test leaves
// nothing behind. Sparse, of any size.
class MemoryFile {
 public:
  explicit MemoryFile(std::int64_t size_bytes) : descriptor_(memfd_create("engine", MFD_CLOEXEC)) {
    ENGINE_CHECK(descriptor_ >= 0 && ftruncate(descriptor_, size_bytes) == 0);
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Bytes of which no two neighbouring pages are alike: byte i is (i + i / 251) mod 256.
inline std::string Pattern(std::size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  for (std::size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<char>(i + i / 251);
  return bytes;
}

inline std::size_t PageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// The process' open descriptors that lead to `path`.
inline std::vector<int> DescriptorsOf(const std::string& path) {
  std::vector<int> found;
  DIR* const folder = opendir("/proc/self/fd");
  ENGINE_CHECK(folder != nullptr);
  while (const dirent* const entry = readdir(folder)) {
    char target[4096];
    const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target));
    if (length > 0 && std::string(target, static_cast<std::size_t>(length)) == path) {
      found.push_back(std::atoi(entry->d_name));
    }
  }
  closedir(folder);
  return found;
}

// How many descriptors the process has open; compare two counts.
inline std::size_t OpenDescriptorCount() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// How many mappings of `path` the process has.
inline int MappingsOf(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  ENGINE_CHECK(maps.good());
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.ends_with(" " + path) ? 1 : 0;
  return count;
}

}  // namespace engine::memory

#endif  // ENGINE_TESTS_MEMORY_TEST_FILES_H_
