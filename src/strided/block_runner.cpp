// The blocks of a plan: PlanRunner::RunBlocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "strided/internal/kernels.h"
#include "strided/internal/plan_runner.h"
#include "strided/internal/policy.h"

namespace engine::strided {
namespace {

// --- offsets ---

enum class Side { kDst, kSrc };

std::int64_t StrideOf(const Axis& axis, Side side) {
  return side == Side::kDst ? axis.dst_stride : axis.src_stride;
}

// The byte offset of position `index` in the row-major enumeration of the axes.
std::int64_t OffsetAt(const Axis* axes, int rank, std::int64_t index, Side side,
                      std::int64_t item_bytes) {
  std::int64_t offset = 0;
  for (int i = rank - 1; i >= 0; --i) {
    offset += index % axes[i].extent * StrideOf(axes[i], side);
    index /= axes[i].extent;
  }
  return offset * item_bytes;
}

// Byte offsets of positions [begin, begin + count), run by run along the innermost axis.
void FillOffsets(const Axis* axes, int rank, std::int64_t begin, std::int64_t count, Side side,
                 std::int64_t item_bytes, std::int64_t* offsets) {
  if (rank == 0) {
    for (std::int64_t i = 0; i < count; ++i) offsets[i] = 0;
    return;
  }
  const Axis& inner = axes[rank - 1];
  const std::int64_t step = StrideOf(inner, side) * item_bytes;
  std::int64_t filled = 0;
  while (filled < count) {
    const std::int64_t index = begin + filled;
    const std::int64_t within = rank == 1 ? index : index % inner.extent;
    const std::int64_t run = std::min(count - filled, inner.extent - within);
    const std::int64_t first =
        (rank == 1 ? 0 : OffsetAt(axes, rank - 1, index / inner.extent, side, item_bytes)) +
        within * step;
    for (std::int64_t i = 0; i < run; ++i) offsets[filled + i] = first + i * step;
    filled += run;
  }
}

void FillRegular(std::int64_t step, std::int64_t count, std::int64_t* offsets) {
  for (std::int64_t i = 0; i < count; ++i) offsets[i] = i * step;
}

// Rows whose lines are asked for ahead of time, where the hardware does not.
constexpr std::int64_t kRowsAhead = 32;

static_assert(kMaxBlock + kMinBlock - 1 + kRowsAhead <= kMaxTableEntries);
static_assert((kPackedRowBytes + kRowPadding) * kPackedCols <= kPackBytes);
static_assert([] {
  for (const std::int64_t src : {1, 2, 4, 8}) {
    for (const std::int64_t dst : {1, 2, 4, 8}) {
      const std::int64_t strip = kLineBytes / dst;
      if (strip * StripCols(src, dst, true) * src > kStripBytes) return false;
      for (const bool gathers : {false, true}) {
        const std::int64_t cols = StripCols(src, dst, gathers);
        const std::int64_t rows = kPackBytes / (cols * dst);
        if (strip * cols * dst > kStripBytes || rows + kRowsAhead > kMaxTableEntries) return false;
      }
    }
  }
  return true;
}());

}  // namespace

// One call of RunBlocks: the blocks of a range of units, their tables of offsets and scratch
// memory.
class PlanRunner::BlockRunner {
 public:
  BlockRunner(const CopyPlan& plan, std::byte* dst, const std::byte* src)
      : plan_(plan),
        dst_(dst),
        src_(src),
        dst_item_(plan.dst_item_bytes_),
        src_item_(plan.src_item_bytes_),
        row_axes_(plan.axes_.data() + plan.outer_rank_),
        col_axes_(row_axes_ + plan.rows_rank_),
        row_axis_(plan.rows_rank_ > 0 ? row_axes_[plan.rows_rank_ - 1] : Axis{}),
        col_axis_(col_axes_[plan.cols_rank_ - 1]) {
    const Target target = ActiveTargetKind();
    to_ = CopyKernelsFor(target, plan.dst_item_bytes_);
    from_ = plan.dst_item_bytes_ == plan.src_item_bytes_
                ? to_
                : CopyKernelsFor(target, plan.src_item_bytes_);
    if (plan.dst_dtype_ != plan.src_dtype_) {
      cast_ = CastRowsFor(target, plan.src_dtype_, plan.dst_dtype_);
    }
  }

