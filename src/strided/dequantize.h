// strided/dequantize.h: float32 values of 8-bit quantised elements.
// Layer 2. No allocation, no threads, no locks.
// Source: docs/design/wire.md, "Dequantize".
#ifndef ENGINE_STRIDED_DEQUANTIZE_H_
#define ENGINE_STRIDED_DEQUANTIZE_H_

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::strided {

// One scale and zero point for a whole tensor.
struct Quantization {
  float scale = 0;              // the distance of two neighbouring quantised values
  std::int32_t zero_point = 0;  // the quantised value that stands for 0
};

// The definition; every kernel equals it bit for bit, and the scalar target runs it. Two roundings:
// the difference, which may need 33 bits, to the nearest float, then the product. Assumes the
// default floating-point mode.
[[nodiscard]] constexpr float DequantizeElement(std::int64_t q, Quantization quantization) {
  return static_cast<float>(q - quantization.zero_point) * quantization.scale;
}

// dst[i] = DequantizeElement(src[i]) for every logical index i, with `dst` contiguous float32 in
// row-major order. Independent of the host's floating-point mode and of the CPU. Takes 4 KiB of
// stack.
//   Shapes   strides of the source in elements, not negative; any overlap.
//   Pointers any alignment; null only when the shape is empty.
//   Aliasing disjoint, else undefined.
//   Threads  safe for distinct `dst`.
//   CHECKs   src_dtype is int8 or uint8; the scale is finite; one stride per axis.
void Dequantize(void* dst, const void* src, const tensor::Shape& shape,
                const tensor::Strides& src_strides, tensor::DataType src_dtype,
                Quantization quantization);

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_DEQUANTIZE_H_
