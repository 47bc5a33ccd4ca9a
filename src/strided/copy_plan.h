// strided/copy_plan.h: a prepared copy or cast between two strided layouts.
// Layer 2. No allocation, no threads, no locks.
//
//   const CopyPlan plan = CopyPlan::Make(shape, DataType::kFloat16, dst_strides,
//                                        DataType::kFloat32, src_strides);
//   if (!plan.Run(dst, src)) return plan.FirstOffender(src);
//
// Source: docs/design/tensor.md, "Copy" and "Casts".
#ifndef ENGINE_STRIDED_COPY_PLAN_H_
#define ENGINE_STRIDED_COPY_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "strided/layout.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::strided {

// True when CopyPlan can be made for the pair: equal dtypes that are not reserved, or two different
// dtypes neither of which is bool or reserved.
[[nodiscard]] bool IsConvertible(tensor::DataType dst, tensor::DataType src);

// Element by element, by logical index: dst[i] = convert(src[i]). Equal dtypes copy bytes.
// Different dtypes convert as strided/convert.h defines, whatever floating-point mode the host has
// set.
//
// A plan holds layouts, not addresses, and may run any number of times, concurrently on distinct
// destinations. Its work splits into num_units() independent units, so that a caller's own thread
// pool can share it out; any partition gives the same bytes and the same verdict.
class CopyPlan {
 public:
  // Strides in elements.
  //   CHECKs   IsConvertible(dst_dtype, src_dtype); the ranks agree.
  [[nodiscard]] static CopyPlan Make(const tensor::Shape& shape, tensor::DataType dst_dtype,
                                     const tensor::Strides& dst_strides, tensor::DataType src_dtype,
                                     const tensor::Strides& src_strides);

  // How many units there are; 0 for an empty shape.
  [[nodiscard]] std::int64_t num_units() const { return num_units_; }

  // Runs units [begin, end). `dst` and `src` address the first logical element of each side.
  //   Returns  false when an element was not representable in an integer destination dtype; the
  //            destination's elements are then unspecified, and FirstOffender says which it was.
  //   Pointers any alignment; null only when the shape is empty.
  //   Aliasing the two sides disjoint, else undefined.
  //   Threads  safe for disjoint unit ranges of one destination.
  //   CHECKs   0 <= begin <= end <= num_units().
  [[nodiscard]] bool RunUnits(void* dst, const void* src, std::int64_t begin,
                              std::int64_t end) const;

  // Runs every unit.
  [[nodiscard]] bool Run(void* dst, const void* src) const {
    return RunUnits(dst, src, 0, num_units_);
  }

  // InvalidArgument naming the first element in logical (row-major) order that the destination
  // dtype cannot represent, its index and both dtypes; OK when there is none. Independent of how
  // the units were partitioned.
  [[nodiscard]] core::Status FirstOffender(const void* src) const;

 private:
  // Copies or converts `count` elements with the given element strides; false on the first element
  // that is not representable.
  using RowFunction = bool (*)(std::byte* dst, std::int64_t dst_stride, const std::byte* src,
                               std::int64_t src_stride, std::int64_t count);
  // The position within `count` source elements of the first that is not representable, or `count`.
  using FindFunction = std::int64_t (*)(const std::byte* src, std::int64_t src_stride,
                                        std::int64_t count);
  // Prints one source element into a message.
  using OffenderFunction = core::Status (*)(const std::byte* element, const CopyPlan& plan,
                                            std::int64_t logical_index);

  struct Kernels {
    RowFunction run = nullptr;
    FindFunction find = nullptr;          // null when every element is representable
    OffenderFunction offender = nullptr;  // null as above
    bool converts = false;                // floating-point results depend on the control word
  };
  friend struct KernelSelector;

  CopyPlan() = default;

  bool RunRows(void* dst, const void* src, std::int64_t begin, std::int64_t end) const;

  Layout layout_;
  Kernels kernels_;
  std::int64_t num_units_ = 0;
  tensor::Shape shape_;
  tensor::Strides src_strides_;
  tensor::DataType dst_dtype_ = tensor::DataType::kFloat32;
  tensor::DataType src_dtype_ = tensor::DataType::kFloat32;
  int dst_item_bytes_ = 4;
  int src_item_bytes_ = 4;
};

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_COPY_PLAN_H_
