// compare/element_pairs.h: the dtype pairs that the case files use, for libraries that are
// templates: all 144 would take minutes to compile.
#ifndef ENGINE_BENCHMARKS_COMPARE_ELEMENT_PAIRS_H_
#define ENGINE_BENCHMARKS_COMPARE_ELEMENT_PAIRS_H_

#include <cstdint>
#include <memory>

#include "harness/contender.h"
#include "strided/dtype_visit.h"
#include "tensor/half.h"

namespace engine::benchmarks {

template <typename D, typename S>
struct ElementPair {
  using Dst = D;
  using Src = S;
};

// Calls visit(TypeTag<Dst>, TypeTag<Src>) for the pair of the layout; null for a pair not listed.
template <typename Visit>
[[nodiscard]] std::unique_ptr<Job> VisitPair(const Case& layout, Visit&& visit) {
  using tensor::bfloat16;
  using tensor::float16;
  std::unique_ptr<Job> job;
  const auto try_pair = [&](auto pair) {
    using Dst = typename decltype(pair)::Dst;
    using Src = typename decltype(pair)::Src;
    if (layout.dst != tensor::dtype_of<Dst> || layout.src != tensor::dtype_of<Src>) return;
    job = visit(strided::TypeTag<Dst>{}, strided::TypeTag<Src>{});
  };
  const auto try_pairs = [&](auto... pairs) { (try_pair(pairs), ...); };
  try_pairs(
      ElementPair<float, float>(), ElementPair<double, double>(), ElementPair<float16, float16>(),
      ElementPair<std::uint8_t, std::uint8_t>(), ElementPair<float16, float>(),
      ElementPair<float, float16>(), ElementPair<bfloat16, float>(), ElementPair<float, bfloat16>(),
      ElementPair<bfloat16, float16>(), ElementPair<double, float>(), ElementPair<float, double>(),
      ElementPair<double, float16>(), ElementPair<std::int8_t, float>(),
      ElementPair<float, std::int8_t>(), ElementPair<float, std::uint8_t>(),
      ElementPair<std::int32_t, float>(), ElementPair<float, std::int32_t>(),
      ElementPair<std::int32_t, std::int64_t>(), ElementPair<std::int64_t, std::int32_t>());
  return job;
}

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_COMPARE_ELEMENT_PAIRS_H_
