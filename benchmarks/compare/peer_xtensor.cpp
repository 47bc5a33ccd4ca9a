// Compiled for the machine it is built on: xtensor chooses its vectors at compile time.
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <xtensor/xadapt.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor_config.hpp>

#include "compare/element_pairs.h"
#include "compare/peers.h"

namespace engine::benchmarks {
namespace {

// Equal dtypes are copied as integers; there are no halves to convert.
template <typename T>
using Element =
    std::conditional_t<std::is_same_v<T, tensor::float16> || std::is_same_v<T, tensor::bfloat16>,
                       std::uint16_t, T>;

template <std::size_t kRank>
struct Extents {
  std::array<std::size_t, kRank> dims;
  std::array<std::ptrdiff_t, kRank> dst_strides;
  std::array<std::ptrdiff_t, kRank> src_strides;
};

template <typename Dst, typename Src, std::size_t kRank>
std::unique_ptr<Job> Prepared(const Task& task) {
  const Case& layout = *task.layout;
  Extents<kRank> extents{};
  for (std::size_t i = 0; i < kRank; ++i) {
    const int axis = static_cast<int>(i);
    const bool single = layout.shape.dim(axis) == 1;  // xtensor wants stride 0 there
    extents.dims[i] = static_cast<std::size_t>(layout.shape.dim(axis));
    extents.dst_strides[i] = single ? 0 : layout.dst_strides[axis];
    extents.src_strides[i] = single ? 0 : layout.src_strides[axis];
  }
  auto* const dst = reinterpret_cast<Dst*>(task.dst);
  // Adapted memory is never const.
  auto* const src = const_cast<Src*>(reinterpret_cast<const Src*>(task.src));
  // By xtensor's rule the element count, gaps left out.
  const auto count = static_cast<std::size_t>(layout.shape.numel());
  const tensor::Strides dense = tensor::RowMajorStrides(layout.shape);
  if (layout.dst_strides != dense) return nullptr;
  const auto assign = [](auto& to, const auto& from) {
    if constexpr (std::is_same_v<Dst, Src>) {
      xt::noalias(to) = from;
    } else {
      xt::noalias(to) = xt::cast<Dst>(from);
    }
  };
  if (layout.src_strides == dense) {
    return MakeJob([=] {
      auto to = xt::adapt(dst, count, xt::no_ownership(), extents.dims);
      assign(to, xt::adapt(src, count, xt::no_ownership(), extents.dims));
    });
  }
  return MakeJob([=] {
    auto to = xt::adapt(dst, count, xt::no_ownership(), extents.dims);
    assign(to, xt::adapt(src, count, xt::no_ownership(), extents.dims, extents.src_strides));
  });
}

class Xtensor final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "xtensor"; }
  [[nodiscard]] std::string version() const override {
    return fmt::format("{}.{}.{}, -O3 -march=native", XTENSOR_VERSION_MAJOR, XTENSOR_VERSION_MINOR,
                       XTENSOR_VERSION_PATCH);
  }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    const Case& layout = *task.layout;
    return VisitPair(layout, [&](auto dst, auto src) -> std::unique_ptr<Job> {
      using DstHalf = typename decltype(dst)::type;
      using SrcHalf = typename decltype(src)::type;
      using Dst = Element<DstHalf>;
      using Src = Element<SrcHalf>;
      if constexpr (std::is_same_v<DstHalf, SrcHalf> ||
                    (std::is_same_v<Dst, DstHalf> && std::is_same_v<Src, SrcHalf>)) {
        switch (layout.shape.rank()) {
          case 1:
            return Prepared<Dst, Src, 1>(task);
          case 2:
            return Prepared<Dst, Src, 2>(task);
          case 3:
            return Prepared<Dst, Src, 3>(task);
          case 4:
            return Prepared<Dst, Src, 4>(task);
          default:
            break;
        }
      }
      return nullptr;
    });
  }
};

}  // namespace

PeerOr MakeXtensor() { return std::make_unique<Xtensor>(); }

}  // namespace engine::benchmarks
