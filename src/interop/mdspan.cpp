#include "interop/mdspan.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/checked_math.h"

namespace engine::interop::internal {

core::StatusOr<tensor::Strides> UniqueStrides(const tensor::Tensor& tensor,
                                              std::uint64_t max_index) {
  const tensor::Shape& shape = tensor.shape();
  if (shape.numel() == 0) return RowMajorStrides(shape);
  tensor::Strides strides = tensor.strides();
  // An insertion sort: of the standard library's algorithms on so few elements GCC 12 and 14 warn.
  std::array<int, tensor::kMaxRank> by_stride{};
  std::size_t count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 1) continue;
    std::size_t at = count++;
    for (; at > 0 && strides[i] < strides[by_stride[at - 1]]; --at) {
      by_stride[at] = by_stride[at - 1];
    }
    by_stride[at] = i;
  }
  // Each axis has to step over all that the axes below it reach. A tensor's window is within its
  // buffer, so that the products do not overflow while that holds.
  std::int64_t reached = 1;
  for (std::size_t k = 0; k < count; ++k) {
    const int axis = by_stride[k];
    if (strides[axis] < reached) {
      return core::InvalidArgumentError(
          "view: shape {} with strides {}, which do not step over each other", shape, strides);
    }
    reached = core::SaturatingMul(strides[axis], shape.dim(axis));
  }
  // An axis of one element fits in behind its right neighbour, where row-major order has it; where
  // the index type has no such stride, before all axes.
  std::int64_t behind = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape.dim(i) == 1) {
      strides[i] = static_cast<std::uint64_t>(behind) <= max_index ? behind : 1;
    } else {
      behind = core::SaturatingMul(strides[i], shape.dim(i));
    }
  }
  return strides;
}

core::Status CheckExtents(const tensor::Tensor& tensor, const tensor::Strides& strides,
                          const std::array<std::int64_t, tensor::kMaxRank>& fixed, int rank,
                          std::uint64_t max_index) {
  const tensor::Shape& shape = tensor.shape();
  if (shape.rank() != rank) {
    return core::InvalidArgumentError("view: shape {} as {} axes", shape, rank);
  }
  // One past the last element, as an mdspan's required_span_size() counts; 0 without elements.
  std::int64_t span = shape.numel() > 0 ? 1 : 0;
  std::int64_t widest = 0;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t expected = fixed[static_cast<std::size_t>(i)];
    if (expected >= 0 && shape.dim(i) != expected) {
      return core::InvalidArgumentError("view: shape {} where axis {} is fixed to {}", shape, i,
                                        expected);
    }
    widest = std::max({widest, shape.dim(i), strides[i]});
    if (shape.numel() > 0) {
      span = core::SaturatingAdd(span, core::SaturatingMul(shape.dim(i) - 1, strides[i]));
    }
  }
  if (static_cast<std::uint64_t>(std::max(span, widest)) > max_index) {
    return core::InvalidArgumentError(
        "view: shape {} with strides {} exceeds the index type, whose largest value is {}", shape,
        strides, max_index);
  }
  return core::OkStatus();
}

core::Status LayoutMismatch(const tensor::Tensor& tensor) {
  return core::InvalidArgumentError("view: shape {} with strides {} is not in the mdspan's layout",
                                    tensor.shape(), tensor.strides());
}

}  // namespace engine::interop::internal
