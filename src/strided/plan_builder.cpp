#include "strided/internal/plan_builder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/checked_math.h"
#include "strided/internal/active_target.h"
#include "strided/internal/policy.h"

namespace engine::strided {
namespace {

// Rows and columns that keep a register tile and a cache block busy; axes are merged up to here.
constexpr std::int64_t kEnough = 64;

// Bytes read plus written. Saturates, as all sizes here do: a plan can be made for layouts that no
// memory holds.
std::int64_t TotalBytes(const Layout& layout, std::int64_t dst_item, std::int64_t src_item) {
  return core::SaturatingMul(layout.numel, dst_item + src_item);
}

// The axis with the smallest source stride; the inner one of equals. An axis that repeats the same
// elements (stride 0) is none along which the source is contiguous.
int SourceInnermost(const Layout& layout) {
  int best = layout.rank - 1;
  const auto stride = [&](int i) { return layout.axes[static_cast<std::size_t>(i)].src_stride; };
  for (int i = layout.rank - 2; i >= 0; --i) {
    if (stride(i) != 0 && (stride(best) == 0 || stride(i) < stride(best))) best = i;
  }
  return best;
}

// Largest source stride first. An insertion sort, as std::stable_sort allocates.
void SortBySource(Axis* axes, int count) {
  for (int i = 1; i < count; ++i) {
    for (int k = i; k > 0 && axes[k - 1].src_stride < axes[k].src_stride; --k) {
      std::swap(axes[k - 1], axes[k]);
    }
  }
}

// The blocks that `extent` is cut into: `block` each; the last one takes a remainder below
// `min_block`.
std::int64_t CountBlocks(std::int64_t extent, std::int64_t block, std::int64_t min_block) {
  const std::int64_t whole = std::max<std::int64_t>(extent / block, 1);
  return extent - whole * block >= min_block ? whole + 1 : whole;
}

// A block size of at most `limit` that cuts `extent` into nearly equal parts.
std::int64_t EvenBlock(std::int64_t extent, std::int64_t limit) {
  const auto divide_up = [](std::int64_t a, std::int64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
  };
  return divide_up(extent, divide_up(extent, limit));
}

}  // namespace

void PlanBuilder::Build(const Layout& layout) {
  using Strategy = CopyPlan::Strategy;
  if (layout.numel == 0) return;
  plan_.regime_ = RegimeOf(TotalBytes(layout, plan_.dst_item_bytes_, plan_.src_item_bytes_));
  if (layout.rank == 0 ||
      (layout.rank == 1 && layout.axes[0].dst_stride == 1 && layout.axes[0].src_stride == 1)) {
    plan_.strategy_ = Strategy::kContiguous;
    plan_.cols_ = layout.numel;
    SetBlocks(1, kUnitBytes / plan_.dst_item_bytes_, 1);
    return;
  }
  if (layout.numel <= kElementLoopMax) {
    plan_.strategy_ = Strategy::kElements;
    std::copy_n(layout.axes.begin(), static_cast<std::size_t>(layout.rank), plan_.axes_.begin());
    plan_.cols_rank_ = layout.rank;
    plan_.cols_ = layout.numel;
    plan_.num_units_ = 1;
    return;
  }
  if (BuildInterleave(layout)) return;
  const int src_inner = SourceInnermost(layout);
  if (src_inner != layout.rank - 1 && layout.axes[layout.rank - 1].src_stride != 0 &&
      BuildTranspose(layout, src_inner)) {
    return;
  }
  if (BuildTable(layout)) return;
  // A few elements a row, but long runs of the source across the rows: follow those.
  const Axis& inner = layout.axes[static_cast<std::size_t>(layout.rank - 1)];
  const Axis& run = layout.axes[static_cast<std::size_t>(src_inner)];
  BuildRows(layout, inner.extent < kShortRow && run.src_stride == 1 && run.extent >= kEnough
                        ? src_inner
                        : layout.rank - 1);
}

bool PlanBuilder::BuildInterleave(const Layout& layout) {
  const auto channels_fit = [](std::int64_t extent) { return extent >= 2 && extent <= 4; };
  const auto is_channel = [&](const Axis& channel, const Axis& pixel) {
    if (!channels_fit(channel.extent)) return false;
    const bool to_planes =
        channel.src_stride == 1 && pixel.src_stride == channel.extent && pixel.dst_stride == 1;
    const bool to_pixels =
        channel.dst_stride == 1 && pixel.dst_stride == channel.extent && pixel.src_stride == 1;
    return to_planes || to_pixels;
  };
  for (int c = 0; c < layout.rank; ++c) {
    for (int p = 0; p < layout.rank; ++p) {
      const Axis& channel = layout.axes[static_cast<std::size_t>(c)];
      const Axis& pixel = layout.axes[static_cast<std::size_t>(p)];
      if (c == p || !is_channel(channel, pixel) || pixel.extent < kEnough) continue;
      int next = 0;
      for (int i = 0; i < layout.rank; ++i) {
        if (i != c && i != p) {
          plan_.axes_[static_cast<std::size_t>(next++)] = layout.axes[static_cast<std::size_t>(i)];
        }
      }
      plan_.outer_rank_ = next;
      plan_.axes_[static_cast<std::size_t>(next++)] = channel;
      plan_.axes_[static_cast<std::size_t>(next)] = pixel;
      plan_.rows_rank_ = plan_.cols_rank_ = 1;
      plan_.cols_ = pixel.extent;
      plan_.strategy_ = CopyPlan::Strategy::kInterleave;
      const bool converts = plan_.dst_dtype_ != plan_.src_dtype_;
      SetBlocks(1, converts ? kScratchElements / 4 : kUnitBytes / plan_.dst_item_bytes_, 1);
      return true;
    }
  }
  return false;
}

namespace {

// Whether the axes from `first` on are a pattern to look up along the axis before them.
bool IsPeriodic(const Layout& layout, int first, std::int64_t count, std::int64_t item_bytes) {
  if (first == 0 || first == layout.rank || count > kMaxPeriod) return false;
  const Axis& rows = layout.axes[static_cast<std::size_t>(first - 1)];
  if (rows.dst_stride != count) return false;
  std::array<std::int64_t, kMaxPeriod> table;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::int64_t from = 0;
    for (int axis = layout.rank - 1; axis >= first; --axis) {
      const Axis& at = layout.axes[static_cast<std::size_t>(axis)];
      from = core::SaturatingAdd(from, core::SaturatingMul(rest % at.extent, at.src_stride));
      rest /= at.extent;
    }
    table[static_cast<std::size_t>(i)] = from;
  }
  return PeriodFits(ActiveTargetKind(), item_bytes, table.data(), count, rows.src_stride,
                    rows.extent);
}

}  // namespace