  bool Run(std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      SelectBlock(unit);
      if (!RunBlock()) return false;
    }
    return true;
  }

 private:
  // Sets the block's extents, its base addresses and its tables.
  void SelectBlock(std::int64_t unit) {
    const std::int64_t row_block = unit % plan_.row_blocks_;
    const std::int64_t col_block = unit / plan_.row_blocks_ % plan_.col_blocks_;
    const std::int64_t outer = unit / plan_.row_blocks_ / plan_.col_blocks_;
    const std::int64_t row = row_block * plan_.block_rows_;
    const std::int64_t col = col_block * plan_.block_cols_;
    rows_ = row_block + 1 == plan_.row_blocks_ ? plan_.rows_ - row : plan_.block_rows_;
    cols_ = col_block + 1 == plan_.col_blocks_ ? plan_.cols_ - col : plan_.block_cols_;
    const Axis* const outer_axes = plan_.axes_.data();
    to_base_ = dst_ + OffsetAt(outer_axes, plan_.outer_rank_, outer, Side::kDst, dst_item_);
    from_base_ = src_ + OffsetAt(outer_axes, plan_.outer_rank_, outer, Side::kSrc, src_item_) +
                 col * col_axis_.src_stride * src_item_;
    first_row_ = row;
    if (RowsInRuns()) {
      to_base_ += col * col_axis_.dst_stride * dst_item_;
      return;
    }
    if (plan_.strategy_ == CopyPlan::Strategy::kTable) {
      SelectTable();
      return;
    }
    // A few rows of the next block too, to ask for their lines early.
    rows_known_ = std::min(plan_.rows_ - row, rows_ + kRowsAhead);
    FillOffsets(row_axes_, plan_.rows_rank_, row, rows_known_, Side::kSrc, src_item_, src_offsets_);
    if (plan_.strategy_ == CopyPlan::Strategy::kTranspose) {
      to_base_ += row * row_axis_.dst_stride * dst_item_;
      if (col_block != filled_col_block_) {
        FillOffsets(col_axes_, plan_.cols_rank_, col, cols_, Side::kDst, dst_item_, dst_offsets_);
        filled_col_block_ = col_block;
      }
    } else {
      to_base_ += col * col_axis_.dst_stride * dst_item_;
      FillOffsets(row_axes_, plan_.rows_rank_, row, rows_, Side::kDst, dst_item_, dst_offsets_);
    }
  }

  // The offsets of a row's elements; those of the rows only for what is converted first.
  void SelectTable() {
    if (!table_filled_) {
      FillOffsets(col_axes_, plan_.cols_rank_, 0, plan_.cols_, Side::kSrc, src_item_,
                  more_offsets_);
      table_filled_ = true;
    }
    if (cast_ == nullptr) return;
    FillOffsets(row_axes_, plan_.rows_rank_, first_row_, rows_, Side::kDst, dst_item_,
                dst_offsets_);
  }

  bool RunBlock() {
    switch (plan_.strategy_) {
      case CopyPlan::Strategy::kRows:
        return cast_ == nullptr ? CopyRowsBlock() : CastRowsBlock();
      case CopyPlan::Strategy::kStridedRows:
        return StridedRowsBlock();
      case CopyPlan::Strategy::kTable:
        return TableBlock();
      case CopyPlan::Strategy::kInterleave:
        return InterleaveBlock();
      default:
        return TransposeBlock();
    }
  }

  // Whether rows go run by run along their innermost axis, without tables: those cost a third of
  // the time of rows of 256 bytes. In memory, rows are prefetched across runs, by table.
  bool RowsInRuns() const {
    constexpr std::int64_t kMinRun = 8;
    return plan_.strategy_ == CopyPlan::Strategy::kRows && cast_ == nullptr &&
           plan_.regime_ != Regime::kMemory && row_axis_.extent >= kMinRun;
  }

  bool CopyRowsBlock() {
    if (!RowsInRuns()) {
      to_.copy_rows({to_base_, from_base_, dst_offsets_, src_offsets_, rows_, cols_ * dst_item_,
                     plan_.regime_});
      return true;
    }
    for (std::int64_t done = 0; done < rows_;) {
      const std::int64_t row = first_row_ + done;
      const std::int64_t run = std::min(rows_ - done, row_axis_.extent - row % row_axis_.extent);
      to_.copy_rows({to_base_ + OffsetAt(row_axes_, plan_.rows_rank_, row, Side::kDst, dst_item_),
                     from_base_ + OffsetAt(row_axes_, plan_.rows_rank_, row, Side::kSrc, src_item_),
                     nullptr, nullptr, run, cols_ * dst_item_, plan_.regime_,
                     row_axis_.dst_stride * dst_item_, row_axis_.src_stride * src_item_});
      done += run;
    }
    return true;
  }

