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

void CopyAlongAxes(int item_bytes, std::byte* dst, const std::byte* src, const Axis* axes,
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

}  // namespace

void PlanRunner::CopyFewElements(int item_bytes, const tensor::Shape& shape,
                                 const tensor::Strides& dst_strides,
                                 const tensor::Strides& src_strides, std::byte* dst,
                                 const std::byte* src) {
  Axis axes[tensor::kMaxRank];
  int rank = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    // No step is taken along an axis of extent 1, whose strides may be anything.
    if (shape.dim(i) != 1) axes[rank++] = Axis{shape.dim(i), dst_strides[i], src_strides[i]};
  }
  if (rank == 0) axes[rank++] = Axis{1, 0, 0};
  CopyAlongAxes(item_bytes, dst, src, axes, rank);
}

bool PlanRunner::RunElements(const CopyPlan& plan, std::byte* dst, const std::byte* src) {
  const Axis* const axes = plan.axes_.data();
  const int rank = plan.cols_rank_;
  if (plan.dst_dtype_ == plan.src_dtype_) {
    CopyAlongAxes(plan.dst_item_bytes_, dst, src, axes, rank);
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
  CopyAlongAxes(plan.src_item_bytes_, gathered, src, pack.data(), rank);
  const CastRows cast = CastRowsFor(ActiveTargetKind(), plan.src_dtype_, plan.dst_dtype_);
  if (!cast({converted, gathered, &kNoOffset, &kNoOffset, 1, dense})) return false;
  CopyAlongAxes(plan.dst_item_bytes_, dst, converted, spread.data(), rank);
  return true;
}

bool PlanRunner::RunContiguous(const CopyPlan& plan, std::byte* dst, const std::byte* src,
                               std::int64_t begin, std::int64_t end) {
  const std::int64_t first = begin * plan.block_cols_;
  const std::int64_t last = end == plan.num_units_ ? plan.cols_ : end * plan.block_cols_;
  const std::int64_t count = last - first;
  std::byte* const to = dst + first * plan.dst_item_bytes_;
  const std::byte* const from = src + first * plan.src_item_bytes_;
  const bool stream = plan.regime_ == Regime::kMemory;
  if (plan.dst_dtype_ != plan.src_dtype_) {
    const CastRows cast = CastRowsFor(ActiveTargetKind(), plan.src_dtype_, plan.dst_dtype_);
    return cast({to, from, &kNoOffset, &kNoOffset, 1, count, stream});
  }
  const std::int64_t bytes = count * plan.dst_item_bytes_;
  if (stream) {
    const CopyRows copy = CopyKernelsFor(ActiveTargetKind(), plan.dst_item_bytes_).copy_rows;
    copy({to, from, &kNoOffset, &kNoOffset, 1, bytes, plan.regime_});
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  return true;
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
