// tensor/element_fill.h: one element everywhere, for memory that no Tensor owns.
// Layer 3. No allocation; thread-safe for distinct memory.
#ifndef ENGINE_TENSOR_ELEMENT_FILL_H_
#define ENGINE_TENSOR_ELEMENT_FILL_H_

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::tensor {

// Writes the `dtype` element at `element`, bit for bit, to every element of a strided layout whose
// first is at `data`; in the order of memory. What ops::fill and ops::full end in.
//   Pointers any alignment; data may be null when there are no elements.
//   Aliasing `element` lies outside of what is written.
//   CHECKs   the ranks of shape and strides agree.
void FillWithElement(const Shape& shape, const Strides& strides, DataType dtype, void* data,
                     const void* element);

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_ELEMENT_FILL_H_
