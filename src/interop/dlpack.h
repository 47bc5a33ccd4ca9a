// interop/dlpack.h: trading tensors with other libraries without copying, through DLPack.
// Layer 4.
//
//   ENGINE_ASSIGN_OR_RETURN(dlpack::VersionedHandle handle, dlpack::Export(tensor));
//   consumer_takes_over(handle.release());
//
//   ENGINE_ASSIGN_OR_RETURN(Tensor tensor, dlpack::Import(dlpack::VersionedHandle(from_producer)));
//
// Source: https://dmlc.github.io/dlpack/latest/ (C API and Python specification);
// docs/design/dlpack.md for what is refused.
#ifndef ENGINE_INTEROP_DLPACK_H_
#define ENGINE_INTEROP_DLPACK_H_

#include <memory>

#include "core/status.h"
#include "tensor/tensor.h"

// DLPack's own structures; interop/dlpack_abi.h, or DLPack's dlpack.h, has their fields.
extern "C" {
struct DLManagedTensor;
struct DLManagedTensorVersioned;
}

namespace engine::dlpack {

// Gives a managed tensor back to its producer: calls its deleter, where it has one.
struct Release {
  // `managed` is not null, and gone afterwards.
  void operator()(DLManagedTensor* managed) const noexcept;
  // The same of DLPack 1.x.
  void operator()(DLManagedTensorVersioned* managed) const noexcept;
};

// Ownership of what a producer lent. release() hands it on: to a capsule, or to a C function that
// takes over.
using VersionedHandle = std::unique_ptr<DLManagedTensorVersioned, Release>;
// The same of DLPack before version 1.0.
using UnversionedHandle = std::unique_ptr<DLManagedTensor, Release>;

// Lends `tensor` as DLPack 1.0, which any consumer of major version 1 takes. Shares the storage
// until the consumer calls the deleter, on whatever thread. `data` is the address of the first
// element, null without elements, byte_offset 0; strides are always given; a read-only tensor has
// DLPACK_FLAG_BITMASK_READ_ONLY.
//   Errors   Unimplemented: not on the cpu. InvalidArgument: undefined; elements at an address that
//            is not a multiple of the item size, which DLPack does not allow for (copy first).
//            kOutOfMemory.
[[nodiscard]] core::StatusOr<VersionedHandle> Export(const tensor::Tensor& tensor);

// The same for consumers from before version 1.0, which cannot be told that a tensor must not be
// written.
//   Errors   as Export; InvalidArgument: the tensor is read-only.
[[nodiscard]] core::StatusOr<UnversionedHandle> ExportUnversioned(const tensor::Tensor& tensor);

// Borrows what a producer lent: the same addresses, byte_offset added; read-only when it says so.
// The producer's deleter runs exactly once: when the last tensor over the storage dies, or before
// this returns an error. It runs on the thread that drops that tensor, and must not throw.
//   Errors   Unimplemented: a device other than the cpu; a dtype the library does not have, lanes
//            other than 1 included. InvalidArgument: a major version other than 1; a rank below 0 or
//            above tensor::kMaxRank, or without extents; a negative or overflowing extent or
//            product; stride 0 or negative on an axis of more than one element; null data with
//            elements; a window that wraps the address space. kOutOfMemory.
//   CHECKs   handle is not null.
//
// An address that is not a multiple of the item size is accepted (Tensor::is_aligned tells).
// Strides of axes with at most one element do not matter and are replaced.
[[nodiscard]] core::StatusOr<tensor::Tensor> Import(VersionedHandle handle);
// The same for producers from before version 1.0, which cannot say that a tensor is read-only.
[[nodiscard]] core::StatusOr<tensor::Tensor> Import(UnversionedHandle handle);

}  // namespace engine::dlpack

#endif  // ENGINE_INTEROP_DLPACK_H_
