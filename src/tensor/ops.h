// tensor/ops.h: factories, fills, comparison, printing, copy and cast of CPU tensors.
// Layer 3. Free functions; none spawns a thread, keeps a reference or throws (but those that return
// a std::string, whose allocation may).
//
// Everywhere: an undefined handle is a CHECK. Operations that read or write elements take any
// strides and any address alignment. Elements of a bool tensor are read as byte != 0. A write into
// read-only storage is InvalidArgument. On an error nothing has been changed, except where a
// function says otherwise. Results do not depend on the floating-point mode (rounding, FTZ, DAZ)
// the host has set.
//
// Thread safety: concurrent calls are safe unless one writes elements that another touches.
// Source: docs/design/tensor.md, "Operations".
#ifndef ENGINE_TENSOR_OPS_H_
#define ENGINE_TENSOR_OPS_H_

#include <cstdint>
#include <string>

#include "core/status.h"
#include "memory/allocator.h"
#include "strided/copy_plan.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace engine::tensor::ops {

// --- Factories: fresh contiguous row-major tensors. Errors: Tensor::empty's, and those named. ---

// Every byte is 0, which is zero, or false, in every dtype.
[[nodiscard]] core::StatusOr<Tensor> zeros(Shape shape, DataType dtype,
                                           Device device = Device::Cpu(),
                                           memory::Allocator* allocator = nullptr);
// Every element is 1; true for bool.
[[nodiscard]] core::StatusOr<Tensor> ones(Shape shape, DataType dtype,
                                          Device device = Device::Cpu(),
                                          memory::Allocator* allocator = nullptr);

// Every element is `value`, converted as Scalar::StoreAs says.
//   Errors   InvalidArgument: the value is not representable (tested after allocation, so that a
//            reserved dtype is Unimplemented whatever the value).
[[nodiscard]] core::StatusOr<Tensor> full(Shape shape, Scalar value, DataType dtype,
                                          Device device = Device::Cpu(),
                                          memory::Allocator* allocator = nullptr);

// start, start + step, ... up to but without `end`; rank 1. Nothing to produce gives shape [0].
// Computed in int64_t, element i as start + i * step; floating dtypes narrow as cast does.
//   Errors   InvalidArgument: step 0; end - start or the element count overflows int64_t; an
//            element that the integer dtype cannot represent (bool takes 0 and 1).
[[nodiscard]] core::StatusOr<Tensor> arange(std::int64_t start, std::int64_t end,
                                            std::int64_t step = 1,
                                            DataType dtype = DataType::kInt64,
                                            Device device = Device::Cpu(),
                                            memory::Allocator* allocator = nullptr);

// --- Fills: write every element of an existing tensor. CHECK that it is on the cpu. ---

// Errors   InvalidArgument: read-only, or a value that is not representable.
[[nodiscard]] core::Status fill(const Tensor& tensor, Scalar value);

// Uniform in [low, high): u = (mt19937_64(seed)() >> 11) * 2^-53 per element in row-major order,
// then low + u * (high - low), narrowed as cast does (so that `high` itself can appear). The same
// bits on every platform.
//   Errors   InvalidArgument: read-only, not a floating dtype, low or high not finite, low > high,
//            or high - low overflows.
[[nodiscard]] core::Status fill_uniform(const Tensor& tensor, std::uint64_t seed, double low = 0,
                                        double high = 1);

// Normal, by the Box-Muller transform over the same generator: u1 then u2 give z0 =
// sqrt(-2 ln u1) cos(2 pi u2), then z1 with sin; u1 = 0 is replaced by 2^-53; an odd count discards
// the last z1. mean + stddev * z, narrowed as cast does. Deterministic per platform; across
// platforms up to the last bit of libm.
//   Errors   InvalidArgument: read-only, not a floating dtype, mean not finite, stddev negative or
//            not finite.
[[nodiscard]] core::Status fill_normal(const Tensor& tensor, std::uint64_t seed, double mean = 0,
                                       double stddev = 1);

// --- Comparison ---

// How far two elements may be apart: |a - b| <= atol + rtol * |b|.
struct AllCloseTolerance {
  double rtol = 0;  // relative to |b|
  double atol = 0;  // absolute
};

