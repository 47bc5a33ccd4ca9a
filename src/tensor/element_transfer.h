// tensor/element_transfer.h: copies and conversions between memory that no Tensor owns.
// Layer 3. No allocation but for messages; thread-safe for distinct destinations.
#ifndef ENGINE_TENSOR_ELEMENT_TRANSFER_H_
#define ENGINE_TENSOR_ELEMENT_TRANSFER_H_

#include "core/status.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::tensor {

// Elements of a strided layout.
struct SourceElements {
  DataType dtype;    // of each element
  Strides strides;   // in elements, one per axis of the destination's shape
  const void* data;  // the first logical element
};

// Writes each element of `source`, converted to `dtype`, to the layout of `strides` whose first
// element is at `data`. What ops::copy, ops::cast and ops::cast_into end in. The same view on both
// sides is left alone.
//   Errors   InvalidArgument: an element that the integer `dtype` cannot represent, after which the
//            destination's elements are unspecified. None when the dtypes are equal.
//   Pointers, aliasing, CHECKs  as strided::CopyPlan::RunOnce.
[[nodiscard]] core::Status TransferElements(const Shape& shape, DataType dtype,
                                            const Strides& strides, void* data,
                                            const SourceElements& source);

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_ELEMENT_TRANSFER_H_
