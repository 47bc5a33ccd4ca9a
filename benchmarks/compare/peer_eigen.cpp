// Compiled for the machine it is built on: Eigen chooses its vectors at compile time.
#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>

#include "compare/element_pairs.h"
#include "compare/peers.h"

namespace engine::benchmarks {
namespace {

using Eigen::Dynamic;

template <typename T>
using Element =
    std::conditional_t<std::is_same_v<T, tensor::float16>, Eigen::half,
                       std::conditional_t<std::is_same_v<T, tensor::bfloat16>, Eigen::bfloat16, T>>;

template <typename T, int kOrder, typename Stride>
using Matrix = Eigen::Map<Eigen::Array<T, Dynamic, Dynamic, kOrder>, 0, Stride>;

// A matrix whose rows (row-major) or columns are `outer` elements apart, and dense.
template <int kOrder, typename T>
auto MapOf(T* data, std::int64_t rows, std::int64_t cols, std::int64_t outer) {
  using Array = Eigen::Array<std::remove_const_t<T>, Dynamic, Dynamic, kOrder>;
  using Plain = std::conditional_t<std::is_const_v<T>, const Array, Array>;
  return Eigen::Map<Plain, 0, Eigen::OuterStride<>>(data, rows, cols, Eigen::OuterStride<>(outer));
}

template <typename Dst, typename Src>
std::unique_ptr<Job> Vector(const Task& task, Dst* dst, const Src* src) {
  const Case& layout = *task.layout;
  const std::int64_t count = layout.shape.dim(0);
  const std::int64_t step = layout.src_strides[0];
  if (layout.dst_strides[0] != 1) return nullptr;
  using DstMap = Eigen::Map<Eigen::Array<Dst, Dynamic, 1>>;
  using SrcArray = const Eigen::Array<Src, Dynamic, 1>;
  if (step == 1) {
    return MakeJob(
        [=] { DstMap(dst, count) = Eigen::Map<SrcArray>(src, count).template cast<Dst>(); });
  }
  return MakeJob([=] {
    const Eigen::InnerStride<> stride(step);
    DstMap(dst, count) =
        Eigen::Map<SrcArray, 0, Eigen::InnerStride<>>(src, count, stride).template cast<Dst>();
  });
}

// Row-major destinations; sources row-major or column-major.
template <typename Dst, typename Src>
std::unique_ptr<Job> TwoAxes(const Task& task, Dst* dst, const Src* src) {
  const Case& layout = *task.layout;
  const std::int64_t rows = layout.shape.dim(0);
  const std::int64_t cols = layout.shape.dim(1);
  const std::int64_t dst_outer = layout.dst_strides[0];
  if (layout.dst_strides[1] != 1) return nullptr;
  if (const std::int64_t outer = layout.src_strides[0]; layout.src_strides[1] == 1) {
    return MakeJob([=] {
      MapOf<Eigen::RowMajor>(dst, rows, cols, dst_outer) =
          MapOf<Eigen::RowMajor>(src, rows, cols, outer).template cast<Dst>();
    });
  }
  if (const std::int64_t outer = layout.src_strides[1]; layout.src_strides[0] == 1) {
    return MakeJob([=] {
      MapOf<Eigen::RowMajor>(dst, rows, cols, dst_outer) =
          MapOf<Eigen::ColMajor>(src, rows, cols, outer).template cast<Dst>();
    });
  }
  return nullptr;
}

// The shuffle that reads a dense source of this rank; nullopt when the source is not dense.
template <std::size_t kRank>
struct Shuffle {
  std::array<Eigen::Index, kRank> src_dims;
  std::array<Eigen::Index, kRank> dst_dims;
  std::array<int, kRank> axes;
};
template <std::size_t kRank>
std::optional<Shuffle<kRank>> ShuffleOf(const Case& layout) {
  if (layout.dst_strides != tensor::RowMajorStrides(layout.shape)) return std::nullopt;
  std::array<int, kRank> order{};
  for (std::size_t i = 0; i < kRank; ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return layout.src_strides[a] > layout.src_strides[b]; });
  Shuffle<kRank> shuffle;
  for (std::size_t i = 0; i < kRank; ++i) {
    shuffle.src_dims[i] = layout.shape.dim(order[i]);
    shuffle.dst_dims[i] = layout.shape.dim(static_cast<int>(i));
    shuffle.axes[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  std::int64_t dense = 1;
  for (std::size_t i = kRank; i-- > 0; dense *= shuffle.src_dims[i]) {
    if (layout.src_strides[order[i]] != dense) return std::nullopt;
  }
  return shuffle;
}

template <int kRank, typename T>
std::unique_ptr<Job> ManyAxes(const Task& task, T* dst, const T* src) {
  const auto shuffle = ShuffleOf<kRank>(*task.layout);
  if (!shuffle.has_value()) return nullptr;
  return MakeJob([=, shuffle = *shuffle] {
    const Eigen::TensorMap<Eigen::Tensor<const T, kRank, Eigen::RowMajor>> from(src,
                                                                                shuffle.src_dims);
    Eigen::TensorMap<Eigen::Tensor<T, kRank, Eigen::RowMajor>>(dst, shuffle.dst_dims) =
        from.shuffle(shuffle.axes);
  });
}

template <typename Dst, typename Src>
std::unique_ptr<Job> Prepared(const Task& task) {
  auto* const dst = reinterpret_cast<Dst*>(task.dst);
  const auto* const src = reinterpret_cast<const Src*>(task.src);
  const int rank = task.layout->shape.rank();
  if (rank == 1) return Vector(task, dst, src);
  if (rank == 2) return TwoAxes(task, dst, src);
  if constexpr (std::is_same_v<Dst, Src>) {
    if (rank == 3) return ManyAxes<3>(task, dst, src);
    if (rank == 4) return ManyAxes<4>(task, dst, src);
    if (rank == 5) return ManyAxes<5>(task, dst, src);
    if (rank == 6) return ManyAxes<6>(task, dst, src);
  }
  return nullptr;
}

class EigenPeer final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "Eigen"; }
  [[nodiscard]] std::string version() const override {
    return fmt::format("{}.{}.{}, -O3 -march=native", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                       EIGEN_MINOR_VERSION);
  }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    return VisitPair(*task.layout, [&](auto dst, auto src) {
      return Prepared<Element<typename decltype(dst)::type>, Element<typename decltype(src)::type>>(
          task);
    });
  }
};

}  // namespace

PeerOr MakeEigen() { return std::make_unique<EigenPeer>(); }

}  // namespace engine::benchmarks
