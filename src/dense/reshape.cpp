#include "dense/reshape.h"

#include <optional>

#include "core/checked_math.h"

namespace engine::dense::internal {

core::Status ResolveExtents(const char* operation, std::int64_t numel,
                            std::span<std::int64_t> extents) {
  const tensor::DimVector requested{std::span<const std::int64_t>(extents)};
  std::int64_t* inferred = nullptr;
  bool has_zero = false;
  std::int64_t known = 1;  // the product of the extents that are neither -1 nor 0
  for (std::int64_t& extent : extents) {
    if (extent == kInferExtent) {
      if (inferred != nullptr) {
        return core::InvalidArgumentError("{}: {} has more than one -1 (reshape.infer)", operation,
                                          requested);
      }
      inferred = &extent;
      continue;
    }
    if (extent < 0) {
      return core::InvalidArgumentError("{}: extent {} in {} is negative (reshape.infer)",
                                        operation, extent, requested);
    }
    if (extent == 0) {
      has_zero = true;
      continue;
    }
    const std::optional<std::int64_t> product = core::CheckedMul(known, extent);
    if (!product.has_value()) {
      return core::InvalidArgumentError(
          "{}: the product of the extents {} overflows int64_t (reshape.count)", operation,
          requested);
    }
    known = *product;
  }
  if (inferred != nullptr && has_zero) {
    return core::InvalidArgumentError(
        "{}: -1 in {} could be anything beside an extent of 0 (reshape.infer)", operation,
        requested);
  }
  const bool fits = inferred != nullptr ? numel % known == 0 : (has_zero ? 0 : known) == numel;
  if (!fits) {
    return core::InvalidArgumentError("{}: {} elements do not fit {} (reshape.count)", operation,
                                      numel, requested);
  }
  if (inferred != nullptr) *inferred = numel / known;
  return core::OkStatus();
}

core::Status RequireOrder(const char* operation, std::span<const std::int64_t> extents,
                          std::span<const std::int64_t> strides, LayoutKind order) {
  if (IsCanonical(extents, strides, order)) return core::OkStatus();
  return core::InvalidArgumentError(
      "{}: strides {} of shape {} are not contiguous in {} order; copy first (reshape.order)",
      operation, tensor::DimVector(strides), tensor::DimVector(extents),
      order == LayoutKind::kRowMajor ? "row-major" : "column-major");
}

}  // namespace engine::dense::internal
