#include "dense/layout.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/checked_math.h"

namespace engine::dense::internal {

bool IsCanonical(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                 LayoutKind order) {
  if (order == LayoutKind::kStrided) return false;
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return true;
  const std::size_t rank = extents.size();
  std::int64_t expected = 1;
  for (std::size_t n = 0; n < rank; ++n) {
    const std::size_t axis = order == LayoutKind::kRowMajor ? rank - 1 - n : n;
    if (extents[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= extents[axis];
  }
  return true;
}

core::StatusOr<tensor::Shape> ShapeOf(const char* operation,
                                      std::span<const std::int64_t> extents) {
  auto shape = tensor::Shape::FromDims(extents);
  if (shape.ok()) return shape;
  const tensor::DimVector requested(extents);
  const auto negative =
      std::find_if(extents.begin(), extents.end(), [](std::int64_t extent) { return extent < 0; });
  if (negative != extents.end()) {
    return core::InvalidArgumentError("{}: extent {} of axis {} in {} is negative (layout.extents)",
                                      operation, *negative, negative - extents.begin(), requested);
  }
  return core::InvalidArgumentError(
      "{}: the product of the extents {} overflows int64_t (layout.extents)", operation, requested);
}

core::StatusOr<std::int64_t> StridedReach(const char* operation, const tensor::Shape& shape,
                                          std::span<const std::int64_t> strides, bool exclusive) {
  const auto error = [&](const char* what) {
    return core::InvalidArgumentError("{}: strides {} of shape {} {} (layout.strided)", operation,
                                      tensor::DimVector(strides), shape, what);
  };
  // Without elements too: no tensor has negative strides.
  if (std::any_of(strides.begin(), strides.end(), [](std::int64_t s) { return s < 0; })) {
    return error("have a negative one");
  }
  if (shape.numel() == 0) return 0;
  struct Step {
    std::int64_t stride;
    std::int64_t extent;
  };
  std::array<Step, tensor::kMaxRank> steps{};
  std::size_t count = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    const std::int64_t extent = shape.dim(static_cast<int>(axis));
    if (extent == 1) continue;
    if (strides[axis] == 0) return error("have a 0 on an axis of several elements");
    // Into its place among the strides before it.
    std::size_t place = count++;
    for (; place > 0 && steps[place - 1].stride > strides[axis]; --place) {
      steps[place] = steps[place - 1];
    }
    steps[place] = {strides[axis], extent};
  }
  std::int64_t reach = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (exclusive && steps[i].stride < reach) return error("give two elements one place");
    const auto span = core::CheckedMul(steps[i].extent - 1, steps[i].stride);
    const auto sum = span.has_value() ? core::CheckedAdd(reach, *span) : std::nullopt;
    if (!sum.has_value()) return error("reach beyond int64_t");
    reach = *sum;
  }
  return reach;
}

}  // namespace engine::dense::internal
