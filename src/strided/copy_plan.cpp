#include "strided/copy_plan.h"

#include <concepts>
#include <cstddef>

#include "core/check.h"
#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"
#include "strided/internal/plan_builder.h"
#include "strided/internal/plan_runner.h"
#include "strided/internal/policy.h"

namespace engine::strided {
namespace {

using tensor::DataType;

template <CastElement Src, CastElement Dst>
bool IsRepresentable(const std::byte* element) {
  Dst converted{};
  return ConvertElement(LoadElement<Src>(element), converted);
}

// What FirstOffender needs to know about a pair of dtypes; null functions when every element
// converts.
struct OffenderSearch {
  bool (*is_representable)(const std::byte* element) = nullptr;
  core::Status (*describe)(const std::byte* element, const tensor::DimVector& coordinates,
                           std::int64_t logical_index, DataType dst, DataType src) = nullptr;
};

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

template <CastElement Src>
core::Status DescribeOffender(const std::byte* element, const tensor::DimVector& coordinates,
                              std::int64_t logical_index, DataType dst, DataType src) {
  return core::InvalidArgumentError("cast: {} at {} (element {}) of {} is not representable in {}",
                                    Printable<Src>(element), coordinates, logical_index, src, dst);
}

OffenderSearch SearchFor(DataType dst, DataType src) {
  const auto none = [](DataType) { return OffenderSearch{}; };
  return VisitDType(
      src,
      [&](auto src_tag) {
        using Src = typename decltype(src_tag)::type;
        return VisitDType(
            dst,
            [](auto dst_tag) {
              using Dst = typename decltype(dst_tag)::type;
              if constexpr (CastElement<Src> && kIsInteger<Dst> && !std::same_as<Src, Dst>) {
                return OffenderSearch{IsRepresentable<Src, Dst>, DescribeOffender<Src>};
              } else {
                return OffenderSearch{};
              }
            },
            none);
      },
      none);
}

}  // namespace

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
  plan.dst_dtype_ = dst_dtype;
  plan.src_dtype_ = src_dtype;
  plan.dst_item_bytes_ = static_cast<std::uint8_t>(tensor::itemsize(dst_dtype));
  plan.src_item_bytes_ = static_cast<std::uint8_t>(tensor::itemsize(src_dtype));
  plan.shape_ = shape;
  plan.src_strides_ = src_strides;
  PlanBuilder(plan).Build(NormalizeLayout(shape, dst_strides, src_strides));
  return plan;
}

bool CopyPlan::RunOnce(const tensor::Shape& shape, DataType dst_dtype,
                       const tensor::Strides& dst_strides, DataType src_dtype,
                       const tensor::Strides& src_strides, void* dst, const void* src) {
  // None are not few: their addresses may be null, from which no step may be taken.
  const bool are_few = 0 < shape.numel() && shape.numel() <= kElementLoopMax;
  if (!are_few || dst_dtype != src_dtype || tensor::is_reserved(dst_dtype)) {
    return Make(shape, dst_dtype, dst_strides, src_dtype, src_strides).Run(dst, src);
  }
  ENGINE_CHECK(shape.rank() == dst_strides.size() && shape.rank() == src_strides.size(),
               "CopyPlan: shape {}, strides {} and {} differ in rank", shape, dst_strides,
               src_strides);
  PlanRunner::CopyFewElements(tensor::itemsize(dst_dtype), shape, dst_strides, src_strides,
                              static_cast<std::byte*>(dst), static_cast<const std::byte*>(src));
  return true;
}

bool CopyPlan::RunUnits(void* dst, const void* src, std::int64_t begin, std::int64_t end) const {
  ENGINE_CHECK(0 <= begin && begin <= end && end <= num_units_,
               "RunUnits: [{}, {}) is not within [0, {})", begin, end, num_units_);
  if (begin == end) return true;
  return PlanRunner::Run(*this, static_cast<std::byte*>(dst), static_cast<const std::byte*>(src),
                         begin, end);
}

core::Status CopyPlan::FirstOffender(const void* src) const {
  const OffenderSearch search = SearchFor(dst_dtype_, src_dtype_);
  if (search.is_representable == nullptr) return core::OkStatus();
  // Widening a float depends on the mode, and must not leave its mark on the host's flags.
  const ScopedDefaultFpEnvironment environment;
  core::Status status = core::OkStatus();
  ForEachRow<1>(
      shape_, {&src_strides_},
      [&](const auto& offsets, const auto& strides, std::int64_t count, std::int64_t first) {
        const auto* element = static_cast<const std::byte*>(src) + offsets[0] * src_item_bytes_;
        for (std::int64_t i = 0; i < count; ++i, element += strides[0] * src_item_bytes_) {
          if (search.is_representable(element)) continue;
          status = search.describe(element, CoordinatesOf(first + i, shape_), first + i, dst_dtype_,
                                   src_dtype_);
          return false;
        }
        return true;
      });
  return status;
}

}  // namespace engine::strided
