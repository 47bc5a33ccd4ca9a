#include "strided/internal/plan_runner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "strided/fp_environment.h"
#include "strided/internal/kernels.h"
#include "strided/internal/policy.h"

namespace engine::strided {
namespace {

// --- plans of few elements ---

// Copies items of kItem bytes along `rank` axes (strides in elements), outermost first.
template <std::size_t kItem>
void CopyElements(std::byte* dst, const std::byte* src, const Axis* axes, int rank) {
  constexpr auto kBytes = static_cast<std::int64_t>(kItem);
  const Axis& axis = *axes;
  const std::int64_t dst_step = axis.dst_stride * kBytes;
  const std::int64_t src_step = axis.src_stride * kBytes;
  if (rank == 1) {
    for (std::int64_t i = 0; i < axis.extent; ++i, dst += dst_step, src += src_step) {
      std::memcpy(dst, src, kItem);
    }
    return;
  }
  for (std::int64_t i = 0; i < axis.extent; ++i, dst += dst_step, src += src_step) {
    CopyElements<kItem>(dst, src, axes + 1, rank - 1);
  }
}

void CopyFewElements(int item_bytes, std::byte* dst, const std::byte* src, const Axis* axes,
                     int rank) {
  switch (item_bytes) {
    case 1:
      return CopyElements<1>(dst, src, axes, rank);
    case 2:
      return CopyElements<2>(dst, src, axes, rank);
    case 4:
      return CopyElements<4>(dst, src, axes, rank);
    default:
      return CopyElements<8>(dst, src, axes, rank);
  }
}

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

static_assert(kPackedRowBytes * kPackedCols <= kScratchDataBytes);
static_assert(kMaxBlock + kMinBlock - 1 + kRowsAhead <= kMaxTableEntries);
static_assert(kPackedCols <= kStagedColsInMemory);
constexpr std::int64_t kNoOffset = 0;

// Converts a run through a block in the L1 cache, whose copy out bypasses the caches. The copy
// reads nothing from memory, so it fetches the next block's source, a part at a time.
bool StreamCast(CastRows cast, CopyRows copy, std::byte* dst, std::int64_t dst_item,
                const std::byte* src, std::int64_t src_item, std::int64_t count) {
  constexpr std::int64_t kBlockBytes = 16 * 1024;  // read plus written
  constexpr std::int64_t kPart = 512;
  alignas(64) std::byte block[kBlockBytes];
  const std::int64_t block_size = kBlockBytes / (src_item + dst_item) / 64 * 64;
  for (std::int64_t i = 0; i < count; i += block_size) {
    const std::int64_t n = std::min(block_size, count - i);
    if (!cast({block, src + i * src_item, &kNoOffset, &kNoOffset, 1, n})) return false;
    for (std::int64_t k = 0; k < n; k += kPart) {
      const std::int64_t part = std::min(kPart, n - k);
      if (i + n + k + part <= count) {
        const std::byte* const next = src + (i + n + k) * src_item;
        for (std::int64_t b = 0; b < part * src_item; b += kLineBytes) __builtin_prefetch(next + b);
      }
      copy({dst + (i + k) * dst_item, block + k * dst_item, &kNoOffset, &kNoOffset, 1,
            part * dst_item, Regime::kMemory});
    }
  }
  return true;
}

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

  bool RunBlock() {
    switch (plan_.strategy_) {
      case CopyPlan::Strategy::kRows:
        return cast_ == nullptr ? CopyRowsBlock() : CastRowsBlock();
      case CopyPlan::Strategy::kStridedRows:
        return StridedRowsBlock();
      case CopyPlan::Strategy::kInterleave:
        return InterleaveBlock();
      default:
        return TransposeBlock();
    }
  }

  bool CopyRowsBlock() {
    to_.copy_rows({to_base_, from_base_, dst_offsets_, src_offsets_, rows_, cols_ * dst_item_,
                   plan_.regime_});
    return true;
  }

