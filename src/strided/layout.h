// strided/layout.h: walking strided layouts, in logical order and in memory order.
// Layer 2. No allocation, no threads, no dtype; offsets and strides in elements.
#ifndef ENGINE_STRIDED_LAYOUT_H_
#define ENGINE_STRIDED_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/shape.h"

namespace engine::strided {

// One axis of a two-sided traversal. Without initial values: an array for the greatest rank is not
// worth clearing for the few axes that most layouts have.
struct Axis {
  std::int64_t extent;      // elements along it, on both sides
  std::int64_t dst_stride;  // elements
  std::int64_t src_stride;  // elements
};

// A traversal of equal-shaped destination and source, reduced to the fewest axes: no axis of extent
// 1, outermost first by destination stride (source stride breaks ties), neighbours merged where
// both sides allow. A scalar has no axes. The element pairs visited are those of the original
// layouts.
struct Layout {
  std::array<Axis, tensor::kMaxRank> axes;  // outermost first; entries from `rank` on are unused
  int rank = 0;                             // axes in use
  std::int64_t numel = 1;                   // the product of their extents; 0 for an empty shape
};

// CHECKs that the three ranks agree. For numel 0 the result has rank 0 and numel 0.
[[nodiscard]] Layout NormalizeLayout(const tensor::Shape& shape, const tensor::Strides& dst_strides,
                                     const tensor::Strides& src_strides);

// The element offset of the element with this row-major index: sum of coordinate * stride.
//   CHECKs   0 <= logical_index < shape.numel(); ranks agree.
[[nodiscard]] std::int64_t OffsetOf(std::int64_t logical_index, const tensor::Shape& shape,
                                    const tensor::Strides& strides);

// The coordinates of the element with this row-major index. CHECKs as OffsetOf.
[[nodiscard]] tensor::DimVector CoordinatesOf(std::int64_t logical_index,
                                              const tensor::Shape& shape);

// Walks `kSides` equal-shaped layouts in logical (row-major) order, one innermost row at a time.
// Calls row(offsets, inner_strides, count, first_logical_index), offsets and strides in elements,
// one entry per side; stops early when it returns false. Nothing is called for an empty shape. Rows
// of one element have the inner stride 0: the layout's own may be anything, too large to step by.
template <std::size_t kSides, typename Row>
void ForEachRow(const tensor::Shape& shape,
                const std::array<const tensor::Strides*, kSides>& strides, Row&& row) {
  if (shape.numel() == 0) return;
  const int outer_rank = shape.rank() > 0 ? shape.rank() - 1 : 0;
  const std::int64_t count = shape.rank() > 0 ? shape.dim(outer_rank) : 1;
  std::array<std::int64_t, kSides> offsets{};
  std::array<std::int64_t, kSides> inner{};
  for (std::size_t side = 0; side < kSides; ++side) {
    inner[side] = count > 1 ? (*strides[side])[outer_rank] : 0;
  }
  std::array<std::int64_t, tensor::kMaxRank> index{};
  for (std::int64_t first = 0;;) {
    if (!row(offsets, inner, count, first)) return;
    first += count;
    int axis = outer_rank - 1;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (++index[a] < shape.dim(axis)) {
        for (std::size_t side = 0; side < kSides; ++side) offsets[side] += (*strides[side])[axis];
        break;
      }
      index[a] = 0;
      for (std::size_t side = 0; side < kSides; ++side) {
        offsets[side] -= (shape.dim(axis) - 1) * (*strides[side])[axis];
      }
    }
    if (axis < 0) return;
  }
}

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_LAYOUT_H_
