#include "strided/copy_plan.h"

#include <concepts>
#include <cstddef>
#include <cstring>

#include "core/check.h"
#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"

namespace engine::strided {
namespace {

using tensor::DataType;

// An element as it is copied: its bytes, whatever they mean.
template <std::size_t kItemBytes>
bool CopyRow(std::byte* dst, std::int64_t dst_stride, const std::byte* src, std::int64_t src_stride,
             std::int64_t count) {
  constexpr auto kBytes = static_cast<std::int64_t>(kItemBytes);
  if (dst_stride == 1 && src_stride == 1) {
    std::memcpy(dst, src, static_cast<std::size_t>(count) * kItemBytes);
    return true;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(dst + i * dst_stride * kBytes, src + i * src_stride * kBytes, kItemBytes);
  }
  return true;
}

template <CastElement Src, CastElement Dst>
bool ConvertRow(std::byte* dst, std::int64_t dst_stride, const std::byte* src,
                std::int64_t src_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Dst converted{};
    if (!ConvertElement(LoadElement<Src>(src + i * src_stride * std::int64_t{sizeof(Src)}),
                        converted)) {
      return false;
    }
    StoreElement(dst + i * dst_stride * std::int64_t{sizeof(Dst)}, converted);
  }
  return true;
}

template <CastElement Src, CastElement Dst>
std::int64_t FindOffenderInRow(const std::byte* src, std::int64_t src_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Dst converted{};
    if (!ConvertElement(LoadElement<Src>(src + i * src_stride * std::int64_t{sizeof(Src)}),
                        converted)) {
      return i;
    }
  }
  return count;
}

// A source element as a message prints it. Floating values as double: the shortest float for 2^31
// is 2147483600, of which one could not say that int32 does not hold it.
template <CastElement Src>
auto Printable(const std::byte* element) {
  if constexpr (kIsFloating<Src>) {
    return WidenToDouble(LoadElement<Src>(element));
  } else {
    return LoadElement<Src>(element);
  }
}

}  // namespace

struct KernelSelector {
  template <CastElement Src>
  static core::Status OffenderStatus(const std::byte* element, const CopyPlan& plan,
                                     std::int64_t logical_index) {
    return core::InvalidArgumentError(
        "cast: {} at {} (element {}) of {} is not representable in {}", Printable<Src>(element),
        CoordinatesOf(logical_index, plan.shape_), logical_index, plan.src_dtype_, plan.dst_dtype_);
  }

  template <CastElement Src, CastElement Dst>
  static CopyPlan::Kernels ForPair() {
    CopyPlan::Kernels kernels{.run = ConvertRow<Src, Dst>, .converts = true};
    if constexpr (kIsInteger<Dst>) {
      kernels.find = FindOffenderInRow<Src, Dst>;
      kernels.offender = OffenderStatus<Src>;
    }
    return kernels;
  }

  static CopyPlan::Kernels ForCopy(int item_bytes) {
    switch (item_bytes) {
      case 1:
        return {.run = CopyRow<1>};
      case 2:
        return {.run = CopyRow<2>};
      case 4:
        return {.run = CopyRow<4>};
      case 8:
        return {.run = CopyRow<8>};
      default:
        return {};
    }
  }

  static CopyPlan::Kernels ForCast(DataType dst, DataType src) {
    const auto reject = [](DataType) { return CopyPlan::Kernels{}; };
    return VisitDType(
        src,
        [&](auto src_tag) {
          using Src = typename decltype(src_tag)::type;
          return VisitDType(
              dst,
              [](auto dst_tag) {
                using Dst = typename decltype(dst_tag)::type;
                if constexpr (CastElement<Src> && CastElement<Dst> && !std::same_as<Src, Dst>) {
                  return ForPair<Src, Dst>();
                } else {
                  return CopyPlan::Kernels{};
                }
              },
              reject);
        },
        reject);
  }
};

bool IsConvertible(DataType dst, DataType src) {
  if (tensor::is_reserved(dst) || tensor::is_reserved(src)) return false;
  return dst == src || (dst != DataType::kBool && src != DataType::kBool);
}