  bool CastRowsBlock() {
    if (cols_ < kDirectCast) return StridedRowsBlock();
    return cast_({to_base_, from_base_, dst_offsets_, src_offsets_, rows_, cols_,
                  plan_.regime_ == Regime::kMemory});
  }

  // Converted while it is interleaved.
  bool InterleaveBlock() {
    const bool to_planes = col_axis_.dst_stride == 1;
    const auto job = [&](std::byte* dst, const std::byte* src, std::int64_t item) {
      const std::int64_t plane = to_planes ? row_axis_.dst_stride : row_axis_.src_stride;
      return InterleaveJob{dst, src, plane * item, cols_, row_axis_.extent, to_planes};
    };
    if (cast_ == nullptr) {
      to_.interleave(job(to_base_, from_base_, dst_item_));
      return true;
    }
    const std::int64_t count = cols_ * row_axis_.extent;
    if (to_planes) {
      if (!CastDense(scratch_, from_base_, count)) return false;
      to_.interleave(job(to_base_, scratch_, dst_item_));
      return true;
    }
    from_.interleave(job(scratch_, from_base_, src_item_));
    return CastDense(to_base_, scratch_, count);
  }

  bool TableBlock() {
    if (cast_ == nullptr) {
      CopyByTable(to_, to_base_, row_axes_, row_axis_.dst_stride * dst_item_);
      return true;
    }
    // Packed one after another, converted as one run, then row by row where they belong.
    CopyByTable(from_, scratch_, nullptr, cols_ * src_item_);
    std::byte* const converted = scratch_ + kScratchElements * 8;
    if (!CastDense(converted, scratch_, rows_ * cols_)) return false;
    FillRegular(cols_ * dst_item_, rows_, scratch_offsets_);
    to_.copy_rows({to_base_, converted, dst_offsets_, scratch_offsets_, rows_, cols_ * dst_item_,
                   Regime::kL2});
    return true;
  }

  // The block's rows, run by run along their innermost axis: to where `dst_axes` say, or one after
  // another where that is null. The block may begin and end within a run.
  void CopyByTable(const CopyKernels& kernels, std::byte* dst, const Axis* dst_axes,
                   std::int64_t dst_step) {
    const std::int64_t extent = std::max<std::int64_t>(row_axis_.extent, 1);
    for (std::int64_t done = 0; done < rows_;) {
      const std::int64_t row = first_row_ + done;
      const bool whole = row % extent == 0 && rows_ - done >= extent;
      const std::int64_t rows = whole ? extent : std::min(rows_ - done, extent - row % extent);
      const std::int64_t runs = whole ? std::min((rows_ - done) / extent, kMaxTableEntries) : 1;
      for (std::int64_t k = 0; k < runs; ++k) {
        const std::int64_t first = row + k * rows;
        src_offsets_[k] = OffsetAt(row_axes_, plan_.rows_rank_, first, Side::kSrc, src_item_);
        scratch_offsets_[k] = dst_axes == nullptr ? (done + k * rows) * dst_step
                                                  : OffsetAt(dst_axes, plan_.rows_rank_, first,
                                                             Side::kDst, dst_item_);
      }
      kernels.copy_tabled_rows({dst, from_base_, scratch_offsets_, src_offsets_, runs, rows, cols_,
                                dst_step, row_axis_.src_stride * src_item_, more_offsets_,
                                plan_.periodic_, scratch_ + 2 * kScratchElements * 8,
                                &is_prepared_});
      done += runs * rows;
    }
  }

