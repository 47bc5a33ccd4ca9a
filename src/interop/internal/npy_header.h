// interop/internal/npy_header.h: the header text of .npy, read and written.
#ifndef ENGINE_INTEROP_INTERNAL_NPY_HEADER_H_
#define ENGINE_INTEROP_INTERNAL_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "interop/npy.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::npy::internal {

// 0x93 "NUMPY"; the two version bytes follow.
inline constexpr std::string_view kMagic = "\x93NUMPY";
inline constexpr std::size_t kVersionBytes = 2;

// The width of the header's length.
[[nodiscard]] constexpr std::size_t LengthBytes(Version version) {
  return version == Version::k1_0 ? 2 : 4;
}

// What the dictionary says.
struct Description {
  tensor::DataType dtype = tensor::DataType::kFloat32;
  bool fortran_order = false;
  tensor::Shape shape;
};

// Reads the dictionary.
//   Errors   those of ReadHeader that concern it.
//   Throws   std::bad_alloc for an error's text; see core::WithoutBadAlloc.
[[nodiscard]] core::StatusOr<Description> ParseDescription(std::string_view text, Version version);

// Everything before the elements: magic, version, length, dictionary and padding.
//   Throws   std::bad_alloc.
//   CHECKs   the dtype is not reserved; the version is an enumerator.
[[nodiscard]] std::string FormatPrefix(const Description& description, Version version);

}  // namespace engine::npy::internal

#endif  // ENGINE_INTEROP_INTERNAL_NPY_HEADER_H_
