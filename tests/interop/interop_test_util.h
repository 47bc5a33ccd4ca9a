// Files in memory and on disk for the suites of the file formats.
#ifndef ENGINE_TESTS_INTEROP_INTEROP_TEST_UTIL_H_
#define ENGINE_TESTS_INTEROP_INTEROP_TEST_UTIL_H_

#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "memory/buffer.h"

namespace engine::interop_testing {

// A Buffer of exactly these bytes, in an allocation of its own so that sanitizers see its end.
// `alive` (optional) is true until the deleter has run.
inline std::shared_ptr<memory::Buffer> BufferOf(std::string_view bytes, bool* alive = nullptr) {
  char* const data = bytes.empty() ? nullptr : new char[bytes.size()];
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  if (alive != nullptr) *alive = true;
  return std::make_shared<memory::Buffer>(data, bytes.size(), tensor::Device::Cpu(),
                                          [alive](void* pointer) {
                                            delete[] static_cast<char*>(pointer);
                                            if (alive != nullptr) *alive = false;
                                          });
}

inline std::string_view BytesOf(const memory::Buffer& buffer) {
  return {static_cast<const char*>(buffer.data()), buffer.size_bytes()};
}

// A directory that disappears with what is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "engine_interop_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] std::string File(std::string_view name) const { return (path_ / name).string(); }
  // How many files there are: leftovers show.
  [[nodiscard]] std::ptrdiff_t Count() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  std::filesystem::path path_;
};

inline void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace engine::interop_testing

#endif  // ENGINE_TESTS_INTEROP_INTEROP_TEST_UTIL_H_