bool PlanBuilder::BuildTable(const Layout& layout) {
  const auto at = [&](int i) -> const Axis& { return layout.axes[static_cast<std::size_t>(i)]; };
  const Axis& inner = at(layout.rank - 1);
  const bool is_short = inner.extent < (inner.src_stride == 1 ? kShortRun : kShortRow);
  // Longer rows only where the kernels of rows would go element by element.
  const std::int64_t lanes = kLineBytes / plan_.src_item_bytes_;
  if (!is_short && (inner.src_stride == 1 || inner.extent >= 2 * lanes)) return false;
  // The destination is dense along the innermost axes, as many as the table holds; or, better, as
  // make a short pattern that a long axis repeats.
  std::int64_t count = 1;
  int first = layout.rank;
  while (first > 0 && at(first - 1).dst_stride == count) {
    plan_.periodic_ = IsPeriodic(layout, first, count, plan_.src_item_bytes_);
    if (plan_.periodic_ || at(first - 1).extent > kMaxTabled / count) break;
    count *= at(first - 1).extent;
    --first;
  }
  if (!plan_.periodic_ && (!is_short || layout.rank - first < 2)) return false;
  std::copy_n(layout.axes.begin(), static_cast<std::size_t>(layout.rank), plan_.axes_.begin());
  plan_.strategy_ = CopyPlan::Strategy::kTable;
  plan_.rows_rank_ = first;
  plan_.cols_rank_ = layout.rank - first;
  plan_.cols_ = count;
  plan_.rows_ = layout.numel / count;
  const bool converts = plan_.dst_dtype_ != plan_.src_dtype_;
  const std::int64_t elements = converts ? kScratchElements : kUnitBytes / plan_.dst_item_bytes_;
  const std::int64_t most = converts ? kMaxBlock : elements;
  SetBlocks(std::clamp<std::int64_t>(elements / count, 1, most), count, 1);
  return true;
}

