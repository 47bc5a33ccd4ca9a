// Compiled for the machine it is built on (see CMakeLists.txt).
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "core/check.h"
#include "harness/contender.h"
#include "strided/dtype_visit.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/shape.h"

namespace engine::benchmarks {
namespace {

using tensor::bfloat16;
using tensor::DataType;
using tensor::float16;

// What the compiler has for half precision, so that it can use the machine's conversions.
#ifdef __FLT16_MAX__
using Half = _Float16;
#else
using Half = float16;
#endif

template <typename T>
using Element = std::conditional_t<std::is_same_v<T, float16>, Half, T>;

template <typename Dst, typename Src>
Dst Convert(Src value) {
  if constexpr (std::is_same_v<Dst, Src>) {
    return value;
  } else if constexpr (std::is_same_v<Src, bfloat16>) {
    return Convert<Dst>(std::bit_cast<float>(std::uint32_t{value.to_bits()} << 16));
  } else if constexpr (std::is_same_v<Dst, bfloat16>) {
    const auto narrow = static_cast<float>(value);
    const auto bits = std::bit_cast<std::uint32_t>(narrow);
    const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t quieted = (bits >> 16) | 0x40u;
    return std::bit_cast<bfloat16>(
        static_cast<std::uint16_t>(std::isnan(narrow) ? quieted : rounded));
  } else if constexpr (std::is_same_v<Dst, float16> || std::is_same_v<Dst, Half>) {
    return static_cast<Dst>(static_cast<float>(value));
  } else {
    return static_cast<Dst>(value);
  }
}

struct Nest {
  int rank;
  std::array<std::int64_t, tensor::kMaxRank> extent;
  std::array<std::int64_t, tensor::kMaxRank> dst_stride;
  std::array<std::int64_t, tensor::kMaxRank> src_stride;
};

template <typename Dst, typename Src>
void Walk(const Nest& nest, int axis, Dst* dst, const Src* src) {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t extent = nest.extent[a];
  const std::int64_t dst_stride = nest.dst_stride[a];
  const std::int64_t src_stride = nest.src_stride[a];
  if (axis + 1 < nest.rank) {
    for (std::int64_t i = 0; i < extent; ++i) {
      Walk(nest, axis + 1, dst + i * dst_stride, src + i * src_stride);
    }
  } else if (dst_stride == 1 && src_stride == 1) {
    for (std::int64_t i = 0; i < extent; ++i) dst[i] = Convert<Dst>(src[i]);
  } else {
    for (std::int64_t i = 0; i < extent; ++i) {
      dst[i * dst_stride] = Convert<Dst>(src[i * src_stride]);
    }
  }
}

template <typename Dst, typename Src>
void Run(const Nest& nest, std::byte* dst, const std::byte* src) {
  Walk(nest, 0, reinterpret_cast<Dst*>(dst), reinterpret_cast<const Src*>(src));
}

using Function = void (*)(const Nest&, std::byte*, const std::byte*);

Function Choose(DataType dst, DataType src) {
  const auto none = [](DataType) -> Function { return nullptr; };
  return strided::VisitDType(
      dst,
      [&](auto dst_tag) -> Function {
        return strided::VisitDType(
            src,
            [&](auto src_tag) -> Function {
              using Dst = typename decltype(dst_tag)::type;
              using Src = typename decltype(src_tag)::type;
              if constexpr (std::is_same_v<Dst, bool> || std::is_same_v<Src, bool>) {
                return nullptr;
              } else {
                return Run<Element<Dst>, Element<Src>>;
              }
            },
            none);
      },
      none);
}

class Naive final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "naive loop"; }
  [[nodiscard]] std::string version() const override { return "-O3 -march=native"; }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    const Case& layout = *task.layout;
    const Function function = Choose(layout.dst, layout.src);
    if (function == nullptr) return nullptr;
    Nest nest{layout.shape.rank(), {}, {}, {}};
    for (int i = 0; i < nest.rank; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      nest.extent[axis] = layout.shape.dim(i);
      nest.dst_stride[axis] = layout.dst_strides[i];
      nest.src_stride[axis] = layout.src_strides[i];
    }
    return MakeJob([function, nest, dst = task.dst, src = task.src] { function(nest, dst, src); });
  }
};

}  // namespace

std::unique_ptr<Contender> MakeNaive() { return std::make_unique<Naive>(); }

}  // namespace engine::benchmarks
