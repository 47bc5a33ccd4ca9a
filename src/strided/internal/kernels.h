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
// dst_offsets[r]. With `stream`, full lines bypass the caches; FenceStreams is the caller's. False
// when an element was not representable; the destination's elements are then unspecified.
struct CastRowsJob {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* dst_offsets;
  const std::int64_t* src_offsets;
  std::int64_t rows;
  std::int64_t cols;
  bool stream = false;
};
using CastRows = bool (*)(const CastRowsJob& job);

// The table of a job that is one row.
inline constexpr std::int64_t kNoOffset = 0;

// `rows` runs of `row_bytes` bytes: run r goes from src + src_offsets[r] to dst + dst_offsets[r]; or,
// where the tables are null, from src + r * src_step to dst + r * dst_step (bytes).
// In Regime::kMemory full lines bypass the caches; FenceStreams is the caller's.
struct RowsJob {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* dst_offsets;
  const std::int64_t* src_offsets;
  std::int64_t rows;
  std::int64_t row_bytes;
  Regime regime;
  std::int64_t dst_step = 0;
  std::int64_t src_step = 0;

  [[nodiscard]] std::byte* DstRow(std::int64_t row) const {
    return dst + (dst_offsets != nullptr ? dst_offsets[row] : row * dst_step);
  }
  [[nodiscard]] const std::byte* SrcRow(std::int64_t row) const {
    return src + (src_offsets != nullptr ? src_offsets[row] : row * src_step);
  }
};
using CopyRows = void (*)(const RowsJob& job);

// `rows` rows of `cols` elements: element c of row r goes from src + src_offsets[r] + c * src_step
// to dst + dst_offsets[r] + c * dst_step; steps in elements, one of them 1. In Regime::kMemory full
// lines of a dense destination bypass the caches where there is a kernel for it.
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
};
using CopyStridedRows = void (*)(const StridedRowsJob& job);

// `runs` runs of `rows` rows of `cols` elements: element c of row r of run k goes from src +
// src_offsets[k] + r * src_step + src_table[c] to dst + dst_offsets[k] + r * dst_step + c * item.
// All in bytes.
struct TabledRowsJob {
  std::byte* dst;
  const std::byte* src;
  const std::int64_t* dst_offsets;
  const std::int64_t* src_offsets;
  std::int64_t runs;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t dst_step;
  std::int64_t src_step;
  const std::int64_t* src_table;
};
using CopyTabledRows = void (*)(const TabledRowsJob& job);

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

// Rows whose lines a transpose asks for while it works on others: column c of row r is at src +
// offsets[r] + c * item_bytes.
struct RowsAhead {
  const std::byte* src;
  const std::int64_t* offsets;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t item_bytes;
};

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
  // With each tile, the same columns of these rows are asked for; null: none.
  const RowsAhead* next = nullptr;
  bool down = false;  // in the destination's order, where both tables are regular
  // The distance of two entries, in bytes, where the table is regular; else 0.
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;
};
using Transpose = void (*)(const TransposeJob& job);

// Orders stores that bypassed the caches before whatever the caller stores next.
void FenceStreams();

// Kernels for one target and item size, never null.
struct CopyKernels {
  CopyRows copy_rows = nullptr;
  CopyStridedRows copy_strided_rows = nullptr;
  CopyTabledRows copy_tabled_rows = nullptr;
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
[[nodiscard]] CopyTabledRows CopyTabledRowsFor(Target target, int item_bytes);
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
