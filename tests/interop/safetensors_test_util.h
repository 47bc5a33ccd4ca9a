// Files in memory for the safetensors suites.
#ifndef ENGINE_TESTS_INTEROP_SAFETENSORS_TEST_UTIL_H_
#define ENGINE_TESTS_INTEROP_SAFETENSORS_TEST_UTIL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "interop/safetensors.h"
#include "interop_test_util.h"

namespace engine::safetensors {

using interop_testing::BufferOf;
using interop_testing::BytesOf;
using interop_testing::ReadFile;
using interop_testing::TemporaryDirectory;
using interop_testing::WriteFile;

// The eight bytes that announce a header of that length.
inline std::string LengthPrefix(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((length >> (8 * i)) & 0xFF);
  return bytes;
}

// A whole file: length, header, data.
inline std::string FileBytes(std::string_view header, std::string_view data = "") {
  return LengthPrefix(header.size()).append(header).append(data);
}

inline core::StatusOr<File> OpenBytes(std::string_view bytes) {
  return File::FromBuffer(BufferOf(bytes));
}

}  // namespace engine::safetensors

#endif  // ENGINE_TESTS_INTEROP_SAFETENSORS_TEST_UTIL_H_
