// The view operations of Tensor: new handles on the same storage. None copies elements, allocates,
// or makes a shape that could overflow; see Shape::Recount.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/checked_math.h"
#include "core/status.h"
#include "tensor/tensor.h"

namespace engine::tensor {
namespace {

[[nodiscard]] bool IsAxis(const Shape& shape, int axis) { return axis >= 0 && axis < shape.rank(); }

[[nodiscard]] bool IsRange(std::int64_t start, std::int64_t end, std::int64_t extent) {
  return start >= 0 && start <= end && end <= extent;
}

// The errors are cold and out of line, so that what remains of each view operation is short.

[[gnu::cold, gnu::noinline]] core::Status AxisError(const char* operation, int axis,
                                                    const Shape& shape) {
  return core::InvalidArgumentError("{}: axis {} is outside [0, {}) of shape {}", operation, axis,
                                    shape.rank(), shape);
}

[[gnu::cold, gnu::noinline]] core::Status RangeError(const char* operation, std::int64_t start,
                                                     std::int64_t end, int axis,
                                                     const Shape& shape) {
  return core::InvalidArgumentError(
      "{}: range [{}, {}) of axis {} is not within [0, {}) of shape {}", operation, start, end,
      axis, shape.dim(axis), shape);
}

[[gnu::cold, gnu::noinline]] core::Status PermutationError(std::span<const int> axes,
                                                           const Shape& shape) {
  DimVector listed;
  for (const int axis : axes.first(std::min<std::size_t>(axes.size(), kMaxRank))) {
    listed.push_back(axis);
  }
  return core::InvalidArgumentError(
      "permute: {} axes {} are not a permutation of the {} axes of shape {}", axes.size(), listed,
      shape.rank(), shape);
}

[[gnu::cold, gnu::noinline]] core::Status ReshapeError(const Shape& shape, const Strides& strides,
                                                       const Shape& new_shape) {
  if (shape.numel() != new_shape.numel()) {
    return core::InvalidArgumentError("reshape: the {} elements of {} do not fit the {} of {}",
                                      shape.numel(), shape, new_shape.numel(), new_shape);
  }
  return core::InvalidArgumentError(
      "reshape: shape {} with strides {} is not contiguous, copy it first (to {})", shape, strides,
      new_shape);
}

// In place, because building new vectors takes three times as long.

void Erase(DimVector& values, int at) {
  for (int i = at + 1; i < values.size(); ++i) values[i - 1] = values[i];
  values.pop_back();
}

void Insert(DimVector& values, int at, std::int64_t value) {
  values.push_back(value);
  for (int i = values.size() - 1; i > at; --i) std::swap(values[i], values[i - 1]);
}

}  // namespace

template <typename Edit>
core::StatusOr<Tensor> Tensor::View(Edit edit) const {
  core::StatusOr<Tensor> view(*this);
  edit(*view);
  return view;
}

std::size_t Tensor::OffsetAfter(std::int64_t elements) const {
  const std::size_t bytes = core::SaturatingMul(static_cast<std::size_t>(elements),
                                                static_cast<std::size_t>(itemsize(dtype_)));
  return std::min(core::SaturatingAdd(byte_offset_, bytes), buffer_->size_bytes());
}

core::StatusOr<Tensor> Tensor::slice(int dim, std::int64_t start, std::int64_t end) const {
  CheckDefined("slice");
  if (!IsAxis(shape_, dim)) return AxisError("slice", dim, shape_);
  if (!IsRange(start, end, shape_.dim(dim))) return RangeError("slice", start, end, dim, shape_);
  return View([&](Tensor& view) {
    view.shape_.dims_[dim] = end - start;
    view.shape_.Recount();
    view.byte_offset_ = OffsetAfter(core::SaturatingMul(start, strides_[dim]));
  });
}

core::StatusOr<Tensor> Tensor::strided_slice(std::span<const SliceRange> ranges) const {
  CheckDefined("strided_slice");
  if (ranges.size() != static_cast<std::size_t>(shape_.rank())) {
    return core::InvalidArgumentError(
        "strided_slice: {} ranges for shape {}, expected one per axis", ranges.size(), shape_);
  }
  for (int i = 0; i < shape_.rank(); ++i) {
    const SliceRange& range = ranges[static_cast<std::size_t>(i)];
    if (!IsRange(range.start, range.end, shape_.dim(i))) {
      return RangeError("strided_slice", range.start, range.end, i, shape_);
    }
    if (range.step < 1) {
      return core::InvalidArgumentError("strided_slice: step {} of axis {} is below 1 (shape {})",
                                        range.step, i, shape_);
    }
  }
  return View([&](Tensor& view) {
    std::int64_t offset = 0;  // elements
    for (int i = 0; i < shape_.rank(); ++i) {
      const SliceRange& range = ranges[static_cast<std::size_t>(i)];
      const std::int64_t length = range.end - range.start;
      const std::int64_t step = std::min(range.step, std::max<std::int64_t>(length, 1));
      view.shape_.dims_[i] = step == 1 ? length : (length - 1) / step + 1;
      // An axis that keeps one element, or none, can have any stride; the others stay within the
      // buffer. The product of the former may exceed int64_t.
      view.strides_[i] = core::SaturatingMul(strides_[i], step);
      offset = core::SaturatingAdd(offset, core::SaturatingMul(range.start, strides_[i]));
    }
    view.shape_.Recount();
    view.byte_offset_ = OffsetAfter(offset);
  });
}

core::StatusOr<Tensor> Tensor::select(int dim, std::int64_t i) const {
  CheckDefined("select");
  if (!IsAxis(shape_, dim)) return AxisError("select", dim, shape_);
  if (i < 0 || i >= shape_.dim(dim)) {
    return core::InvalidArgumentError("select: index {} of axis {} is outside [0, {}) of shape {}",
                                      i, dim, shape_.dim(dim), shape_);
  }
  return View([&](Tensor& view) {
    Erase(view.shape_.dims_, dim);
    view.shape_.Recount();
    Erase(view.strides_, dim);
    view.byte_offset_ = OffsetAfter(core::SaturatingMul(i, strides_[dim]));
  });
}

core::StatusOr<Tensor> Tensor::permute(std::span<const int> axes) const {
  CheckDefined("permute");
  if (axes.size() != static_cast<std::size_t>(shape_.rank())) return PermutationError(axes, shape_);
  unsigned seen = 0;  // bit k: axis k has been named
  for (const int axis : axes) {
    if (!IsAxis(shape_, axis) || ((seen >> axis) & 1u) != 0) return PermutationError(axes, shape_);
    seen |= 1u << axis;
  }
  return View([&](Tensor& view) {
    for (int i = 0; i < shape_.rank(); ++i) {
      const int axis = axes[static_cast<std::size_t>(i)];
      view.shape_.dims_[i] = shape_.dim(axis);
      view.strides_[i] = strides_[axis];
    }
  });
}

core::StatusOr<Tensor> Tensor::transpose(int a, int b) const {
  CheckDefined("transpose");
  if (!IsAxis(shape_, a)) return AxisError("transpose", a, shape_);
  if (!IsAxis(shape_, b)) return AxisError("transpose", b, shape_);
  return View([&](Tensor& view) {
    std::swap(view.shape_.dims_[a], view.shape_.dims_[b]);
    std::swap(view.strides_[a], view.strides_[b]);
  });
}

core::StatusOr<Tensor> Tensor::squeeze(int dim) const {
  CheckDefined("squeeze");
  if (!IsAxis(shape_, dim)) return AxisError("squeeze", dim, shape_);
  if (shape_.dim(dim) != 1) {
    return core::InvalidArgumentError("squeeze: axis {} of shape {} has extent {}, expected 1", dim,
                                      shape_, shape_.dim(dim));
  }
  return View([&](Tensor& view) {
    Erase(view.shape_.dims_, dim);
    Erase(view.strides_, dim);
  });
}

core::StatusOr<Tensor> Tensor::unsqueeze(int dim) const {
  CheckDefined("unsqueeze");
  const int rank = shape_.rank();
  if (dim < 0 || dim > rank) {
    return core::InvalidArgumentError("unsqueeze: axis {} is outside [0, {}] for shape {}", dim,
                                      rank, shape_);
  }
  if (rank == kMaxRank) {
    return core::InvalidArgumentError("unsqueeze: shape {} already has {} axes, the most there are",
                                      shape_, kMaxRank);
  }
  // As RowMajorStrides: an extent of 0 counts as 1, so that the stride stays positive.
  const std::int64_t stride =
      dim == rank ? 1
                  : core::SaturatingMul(std::max<std::int64_t>(shape_.dim(dim), 1), strides_[dim]);
  return View([&](Tensor& view) {
    Insert(view.shape_.dims_, dim, 1);
    Insert(view.strides_, dim, stride);
  });
}

core::StatusOr<Tensor> Tensor::reshape(Shape new_shape) const {
  CheckDefined("reshape");
  if (new_shape.numel() != numel() || !is_contiguous()) {
    return ReshapeError(shape_, strides_, new_shape);
  }
  return View([&](Tensor& view) {
    view.shape_ = new_shape;
    view.strides_ = RowMajorStrides(new_shape);
  });
}

core::StatusOr<Tensor> Tensor::view_as_dtype(DataType new_dtype) const {
  CheckDefined("view_as_dtype");
  if (is_reserved(new_dtype)) {
    return core::UnimplementedError(
        "view_as_dtype: dtype {} is reserved and has no storage yet (from {}, shape {})", new_dtype,
        dtype_, shape_);
  }
  if (itemsize(new_dtype) != itemsize(dtype_)) {
    return core::InvalidArgumentError(
        "view_as_dtype: {} has {} bytes an element, {} has {}; expected the same (shape {})",
        new_dtype, itemsize(new_dtype), dtype_, itemsize(dtype_), shape_);
  }
  return View([&](Tensor& view) { view.dtype_ = new_dtype; });
}

}  // namespace engine::tensor