CopyPlan CopyPlan::Make(const tensor::Shape& shape, DataType dst_dtype,
                        const tensor::Strides& dst_strides, DataType src_dtype,
                        const tensor::Strides& src_strides) {
  ENGINE_CHECK(IsConvertible(dst_dtype, src_dtype), "CopyPlan: no conversion from {} to {}",
               src_dtype, dst_dtype);
  CopyPlan plan;
  plan.layout_ = NormalizeLayout(shape, dst_strides, src_strides);
  plan.shape_ = shape;
  plan.src_strides_ = src_strides;
  plan.dst_dtype_ = dst_dtype;
  plan.src_dtype_ = src_dtype;
  plan.dst_item_bytes_ = tensor::itemsize(dst_dtype);
  plan.src_item_bytes_ = tensor::itemsize(src_dtype);
  plan.kernels_ = dst_dtype == src_dtype ? KernelSelector::ForCopy(plan.dst_item_bytes_)
                                         : KernelSelector::ForCast(dst_dtype, src_dtype);
  if (plan.layout_.numel > 0) {
    // A unit is one innermost row.
    plan.num_units_ = 1;
    for (int i = 0; i + 1 < plan.layout_.rank; ++i) {
      plan.num_units_ *= plan.layout_.axes[static_cast<std::size_t>(i)].extent;
    }
  }
  return plan;
}

bool CopyPlan::RunUnits(void* dst, const void* src, std::int64_t begin, std::int64_t end) const {
  ENGINE_CHECK(0 <= begin && begin <= end && end <= num_units_,
               "RunUnits: [{}, {}) is not within [0, {})", begin, end, num_units_);
  if (begin == end) return true;
  if (!kernels_.converts) return RunRows(dst, src, begin, end);
  const ScopedDefaultFpEnvironment environment;
  return RunRows(dst, src, begin, end);
}

bool CopyPlan::RunRows(void* dst, const void* src, std::int64_t begin, std::int64_t end) const {
  const int outer_rank = layout_.rank > 0 ? layout_.rank - 1 : 0;
  const Axis inner = layout_.rank > 0 ? layout_.axes[static_cast<std::size_t>(outer_rank)] : Axis{};
  std::array<std::int64_t, tensor::kMaxRank> index{};
  std::int64_t dst_offset = 0;
  std::int64_t src_offset = 0;
  std::int64_t rest = begin;
  for (int i = outer_rank - 1; i >= 0; --i) {
    const Axis& axis = layout_.axes[static_cast<std::size_t>(i)];
    index[static_cast<std::size_t>(i)] = rest % axis.extent;
    rest /= axis.extent;
    dst_offset += index[static_cast<std::size_t>(i)] * axis.dst_stride;
    src_offset += index[static_cast<std::size_t>(i)] * axis.src_stride;
  }
  for (std::int64_t unit = begin; unit < end; ++unit) {
    auto* const dst_row = static_cast<std::byte*>(dst) + dst_offset * dst_item_bytes_;
    const auto* const src_row = static_cast<const std::byte*>(src) + src_offset * src_item_bytes_;
    if (!kernels_.run(dst_row, inner.dst_stride, src_row, inner.src_stride, inner.extent)) {
      return false;
    }
    for (int i = outer_rank - 1; i >= 0; --i) {
      const Axis& axis = layout_.axes[static_cast<std::size_t>(i)];
      std::int64_t& position = index[static_cast<std::size_t>(i)];
      dst_offset += axis.dst_stride;
      src_offset += axis.src_stride;
      if (++position < axis.extent) break;
      position = 0;
      dst_offset -= axis.extent * axis.dst_stride;
      src_offset -= axis.extent * axis.src_stride;
    }
  }
  return true;
}

core::Status CopyPlan::FirstOffender(const void* src) const {
  if (kernels_.find == nullptr) return core::OkStatus();
  const ScopedDefaultFpEnvironment environment;
  core::Status status = core::OkStatus();
  ForEachRow<1>(
      shape_, {&src_strides_},
      [&](const auto& offsets, const auto& strides, std::int64_t count, std::int64_t first) {
        const auto* const row = static_cast<const std::byte*>(src) + offsets[0] * src_item_bytes_;
        const std::int64_t found = kernels_.find(row, strides[0], count);
        if (found == count) return true;
        status =
            kernels_.offender(row + found * strides[0] * src_item_bytes_, *this, first + found);
        return false;
      });
  return status;
}

}  // namespace engine::strided
