// governed/tensor_descriptor.h: what a governed tensor is at one moment, for C callers.
// Layer 4. Header-only.
// Source: docs/design/governed.md, "Descriptor".
#ifndef ENGINE_GOVERNED_TENSOR_DESCRIPTOR_H_
#define ENGINE_GOVERNED_TENSOR_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace engine::governed {

// The address of an element is `data` + (offset + sum of coordinate * stride) * item size. In C:
//
//   struct TensorDescriptor {
//     const void* data;
//     int64_t rank, shape[8], strides[8], offset;
//     uint8_t is_contiguous, owns_storage, reserved[6];
//   };
//
// It keeps nothing alive. The address holds until the handle it was taken from is written through,
// materialized, assigned to, freed or destroyed; the flags until anybody else's handle changes.
struct TensorDescriptor {
  const void* data = nullptr;      // element 0 of the storage; null for an empty handle
  std::int64_t rank = 0;           // axes, at most 8
  std::int64_t shape[8] = {};      // entries from `rank` on are 0
  std::int64_t strides[8] = {};    // elements; entries from `rank` on are 0
  std::int64_t offset = 0;         // elements
  std::uint8_t is_contiguous = 0;  // B_layout: 0 or 1
  std::uint8_t owns_storage = 0;   // B_own: 0 or 1
  std::uint8_t reserved[6] = {};   // 0; no byte of the struct is left unset
};

static_assert(std::is_standard_layout_v<TensorDescriptor>);
static_assert(std::is_trivially_copyable_v<TensorDescriptor>);
static_assert(std::has_unique_object_representations_v<TensorDescriptor>);
static_assert(sizeof(void*) == 8);
static_assert(offsetof(TensorDescriptor, data) == 0);
static_assert(offsetof(TensorDescriptor, rank) == 8);
static_assert(offsetof(TensorDescriptor, shape) == 16);
static_assert(offsetof(TensorDescriptor, strides) == 80);
static_assert(offsetof(TensorDescriptor, offset) == 144);
static_assert(offsetof(TensorDescriptor, is_contiguous) == 152);
static_assert(offsetof(TensorDescriptor, owns_storage) == 153);
static_assert(offsetof(TensorDescriptor, reserved) == 154);
static_assert(sizeof(TensorDescriptor) == 160);
static_assert(alignof(TensorDescriptor) == 8);

}  // namespace engine::governed

#endif  // ENGINE_GOVERNED_TENSOR_DESCRIPTOR_H_