  bool CastRowsBlock() {
    if (cols_ < kDirectCast) return StridedRowsBlock();
    if (plan_.regime_ != Regime::kMemory) {
      return cast_({to_base_, from_base_, dst_offsets_, src_offsets_, rows_, cols_});
    }
    for (std::int64_t r = 0; r < rows_; ++r) {
      if (!StreamCast(cast_, to_.copy_rows, to_base_ + dst_offsets_[r], dst_item_,
                      from_base_ + src_offsets_[r], src_item_, cols_)) {
        return false;
      }
    }
    return true;
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
    std::byte* const scratch = scratch_[0];
    if (to_planes) {
      if (!cast_({scratch, from_base_, &kNoOffset, &kNoOffset, 1, count})) return false;
      to_.interleave(job(to_base_, scratch, dst_item_));
      return true;
    }
    from_.interleave(job(scratch, from_base_, src_item_));
    return cast_({to_base_, scratch, &kNoOffset, &kNoOffset, 1, count});
  }

  // A row of strided rows may be several axes.
  bool IsTabled() const {
    return plan_.strategy_ == CopyPlan::Strategy::kStridedRows && plan_.cols_rank_ > 1;
  }

  // The offsets of a row's elements, where a row is several axes; else null.
  const std::int64_t* SourceTable() {
    if (!IsTabled()) return nullptr;
    if (!table_filled_) {
      FillOffsets(col_axes_, plan_.cols_rank_, 0, plan_.cols_, Side::kSrc, src_item_,
                  more_offsets_);
      table_filled_ = true;
    }
    return more_offsets_;
  }

