// strided/internal/kernels.h: the vector kernels, by signature, and how one target's are chosen.
//
// Pointers have any alignment and the two sides are disjoint. Tables of offsets are in bytes; they
// let one kernel serve regular rows and rows that enumerate several axes. Prefetches reach only
// rows of the same job.
#ifndef ENGINE_STRIDED_INTERNAL_KERNELS_H_
#define ENGINE_STRIDED_INTERNAL_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "strided/internal/active_target.h"
#include "strided/internal/policy.h"
#include "tensor/dtype.h"

namespace engine::strided {

// Converts `rows` runs of `cols` elements: run r goes from src + src_offsets[r] to dst +
// dst_offsets[r]. False when an element was not representable; the destination's elements are then
// unspecified.
struct CastRowsJob {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* dst_offsets;
  const std::int64_t* src_offsets;
  std::int64_t rows;
  std::int64_t cols;
};
using CastRows = bool (*)(const CastRowsJob& job);

// `rows` runs of `row_bytes` bytes: run r goes from src + src_offsets[r] to dst + dst_offsets[r].
// In Regime::kMemory full lines bypass the caches; FenceStreams is the caller's.
struct RowsJob {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* dst_offsets;
  const std::int64_t* src_offsets;
  std::int64_t rows;
  std::int64_t row_bytes;
  Regime regime;
};
using CopyRows = void (*)(const RowsJob& job);

// `rows` rows of `cols` elements: element c of row r goes from src + src_offsets[r] + c * src_step
// to dst + dst_offsets[r] + c * dst_step; steps in elements, one of them 1. In Regime::kMemory full
// lines of a dense destination bypass the caches where there is a kernel for it. With `src_table`,
// element c comes from src + src_offsets[r] + src_table[c] instead, and dst_step is 1.
struct StridedRowsJob {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* dst_offsets;
  const std::int64_t* src_offsets;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t dst_step;
  std::int64_t src_step;
  Regime regime;
  const std::int64_t* src_table = nullptr;
};
using CopyStridedRows = void (*)(const StridedRowsJob& job);

// `count` pixels of 2, 3 or 4 channels, from planes to interleaved or back: channel k of pixel i is
// item i of the plane at k * plane_bytes on one side, item i * channels + k on the other.
struct InterleaveJob {
  std::byte* dst;
  const std::byte* src;
  std::int64_t plane_bytes;
  std::int64_t count;
  std::int64_t channels;
  bool to_planes;
};
using Interleave = void (*)(const InterleaveJob& job);

// A matrix of `rows` source rows of `cols` contiguous elements, written as `cols` destination rows
// of `rows` contiguous elements: element c of source row r goes from src + src_offsets[r] + c *
// item to dst + dst_offsets[c] + r * item.
struct TransposeJob {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* src_offsets;  // rows entries
  const std::int64_t* dst_offsets;  // cols entries
  std::int64_t rows;
  std::int64_t cols;
  bool full_lines;  // load whole source lines and split them, instead of 16-byte blocks
  bool stream;      // destination rows are 64-byte aligned: bypass the caches
  // With each tile, the source lines this far ahead along its rows are asked for, or this many rows
  // ahead; 0: none.
  std::int64_t prefetch_bytes;
  std::int64_t prefetch_rows;
};
using Transpose = void (*)(const TransposeJob& job);

// Orders stores that bypassed the caches before whatever the caller stores next.
void FenceStreams();

// Kernels for one target and item size, never null.
struct CopyKernels {
  CopyRows copy_rows = nullptr;
  CopyStridedRows copy_strided_rows = nullptr;
  Transpose transpose = nullptr;
  Interleave interleave = nullptr;
};

// item_bytes is 1, 2, 4 or 8.
[[nodiscard]] CopyKernels CopyKernelsFor(Target target, int item_bytes);
// Null when the pair does not convert.
[[nodiscard]] CastRows CastRowsFor(Target target, tensor::DataType src, tensor::DataType dst);

// What the two functions above put together, one per file of kernels.
[[nodiscard]] CopyRows CopyRowsFor(Target target);
[[nodiscard]] CopyStridedRows CopyStridedRowsFor(Target target, int item_bytes);
[[nodiscard]] Transpose TransposeFor(Target target, int item_bytes);
[[nodiscard]] Interleave InterleaveFor(Target target, int item_bytes);
[[nodiscard]] CastRows CastFromFloatsFor(Target target, tensor::DataType src, tensor::DataType dst);
[[nodiscard]] CastRows CastFromHalvesFor(Target target, tensor::DataType src, tensor::DataType dst);
[[nodiscard]] CastRows CastFromNarrowIntegersFor(Target target, tensor::DataType src,
                                                 tensor::DataType dst);
[[nodiscard]] CastRows CastFromWideIntegersFor(Target target, tensor::DataType src,
                                               tensor::DataType dst);
// The definition itself, element by element, for Target::kScalar.
[[nodiscard]] CopyKernels ScalarCopyKernels(int item_bytes);
[[nodiscard]] CastRows ScalarCastRows(tensor::DataType src, tensor::DataType dst);

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_INTERNAL_KERNELS_H_