// What a comparison found.
struct AllCloseResult {
  bool close = true;                // no mismatch
  std::int64_t mismatch_count = 0;  // elements that are not close
  // The largest |a - b| over all elements that are not NaN; infinite when the difference is.
  double max_abs_diff = 0;
  // The mismatch with the largest difference, the first of equals; a NaN pair only when every
  // mismatch is one. Empty without a mismatch, and for rank 0.
  DimVector worst_index;
  double worst_a = 0;               // a there; 64-bit integers beyond 2^53 rounded
  double worst_b = 0;               // b there, likewise
  std::int64_t worst_element = -1;  // its row-major number; -1 without a mismatch
  std::int64_t numel = 0;           // how many elements were compared

  // A line for humans: the count, the largest difference, and where the worst mismatch is.
  [[nodiscard]] std::string Summary() const;
};

// float32 {1e-5, 1e-8}, float64 {1e-7, 1e-7}, float16 {1e-3, 1e-5}, bfloat16 {1.6e-2, 1e-5}, others
// {0, 0}. CHECKs that the dtype is not reserved.
[[nodiscard]] AllCloseTolerance default_allclose_tolerance(DataType dtype);

// Compares element by element: close when a == b, or when both are finite and |a - b| <= atol +
// rtol * |b| in double. Integers and bool compare exactly at any tolerance. NaN is never close; an
// infinity only to itself. The first form takes the dtype's default tolerance.
//   Errors   InvalidArgument: different shapes or dtypes, a negative or NaN tolerance.
//   CHECKs   both on the cpu.
[[nodiscard]] core::StatusOr<AllCloseResult> allclose(const Tensor& a, const Tensor& b);
[[nodiscard]] core::StatusOr<AllCloseResult> allclose(const Tensor& a, const Tensor& b,
                                                      AllCloseTolerance tolerance);

// --- Printing ---

// "Tensor(shape=[2, 3], dtype=float32, device=cpu)", a line break, then the elements as nested
// rows; "[]" without elements, "Tensor(undefined)" for an undefined handle. An axis longer than
// 2 * edge_items shows its first and last edge_items with "..." between; only what is shown is
// read. Floating values print in their shortest form that reads back exactly.
//   CHECKs   edge_items > 0; cpu.
[[nodiscard]] std::string to_string(const Tensor& tensor, int edge_items = 3);

// --- Copy and cast ---

// Copies the elements of `src` to `dst` by logical index; only the elements of `dst` are written.
// When both are the same view (buffer, offset, shape, and strides of axes longer than 1) it does
// nothing.
//   Errors   Unimplemented: a CUDA tensor. InvalidArgument: different shapes or dtypes, read-only
//            dst.
//   Aliasing otherwise the bytes of the two views must be disjoint; views of one buffer may
//            interleave.
[[nodiscard]] core::Status copy(const Tensor& dst, const Tensor& src);

// A fresh contiguous tensor of another dtype (of the same: a deep copy). Any pair of floating and
// integer dtypes:
//   to floating  through double (exact but for 64-bit integers beyond 2^53), then double ->
//                float -> half, each step to nearest even; out of range becomes infinity; a NaN
//                stays NaN, is quieted, and keeps the payload bits that fit.
//   to integer   truncates toward zero, then must be in range.
//   Errors   Unimplemented: a CUDA tensor or a reserved dtype (before the rest). InvalidArgument:
//            bool on either side; an element that is not representable: the first in row-major
//            order, its value and index are named. kOutOfMemory.
[[nodiscard]] core::StatusOr<Tensor> cast(const Tensor& src, DataType dtype,
                                          memory::Allocator* allocator = nullptr);

// As cast, into the elements of an existing tensor of the same shape. On an element that is not
// representable, dst's elements are unspecified; nothing outside the view has been written.
//   Errors   those of cast and copy.
//   Aliasing as copy; a dst that is the same view as src in the same dtype is left alone.
[[nodiscard]] core::Status cast_into(const Tensor& dst, const Tensor& src);

// The plans behind copy and cast_into, to run again and again on tensors of these layouts and
// dtypes, or to share out over the caller's threads (strided/copy_plan.h). A plan holds no
// addresses: run it with data() of each side, on tensors that are on the cpu, distinct, and kept
// alive meanwhile.
//   Errors   those of copy, and of cast_into, without the elements'.
[[nodiscard]] core::StatusOr<strided::CopyPlan> plan_copy(const Tensor& dst, const Tensor& src);
// The same for cast_into. RunUnits returns false for an element that is not representable;
// FirstOffender(src.data()) then has the error that cast_into would return.
[[nodiscard]] core::StatusOr<strided::CopyPlan> plan_cast(const Tensor& dst, const Tensor& src);

}  // namespace engine::tensor::ops

#endif  // ENGINE_TENSOR_OPS_H_
