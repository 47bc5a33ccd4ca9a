// tensor/internal/uninitialized.h: what debug builds do to storage without values.
#ifndef ENGINE_TENSOR_INTERNAL_UNINITIALIZED_H_
#define ENGINE_TENSOR_INTERNAL_UNINITIALIZED_H_

#include <cstddef>

#include "tensor/dtype.h"

namespace engine::tensor::internal {

// Makes a read of fresh storage show, where the option ENGINE_FILL_UNINITIALIZED_SNAN is on:
// elements of a floating dtype become signalling NaNs, and whatever the dtype, valgrind and
// MemorySanitizer learn that the bytes have no value yet. Otherwise nothing is written.
void MarkUninitialized(void* data, std::size_t size_bytes, DataType dtype);

}  // namespace engine::tensor::internal

#endif  // ENGINE_TENSOR_INTERNAL_UNINITIALIZED_H_
