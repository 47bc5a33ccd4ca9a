// interop/dlpack_abi.h: the structures of DLPack 1.x, for programs that exchange them.
// Layer 4. Plain C structures; the names and layout are DLPack's own.
//
// interop/dlpack.h needs this header for nothing but their fields: include it where a program looks
// into the structures and has no dlpack.h of DLPack itself. That one, included before, takes
// precedence; do not include it afterwards.
//
// Source: https://dmlc.github.io/dlpack/latest/c_api.html, written from the published layout.
#ifndef ENGINE_INTEROP_DLPACK_ABI_H_
#define ENGINE_INTEROP_DLPACK_ABI_H_

#ifndef DLPACK_DLPACK_H_  // the include guard of DLPack's header

#include <cstddef>
#include <cstdint>

extern "C" {

// The version a producer writes. A reader of the same major version understands the layout.
struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

// Where the data is. Only those are named that something here, the tests included, tells apart; the
// type is as wide as any value a producer may write.
enum DLDeviceType : std::int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
};

struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};

enum DLDataTypeCode : std::uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
};

struct DLDataType {
  std::uint8_t code;  // a DLDataTypeCode
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // elements; null: contiguous, row-major
  std::uint64_t byte_offset;
};

// Before version 1.0.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

// From version 1.0 on. Whatever the version, version, manager_ctx and deleter stay where they are.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

#endif  // DLPACK_DLPACK_H_

#endif  // ENGINE_INTEROP_DLPACK_ABI_H_