  // Rows along one axis, strided on either side, converted on the way: gather, convert, scatter,
  // each step only where it is needed.
  bool StridedRowsBlock() {
    const std::int64_t dst_step = col_axis_.dst_stride;
    const std::int64_t src_step = col_axis_.src_stride;
    if (cast_ == nullptr && (dst_step == 1 || src_step == 1)) {
      to_.copy_strided_rows({to_base_, from_base_, dst_offsets_, src_offsets_, rows_, cols_,
                             dst_step, src_step, plan_.regime_});
      return true;
    }
    const std::byte* dense = scratch_;
    GatherRows(scratch_, {0, rows_, 0, cols_});
    if (cast_ != nullptr) {
      std::byte* const converted = scratch_ + kScratchElements * 8;
      if (!CastDense(converted, dense, rows_ * cols_)) return false;
      dense = converted;
    }
    FillRegular(cols_ * dst_item_, rows_, scratch_offsets_);
    if (dst_step == 1) {
      to_.copy_rows(
          {to_base_, dense, dst_offsets_, scratch_offsets_, rows_, cols_ * dst_item_, Regime::kL2});
    } else {
      to_.copy_strided_rows({to_base_, dense, dst_offsets_, scratch_offsets_, rows_, cols_,
                             dst_step, 1, Regime::kL2});
    }
    return true;
  }

  // Some of the block's rows and columns.
  struct Part {
    std::int64_t row;
    std::int64_t rows;
    std::int64_t col;
    std::int64_t cols;
  };

  const std::byte* SourceOf(const Part& part) const {
    return from_base_ + part.col * col_axis_.src_stride * src_item_;
  }

  // A part of the source, densely packed.
  void GatherRows(std::byte* dense, const Part& part) {
    FillRegular(part.cols * src_item_, part.rows, scratch_offsets_);
    const std::int64_t* const offsets = src_offsets_ + part.row;
    if (col_axis_.src_stride == 1) {
      from_.copy_rows({dense, SourceOf(part), scratch_offsets_, offsets, part.rows,
                       part.cols * src_item_, Regime::kL2});
    } else {
      from_.copy_strided_rows({dense, SourceOf(part), scratch_offsets_, offsets, part.rows,
                               part.cols, 1, col_axis_.src_stride, Regime::kL2});
    }
  }

  // Gather (where the source rows have gaps), convert, transpose, scatter (where the destination
  // rows have gaps).
  bool TransposeBlock() {
    // The plan knows that rows begin alike within their lines, the address says where.
    const bool aligned = reinterpret_cast<std::uintptr_t>(to_base_) % kLineBytes == 0;
    TransposeJob job{to_base_,
                     from_base_,
                     src_offsets_,
                     dst_offsets_,
                     rows_,
                     cols_,
                     plan_.full_lines_,
                     plan_.stream_ && aligned,
                     plan_.prefetch_bytes_,
                     plan_.prefetch_rows_};
    job.down = plan_.down_;
    if (plan_.rows_rank_ == 1) job.src_step = row_axis_.src_stride * src_item_;
    if (plan_.cols_rank_ == 1) job.dst_step = col_axis_.dst_stride * dst_item_;
    const bool scatters = row_axis_.dst_stride != 1;
    std::byte* const packed = scratch_ + 2 * kStripBytes;
    if (scatters || plan_.pack_) {
      // Where destination rows have gaps or alias in the caches: a dense block first, then each of
      // its rows as one long run.
      job.dst = packed;
      job.dst_offsets = more_offsets_;
      job.dst_step = rows_ * dst_item_ + (scatters ? 0 : kRowPadding);
      job.stream = false;
      FillRegular(job.dst_step, cols_, more_offsets_);
    }
    if (cast_ != nullptr || col_axis_.src_stride != 1) {
      if (!TransposeStrips(job)) return false;
    } else {
      to_.transpose(job);
    }
    if (scatters) {
      to_.copy_strided_rows({to_base_, packed, dst_offsets_, more_offsets_, cols_, rows_,
                             row_axis_.dst_stride, 1, Regime::kL2});
    } else if (plan_.pack_) {
      to_.copy_rows(
          {to_base_, packed, dst_offsets_, more_offsets_, cols_, rows_ * dst_item_, plan_.regime_});
    }
    return true;
  }