void PlanBuilder::BuildRows(const Layout& layout, int inner_axis) {
  using Strategy = CopyPlan::Strategy;
  const Axis& inner = layout.axes[static_cast<std::size_t>(inner_axis)];
  const bool runs = inner.dst_stride == 1 && inner.src_stride == 1;
  plan_.strategy_ = runs ? Strategy::kRows : Strategy::kStridedRows;
  int next = 0;
  for (int i = 0; i < layout.rank; ++i) {
    if (i == inner_axis) continue;
    plan_.axes_[static_cast<std::size_t>(next++)] = layout.axes[static_cast<std::size_t>(i)];
  }
  plan_.axes_[static_cast<std::size_t>(next)] = inner;
  plan_.rows_rank_ = layout.rank - 1;
  plan_.cols_rank_ = 1;
  plan_.cols_ = inner.extent;
  plan_.rows_ = layout.numel / inner.extent;
  if (runs && plan_.regime_ == Regime::kMemory) {
    // Stores that bypass the caches may come in any order; loads had better not.
    SortBySource(plan_.axes_.data(), plan_.rows_rank_);
  }
  const bool converts = plan_.dst_dtype_ != plan_.src_dtype_;
  const bool staged = (converts && !(runs && inner.extent >= kDirectCast)) ||
                      (inner.dst_stride != 1 && inner.src_stride != 1);
  if (staged) {
    const std::int64_t block_cols = EvenBlock(inner.extent, kScratchElements);
    SetBlocks(std::min(kScratchElements / block_cols, kMaxBlock), block_cols, 1);
  } else if (!runs && layout.rank > 1) {
    // Rows that share lines on one side follow each other while the lines are near.
    SetBlocks(kStridedRows, kStridedCols, kMinBlock);
  } else {
    const std::int64_t unit_bytes = plan_.regime_ == Regime::kMemory ? 4 * kUnitBytes : kUnitBytes;
    const std::int64_t block_cols = unit_bytes / plan_.dst_item_bytes_;
    SetBlocks(std::clamp<std::int64_t>(block_cols / inner.extent, 1, kMaxBlock), block_cols,
              kMinBlock);
  }
}

namespace {

// A matrix made of a layout's axes: those that are its rows and those that are its columns, innermost
// first.
class MatrixAxes {
 public:
  struct Group {
    std::array<int, tensor::kMaxRank> axes{};
    int rank = 0;
    std::int64_t extent = 1;
  };

  // Rows start as the axis that is innermost in the destination, columns as the one innermost in
  // the source; both absorb neighbours that continue them, the shorter one first, until they are
  // long enough.
  MatrixAxes(const Layout& layout, int src_inner) : layout_(layout) {
    Take(layout.rank - 1, rows_);
    Take(src_inner, cols_);
    while (Absorb(rows_.extent <= cols_.extent) || Absorb(rows_.extent > cols_.extent)) {
    }
  }

  [[nodiscard]] const Group& rows() const { return rows_; }
  [[nodiscard]] const Group& cols() const { return cols_; }
  [[nodiscard]] bool IsTaken(int axis) const { return taken_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] const Axis& At(const Group& group, int i) const {
    return Of(group.axes[static_cast<std::size_t>(i)]);
  }

