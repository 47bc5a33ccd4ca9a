// Conversions from float16, bfloat16: the loops of internal/cast_kernels-inl.h, once per
// target. Highway includes this file again for each target (HWY_TARGET_INCLUDE); what is outside
// the target namespace is compiled once (HWY_ONCE).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "strided/dtype_visit.h"
#include "strided/internal/highway_targets.h"
#include "strided/internal/kernels.h"
#include "tensor/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strided/cast_from_halves.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "strided/internal/cast_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {

CastRows CastFromHalves(tensor::DataType src, tensor::DataType dst) {
  return VisitDType(
      src,
      [dst](auto tag) -> CastRows {
        using Src = typename decltype(tag)::type;
        if constexpr (std::is_same_v<Src, tensor::float16> ||
                      std::is_same_v<Src, tensor::bfloat16>) {
          return SelectCast<Src>(dst);
        } else {
          return nullptr;
        }
      },
      [](tensor::DataType) -> CastRows { return nullptr; });
}

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {

CastRows CastFromHalvesFor(Target target, tensor::DataType src, tensor::DataType dst) {
  static constexpr CastRows (*kTable[])(tensor::DataType, tensor::DataType) =
      ENGINE_TARGET_TABLE(CastFromHalves);
  return kTable[static_cast<std::size_t>(target)](src, dst);
}

}  // namespace engine::strided
#endif  // HWY_ONCE
