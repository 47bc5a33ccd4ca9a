// interop/npy.h: reading and writing NumPy's .npy files.
// Layer 4.
//
//   ENGINE_ASSIGN_OR_RETURN(Tensor prompt, npy::Load("prompt.npy"));  // no copy
//   ENGINE_RETURN_IF_ERROR(npy::Save("logits.npy", logits));
//
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html; docs/design/npy.md
// for what is refused.
#ifndef ENGINE_INTEROP_NPY_H_
#define ENGINE_INTEROP_NPY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/status.h"
#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace engine::npy {

// The longest header text that is read: all that version 1.0 can say. A header that describes an
// array the library can hold takes some 300 bytes at most, padding aside.
inline constexpr std::size_t kMaxHeaderBytes = 65535;

// The versions differ in the width of the header's length (2 bytes, then 4) and in the encoding of
// field names, which only structured dtypes have.
enum class Version : std::uint8_t {
  k1_0 = 1,  // what NumPy writes for every array that this library can hold
  k2_0 = 2,  // for headers beyond 64 KiB
  k3_0 = 3,  // for field names that are not Latin-1
};

// One array as its header describes it.
struct Header {
  Version version = Version::k1_0;                      // of the file's layout
  tensor::DataType dtype = tensor::DataType::kFloat32;  // of the elements
  bool fortran_order = false;                           // the first axis varies fastest in the file
  tensor::Shape shape;    // the extents, in C's order whatever the file's
  std::size_t begin = 0;  // of the elements: bytes from the array's magic
  std::size_t end = 0;    // one past the last byte; another array may follow
};

// Reads the header at the front of `bytes` and checks that the elements are there. No heap but for
// the text of an error.
//   Errors   InvalidArgument: not the magic; an unknown version; a header longer than
//            kMaxHeaderBytes or than `bytes`; not a dictionary of exactly descr, fortran_order and
//            shape in Python's literal form; a rank above tensor::kMaxRank; a negative or
//            overflowing extent or product; fewer bytes than the elements take.
//            Unimplemented: a dtype the library does not have (big-endian, complex, text, dates,
//            Python objects, structures). kOutOfMemory.
[[nodiscard]] core::StatusOr<Header> ReadHeader(std::span<const std::byte> bytes);

// Maps the file and returns its (first) array over the mapping: read-only, no copy, elements
// untouched. An array in Fortran order is a strided view. The address may be misaligned for the
// dtype (Tensor::is_aligned tells; ops take it, data_ptr does not). As with every mapping, a file
// that is made shorter meanwhile raises SIGBUS when what is gone is touched; replace files by
// rename(2), as Save does.
//   Errors   those of memory::MappedFile::Open and of ReadHeader, with the path.
[[nodiscard]] core::StatusOr<tensor::Tensor> Load(const std::string& path);

// The same over bytes in memory, from `byte_offset` on: files may hold several arrays one after the
// other (ReadHeader's `end` leads to the next). The tensor shares and keeps `buffer` alive, and is
// read-only when that is.
//   Errors   those of ReadHeader; InvalidArgument: byte_offset beyond the buffer.
//   CHECKs   buffer is not null and on the cpu.
[[nodiscard]] core::StatusOr<tensor::Tensor> FromBuffer(std::shared_ptr<memory::Buffer> buffer,
                                                        std::size_t byte_offset = 0);

// Writes one array, byte for byte as numpy.save does. A tensor whose elements lie in Fortran order
// (a transposed matrix, say) is written so, from where it is; other strided ones are written in C
// order, 256 KiB at a time, without a temporary whole copy. bfloat16, which NumPy has not, is
// written as ml_dtypes writes it: '<V2'. The file appears under `path` only when it is complete.
//   Errors   InvalidArgument: an undefined tensor; a `path` that is a directory, a device, too long
//            or contains a NUL. Unimplemented: a CUDA tensor. NotFound, PermissionDenied, Internal:
//            the file system, with its message. kOutOfMemory. On any error `path` is what it was.
//   CHECKs   version is an enumerator.
[[nodiscard]] core::Status Save(const std::string& path, const tensor::Tensor& tensor,
                                Version version = Version::k1_0);

// The same bytes in memory.
//   Errors   as Save, without the file system's.
[[nodiscard]] core::StatusOr<memory::Buffer> Serialize(const tensor::Tensor& tensor,
                                                       Version version = Version::k1_0);

}  // namespace engine::npy

#endif  // ENGINE_INTEROP_NPY_H_