  // Rows along one axis, strided on either side, converted on the way: gather, convert, scatter,
  // each step only where it is needed.
  bool StridedRowsBlock() {
    const std::int64_t dst_step = col_axis_.dst_stride;
    const std::int64_t src_step = col_axis_.src_stride;
    if (cast_ == nullptr && (dst_step == 1 || src_step == 1)) {
      to_.copy_strided_rows({to_base_, from_base_, dst_offsets_, src_offsets_, rows_, cols_,
                             dst_step, src_step, plan_.regime_, SourceTable()});
      return true;
    }
    const std::byte* dense = GatherRows();
    if (cast_ != nullptr) {
      if (!CastDense(scratch_[1], dense)) return false;
      dense = scratch_[1];
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

  // The block's source rows, densely packed in scratch_[0].
  const std::byte* GatherRows() {
    FillRegular(cols_ * src_item_, rows_, scratch_offsets_);
    if (col_axis_.src_stride == 1 && !IsTabled()) {
      from_.copy_rows({scratch_[0], from_base_, scratch_offsets_, src_offsets_, rows_,
                       cols_ * src_item_, Regime::kL2});
    } else {
      from_.copy_strided_rows({scratch_[0], from_base_, scratch_offsets_, src_offsets_, rows_,
                               cols_, 1, col_axis_.src_stride, Regime::kL2, SourceTable()});
    }
    return scratch_[0];
  }

  // Gather (where the source rows have gaps), convert, transpose, scatter (where the destination
  // rows have gaps).
  bool TransposeBlock() {
    // The plan knows that rows begin alike within their lines, the address says where.
    const bool aligned = reinterpret_cast<std::uintptr_t>(to_base_) % 64 == 0;
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
    std::byte* unused = scratch_[0];
    if (cast_ != nullptr) {
      if (!CastRowsToScratch()) return false;
      job.src = scratch_[1];
    } else if (col_axis_.src_stride != 1) {
      job.src = GatherRows();
      unused = scratch_[1];
    }
    if (job.src != from_base_) {
      FillRegular(cols_ * dst_item_, rows_, scratch_offsets_);
      job.src_offsets = scratch_offsets_;
    }
    if (row_axis_.dst_stride != 1) {
      TransposeAndScatter(job, unused);
    } else if (plan_.pack_) {
      TransposeAndCopyOut(job, unused);
    } else {
      to_.transpose(job);
    }
    return true;
  }

  // The block's source rows, converted, densely packed in scratch_[1].
  bool CastRowsToScratch() {
    if (col_axis_.src_stride != 1 || plan_.cols_ < kDirectCast) {
      return CastDense(scratch_[1], GatherRows());
    }
    FillRegular(cols_ * dst_item_, rows_, scratch_offsets_);
    if (plan_.regime_ != Regime::kMemory) {
      return cast_({scratch_[1], from_base_, scratch_offsets_, src_offsets_, rows_, cols_});
    }
    // The hardware does not follow so many short rows.
    constexpr std::int64_t kStrip = 16;
    for (std::int64_t r = 0; r < rows_; r += kStrip) {
      PrefetchRows(r + kRowsAhead, kStrip);
      if (!cast_({scratch_[1], from_base_, scratch_offsets_ + r, src_offsets_ + r,
                  std::min(kStrip, rows_ - r), cols_})) {
        return false;
      }
    }
    return true;
  }

  // Asks for the block's columns of `count` rows from `row` on, as far as they are known.
  void PrefetchRows(std::int64_t row, std::int64_t count) const {
    const std::int64_t end = std::min(row + count, rows_known_);
    for (std::int64_t r = row; r < end; ++r) {
      const std::byte* const line = from_base_ + src_offsets_[r];
      for (std::int64_t b = 0; b < cols_ * src_item_; b += kLineBytes) __builtin_prefetch(line + b);
    }
  }

  // Converts the block's elements as one run.
  bool CastDense(std::byte* dst, const std::byte* src) {
    return cast_({dst, src, &kNoOffset, &kNoOffset, 1, rows_ * cols_});
  }

  void TransposeAndScatter(TransposeJob job, std::byte* scratch) {
    FillRegular(rows_ * dst_item_, cols_, more_offsets_);
    job.dst = scratch;
    job.dst_offsets = more_offsets_;
    job.stream = false;
    to_.transpose(job);
    to_.copy_strided_rows({to_base_, scratch, dst_offsets_, more_offsets_, cols_, rows_,
                           row_axis_.dst_stride, 1, Regime::kL2});
  }

  // Where destination rows alias in the caches, or are written past them: a dense block first, then
  // each of its rows as one long run.
  void TransposeAndCopyOut(TransposeJob job, std::byte* scratch) {
    FillRegular(rows_ * dst_item_ + kRowPadding, cols_, more_offsets_);
    job.dst = scratch;
    job.dst_offsets = more_offsets_;
    job.stream = false;
    to_.transpose(job);
    to_.copy_rows(
        {to_base_, scratch, dst_offsets_, more_offsets_, cols_, rows_ * dst_item_, plan_.regime_});
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

  std::int64_t rows_ = 0;
  std::int64_t rows_known_ = 0;
  std::int64_t cols_ = 0;
  std::byte* to_base_ = nullptr;
  const std::byte* from_base_ = nullptr;
  std::int64_t filled_col_block_ = -1;
  bool table_filled_ = false;

  // Uninitialised on purpose: only what a block needs is written, before it is read.
  std::int64_t src_offsets_[kMaxTableEntries];
  std::int64_t dst_offsets_[kMaxTableEntries];
  std::int64_t scratch_offsets_[kMaxTableEntries];
  std::int64_t more_offsets_[kMaxTableEntries];
  alignas(64) std::byte scratch_[2][kScratchBytes];
};

bool PlanRunner::RunElements(const CopyPlan& plan, std::byte* dst, const std::byte* src) {
  const Axis* const axes = plan.axes_.data();
  const int rank = plan.cols_rank_;
  if (plan.dst_dtype_ == plan.src_dtype_) {
    CopyFewElements(plan.dst_item_bytes_, dst, src, axes, rank);
    return true;
  }
  // Densely packed in the order of the walk, converted as one run, spread out again.
  alignas(64) std::byte gathered[kElementLoopMax * 8];
  alignas(64) std::byte converted[kElementLoopMax * 8];
  std::array<Axis, tensor::kMaxRank> pack;
  std::array<Axis, tensor::kMaxRank> spread;
  std::int64_t dense = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const auto k = static_cast<std::size_t>(i);
    pack[k] = {axes[i].extent, dense, axes[i].src_stride};
    spread[k] = {axes[i].extent, axes[i].dst_stride, dense};
    dense *= axes[i].extent;
  }
  CopyFewElements(plan.src_item_bytes_, gathered, src, pack.data(), rank);
  const CastRows cast = CastRowsFor(ActiveTargetKind(), plan.src_dtype_, plan.dst_dtype_);
  if (!cast({converted, gathered, &kNoOffset, &kNoOffset, 1, dense})) return false;
  CopyFewElements(plan.dst_item_bytes_, dst, converted, spread.data(), rank);
  return true;
}

bool PlanRunner::RunContiguous(const CopyPlan& plan, std::byte* dst, const std::byte* src,
                               std::int64_t begin, std::int64_t end) {
  const std::int64_t first = begin * plan.block_cols_;
  const std::int64_t last = end == plan.num_units_ ? plan.cols_ : end * plan.block_cols_;
  const std::int64_t count = last - first;
  std::byte* const to = dst + first * plan.dst_item_bytes_;
  const std::byte* const from = src + first * plan.src_item_bytes_;
  const CopyRows copy = CopyKernelsFor(ActiveTargetKind(), plan.dst_item_bytes_).copy_rows;
  if (plan.dst_dtype_ != plan.src_dtype_) {
    const CastRows cast = CastRowsFor(ActiveTargetKind(), plan.src_dtype_, plan.dst_dtype_);
    if (plan.regime_ != Regime::kMemory) return cast({to, from, &kNoOffset, &kNoOffset, 1, count});
    return StreamCast(cast, copy, to, plan.dst_item_bytes_, from, plan.src_item_bytes_, count);
  }
  const std::int64_t bytes = count * plan.dst_item_bytes_;
  if (plan.regime_ == Regime::kMemory) {
    copy({to, from, &kNoOffset, &kNoOffset, 1, bytes, Regime::kMemory});
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  return true;
}

// What CopyPlan::RunUnits documents.
static_assert(sizeof(CopyPlan) + 4 * kMaxTableEntries * sizeof(std::int64_t) + 2 * kScratchBytes +
                  16 * 1024 <=
              168 * 1024);

// Not inlined: its stack is for plans that have blocks.
[[gnu::noinline]] bool PlanRunner::RunBlocks(const CopyPlan& plan, std::byte* dst,
                                             const std::byte* src, std::int64_t begin,
                                             std::int64_t end) {
  BlockRunner runner(plan, dst, src);
  return runner.Run(begin, end);
}

bool PlanRunner::Run(const CopyPlan& plan, std::byte* dst, const std::byte* src, std::int64_t begin,
                     std::int64_t end) {
  const auto run_units = [&] {
    switch (plan.strategy_) {
      case CopyPlan::Strategy::kNothing:
        return true;
      case CopyPlan::Strategy::kElements:
        return RunElements(plan, dst, src);
      case CopyPlan::Strategy::kContiguous:
        return RunContiguous(plan, dst, src, begin, end);
      default:
        return RunBlocks(plan, dst, src, begin, end);
    }
  };
  const auto run = [&] {
    const bool all_fit = run_units();
    if (plan.regime_ == Regime::kMemory) FenceStreams();
    return all_fit;
  };
  if (plan.dst_dtype_ == plan.src_dtype_) return run();
  const ScopedDefaultFpEnvironment environment;
  return run();
}

}  // namespace engine::strided