  // Rows are contiguous in the destination; where each begins depends on the other axes.
  [[nodiscard]] bool RowsAreLineAligned(std::int64_t item_bytes) const {
    for (int i = 0; i < layout_.rank; ++i) {
      const auto end = rows_.axes.begin() + rows_.rank;
      if (std::find(rows_.axes.begin(), end, i) != end) continue;
      if (core::SaturatingMul(Of(i).dst_stride, item_bytes) % kLineBytes != 0) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] const Axis& Of(int axis) const {
    return layout_.axes[static_cast<std::size_t>(axis)];
  }

  void Take(int axis, Group& group) {
    taken_[static_cast<std::size_t>(axis)] = true;
    group.axes[static_cast<std::size_t>(group.rank++)] = axis;
    group.extent *= Of(axis).extent;
  }

  bool Absorb(bool into_rows) {
    Group& group = into_rows ? rows_ : cols_;
    if (group.extent >= kEnough) return false;
    const Axis& outermost = At(group, group.rank - 1);
    for (int i = layout_.rank - 1; i >= 0; --i) {
      if (IsTaken(i)) continue;
      const bool continues =
          into_rows ? Of(i).dst_stride == core::CheckedMul(outermost.dst_stride, outermost.extent)
                    : Of(i).src_stride == core::CheckedMul(outermost.src_stride, outermost.extent);
      if (!continues) continue;
      Take(i, group);
      return true;
    }
    return false;
  }

  const Layout& layout_;
  Group rows_;
  Group cols_;
  std::array<bool, tensor::kMaxRank> taken_{};
};

}  // namespace

bool PlanBuilder::BuildTranspose(const Layout& layout, int src_inner) {
  const MatrixAxes matrix(layout, src_inner);
  const MatrixAxes::Group& rows = matrix.rows();
  const MatrixAxes::Group& cols = matrix.cols();
  // No tile is so thin.
  const std::int64_t tile = kTileBytes / plan_.dst_item_bytes_;
  if (rows.extent * cols.extent < kMinMatrix || rows.extent < tile || cols.extent < tile) {
    return false;
  }
  int next = 0;
  for (int i = 0; i < layout.rank; ++i) {
    if (!matrix.IsTaken(i)) {
      plan_.axes_[static_cast<std::size_t>(next++)] = layout.axes[static_cast<std::size_t>(i)];
    }
  }
  plan_.outer_rank_ = next;
  for (const MatrixAxes::Group* const group : {&rows, &cols}) {
    for (int i = group->rank - 1; i >= 0; --i) {
      plan_.axes_[static_cast<std::size_t>(next++)] = matrix.At(*group, i);
    }
  }
  plan_.rows_ = rows.extent;
  plan_.cols_ = cols.extent;
  plan_.rows_rank_ = rows.rank;
  plan_.cols_rank_ = cols.rank;
  plan_.strategy_ = CopyPlan::Strategy::kTranspose;
  SetTransposeBlocks(matrix.At(rows, 0), matrix.At(cols, 0), layout,
                     matrix.RowsAreLineAligned(plan_.dst_item_bytes_));
  return true;
}

void PlanBuilder::SetTransposeBlocks(const Axis& row_axis, const Axis& col_axis,
                                     const Layout& layout, bool rows_line_aligned) {
  const bool direct =
      plan_.dst_dtype_ == plan_.src_dtype_ && row_axis.dst_stride == 1 && col_axis.src_stride == 1;
  const TransposePolicy policy = ChooseTranspose(
      {.item_bytes = plan_.dst_item_bytes_,
       .cols = plan_.cols_,
       .total_bytes = TotalBytes(layout, plan_.dst_item_bytes_, plan_.src_item_bytes_),
       .src_row_bytes =
           core::SaturatingMul<std::int64_t>(row_axis.src_stride, plan_.src_item_bytes_),
       .dst_row_bytes =
           core::SaturatingMul<std::int64_t>(col_axis.dst_stride, plan_.dst_item_bytes_),
       .direct = direct,
       .dst_rows_line_aligned = rows_line_aligned});
  const bool scatters = row_axis.dst_stride != 1;
  plan_.full_lines_ = policy.full_lines;
  plan_.down_ = direct && policy.down;
  plan_.pack_ = policy.pack && !scatters;
  plan_.stream_ = policy.stream && !scatters;
  if (direct) {
    plan_.prefetch_bytes_ = policy.prefetch_bytes;
    plan_.prefetch_rows_ = policy.prefetch_rows;
  }
  if (!direct && !plan_.pack_) {
    SetStagedBlocks(row_axis, col_axis);
  } else {
    SetBlocks(policy.block_rows, policy.block_cols, plan_.pack_ ? 1 : kMinBlock);
  }
}

void PlanBuilder::SetStagedBlocks(const Axis& row_axis, const Axis& col_axis) {
  std::int64_t rows = kStagedRows;
  std::int64_t cols = plan_.regime_ == Regime::kMemory ? kMaxBlock : kStripCols;
  if (row_axis.dst_stride != 1) {
    // Scattered from a packed block.
    const bool gathers = col_axis.src_stride != 1 || plan_.cols_ < kDirectCast;
    cols = StripCols(plan_.src_item_bytes_, plan_.dst_item_bytes_, gathers);
    rows = kPackBytes / (cols * plan_.dst_item_bytes_);
  }
  SetBlocks(rows, cols, 1);
}

void PlanBuilder::SetBlocks(std::int64_t block_rows, std::int64_t block_cols,
                            std::int64_t min_block) {
  plan_.block_rows_ = block_rows;
  plan_.block_cols_ = block_cols;
  plan_.row_blocks_ = CountBlocks(plan_.rows_, block_rows, min_block);
  plan_.col_blocks_ = CountBlocks(plan_.cols_, block_cols, min_block);
  plan_.num_units_ = plan_.row_blocks_ * plan_.col_blocks_;
  for (int i = 0; i < plan_.outer_rank_; ++i) {
    plan_.num_units_ *= plan_.axes_[static_cast<std::size_t>(i)].extent;
  }
}

}  // namespace engine::strided
