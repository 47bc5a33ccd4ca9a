#include "strided/layout.h"

#include <utility>

#include "core/check.h"
#include "core/checked_math.h"

namespace engine::strided {
namespace {

// The order of axes in memory: larger destination strides outside.
bool OutsideOf(const Axis& a, const Axis& b) {
  if (a.dst_stride != b.dst_stride) return a.dst_stride > b.dst_stride;
  return a.src_stride > b.src_stride;
}

// Whether walking `outer` then `inner` is one walk of extent outer.extent * inner.extent.
bool CanMerge(const Axis& outer, const Axis& inner) {
  return core::CheckedMul(inner.dst_stride, inner.extent) == outer.dst_stride &&
         core::CheckedMul(inner.src_stride, inner.extent) == outer.src_stride;
}

}  // namespace

Layout NormalizeLayout(const tensor::Shape& shape, const tensor::Strides& dst_strides,
                       const tensor::Strides& src_strides) {
  ENGINE_CHECK(shape.rank() == dst_strides.size() && shape.rank() == src_strides.size(),
               "NormalizeLayout: shape {}, strides {} and {} differ in rank", shape, dst_strides,
               src_strides);
  Layout layout;
  layout.numel = shape.numel();
  if (layout.numel == 0) return layout;

  std::array<Axis, tensor::kMaxRank> axes;
  std::size_t count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 1) continue;
    axes[count++] = Axis{shape.dim(i), dst_strides[i], src_strides[i]};
  }
  // Insertion sort: at most eight axes, stable, and no allocation.
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t k = i; k > 0 && OutsideOf(axes[k], axes[k - 1]); --k) {
      std::swap(axes[k], axes[k - 1]);
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kept > 0 && CanMerge(layout.axes[kept - 1], axes[i])) {
      Axis& outer = layout.axes[kept - 1];
      outer = Axis{outer.extent * axes[i].extent, axes[i].dst_stride, axes[i].src_stride};
    } else {
      layout.axes[kept++] = axes[i];
    }
  }
  layout.rank = static_cast<int>(kept);
  return layout;
}

tensor::DimVector CoordinatesOf(std::int64_t logical_index, const tensor::Shape& shape) {
  ENGINE_CHECK(logical_index >= 0 && logical_index < shape.numel(),
               "element {} is outside a shape of {} elements", logical_index, shape.numel());
  tensor::DimVector coordinates(shape.dims());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    coordinates[i] = logical_index % shape.dim(i);
    logical_index /= shape.dim(i);
  }
  return coordinates;
}

std::int64_t OffsetOf(std::int64_t logical_index, const tensor::Shape& shape,
                      const tensor::Strides& strides) {
  const tensor::DimVector coordinates = CoordinatesOf(logical_index, shape);
  std::int64_t offset = 0;
  for (int i = 0; i < shape.rank(); ++i) offset += coordinates[i] * strides[i];
  return offset;
}

}  // namespace engine::strided