  // Gathers, converts and transposes a strip at a time: as many rows as make a line of the
  // destination, in parts that stay in the L1 cache between the steps.
  bool TransposeStrips(TransposeJob job) {
    const std::int64_t strip = kLineBytes / dst_item_;
    const std::int64_t most = StripCols(plan_.src_item_bytes_, plan_.dst_item_bytes_, Gathers());
    const std::int64_t* const dst_offsets = job.dst_offsets;
    std::byte* const block = job.dst;
    job.src_offsets = scratch_offsets_;
    for (std::int64_t row = 0; row < rows_; row += strip) {
      for (std::int64_t col = 0; col < cols_; col += most) {
        const Part part{row, std::min(strip, rows_ - row), col, std::min(most, cols_ - col)};
        const RowsAhead next = After(part);
        if (plan_.regime_ == Regime::kMemory && !Gathers()) job.next = &next;
        job.src = Stage(part);
        if (job.src == nullptr) return false;
        job.src_step = part.cols * dst_item_;
        FillRegular(job.src_step, part.rows, scratch_offsets_);
        job.rows = part.rows;
        job.cols = part.cols;
        job.dst = block + row * dst_item_;
        job.dst_offsets = dst_offsets + col;
        to_.transpose(job);
      }
    }
    return true;
  }

  // Whether rows are packed before they are converted.
  bool Gathers() const { return col_axis_.src_stride != 1 || plan_.cols_ < kDirectCast; }

  // A part of the source, converted, densely packed; null when an element was not representable.
  const std::byte* Stage(const Part& part) {
    std::byte* const gathered = scratch_;
    std::byte* const converted = scratch_ + kStripBytes;
    if (cast_ != nullptr && !Gathers()) {
      FillRegular(part.cols * dst_item_, part.rows, scratch_offsets_);
      const CastRowsJob job{converted, SourceOf(part), scratch_offsets_, src_offsets_ + part.row,
                            part.rows, part.cols};
      return cast_(job) ? converted : nullptr;
    }
    GatherRows(gathered, part);
    if (cast_ == nullptr) return gathered;
    return CastDense(converted, gathered, part.rows * part.cols) ? converted : nullptr;
  }

  // What follows a part of contiguous rows: the hardware does not follow so many at once.
  RowsAhead After(const Part& part) const {
    Part next = part;
    next.col += part.cols;
    if (next.col == cols_) {
      next.col = 0;
      next.row += part.rows;
    }
    return {SourceOf(next), src_offsets_ + next.row,
            std::clamp<std::int64_t>(rows_known_ - next.row, 0, part.rows),
            std::min(part.cols, cols_ - next.col), src_item_};
  }

  // Converts elements that are dense on both sides.
  bool CastDense(std::byte* dst, const std::byte* src, std::int64_t count) const {
    return cast_({dst, src, &kNoOffset, &kNoOffset, 1, count});
  }

  const CopyPlan& plan_;
  std::byte* const dst_;
  const std::byte* const src_;
  const std::int64_t dst_item_;
  const std::int64_t src_item_;
  const Axis* const row_axes_;
  const Axis* const col_axes_;
  const Axis row_axis_;
  const Axis col_axis_;
  CopyKernels to_;    // for items of the destination
  CopyKernels from_;  // for items of the source
  CastRows cast_ = nullptr;

  std::int64_t first_row_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t rows_known_ = 0;
  std::int64_t cols_ = 0;
  std::byte* to_base_ = nullptr;
  const std::byte* from_base_ = nullptr;
  std::int64_t filled_col_block_ = -1;
  bool table_filled_ = false;
  bool is_prepared_ = false;

  // Uninitialised on purpose: only what a block needs is written, before it is read.
  std::int64_t src_offsets_[kMaxTableEntries];
  std::int64_t dst_offsets_[kMaxTableEntries];
  std::int64_t scratch_offsets_[kMaxTableEntries];
  std::int64_t more_offsets_[kMaxTableEntries];
  // Two dense blocks of rows, and what a kernel makes of their pattern; or two strips of a
  // transpose, and its packed block.
  alignas(64) std::byte scratch_[kScratchBytes];
};

// What CopyPlan::RunUnits documents, less a margin for the frames of calls. The 8 KiB are the block
// of a cast whose stores bypass the caches.
static_assert(sizeof(CopyPlan) + 4 * kMaxTableEntries * sizeof(std::int64_t) + kScratchBytes +
                  8 * 1024 <=
              168 * 1024);

// Not inlined: its stack is for plans that have blocks.
[[gnu::noinline]] bool PlanRunner::RunBlocks(const CopyPlan& plan, std::byte* dst,
                                             const std::byte* src, std::int64_t begin,
                                             std::int64_t end) {
  BlockRunner runner(plan, dst, src);
  return runner.Run(begin, end);
}

}  // namespace engine::strided
