// tensor/shape.h: shapes and strides of fixed capacity, without heap storage.
// Layer 1 (tensor_base). Header-only value types; distinct objects are independent, concurrent
// const access to one object is safe.
// Source: docs/design/tensor.md, "Shape and strides".
#ifndef ENGINE_TENSOR_SHAPE_H_
#define ENGINE_TENSOR_SHAPE_H_

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "core/check.h"
#include "core/checked_math.h"
#include "core/status.h"

namespace engine::tensor {

// Transformer inference needs at most 5 axes; 8 leave headroom without heap allocation.
inline constexpr int kMaxRank = 8;

// Up to kMaxRank int64_t values, which come and go at the end only. Dims and strides both use it.
class DimVector {
 public:
  constexpr DimVector() = default;
  // CHECKs values.size() <= kMaxRank, as does the span form.
  constexpr DimVector(std::initializer_list<std::int64_t> values)
      : DimVector(std::span<const std::int64_t>(values.begin(), values.size())) {}
  constexpr explicit DimVector(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) push_back(value);
  }

  // How many values there are: the rank, for dims and strides.
  [[nodiscard]] constexpr int size() const { return size_; }
  // Whether there are none, as for a scalar.
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

  // CHECKs 0 <= i < size().
  [[nodiscard]] constexpr std::int64_t operator[](int i) const {
    CheckIndex(i);
    return values_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] constexpr std::int64_t& operator[](int i) {
    CheckIndex(i);
    return values_[static_cast<std::size_t>(i)];
  }

  // CHECKs size() < kMaxRank.
  constexpr void push_back(std::int64_t value) {
    ENGINE_CHECK(size_ < kMaxRank, "push_back: more than {} values", kMaxRank);
    values_[static_cast<std::size_t>(size_++)] = value;
  }
  // CHECKs size() > 0.
  constexpr void pop_back() {
    ENGINE_CHECK(size_ > 0, "pop_back: no values");
    --size_;
  }

  // Valid until this object changes or dies, as are the iterators.
  [[nodiscard]] constexpr std::span<const std::int64_t> values() const {
    return {values_.data(), static_cast<std::size_t>(size_)};
  }
  // For range-based loops.
  [[nodiscard]] constexpr const std::int64_t* begin() const { return values_.data(); }
  // One past the last value.
  [[nodiscard]] constexpr const std::int64_t* end() const { return values_.data() + size_; }

  friend constexpr bool operator==(const DimVector& a, const DimVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  constexpr void CheckIndex(int i) const {
    ENGINE_CHECK(i >= 0 && i < size_, "index {} is outside [0, {})", i, size_);
  }

  std::array<std::int64_t, kMaxRank> values_{};
  int size_ = 0;
};

// Distances between neighbours along each axis, in ELEMENTS, not bytes.
using Strides = DimVector;

// The extents of a tensor. Rank 0 is a scalar of one element; an extent of 0 makes an empty tensor.
class Shape {
 public:
  constexpr Shape() = default;  // rank 0

  // For extents written in source. CHECKs what FromDims reports.
  constexpr Shape(std::initializer_list<std::int64_t> dims)
      : Shape(CheckedFromLiteral(std::span<const std::int64_t>(dims.begin(), dims.size()))) {}

  // For extents that come from data.
  //   Errors   InvalidArgument: rank above kMaxRank, a negative extent, or a product of the
  //            non-zero extents that overflows int64_t (it bounds every row-major stride, and is
  //            the element count when no extent is 0).
  [[nodiscard]] static core::StatusOr<Shape> FromDims(std::span<const std::int64_t> dims);
  [[nodiscard]] static core::StatusOr<Shape> FromDims(std::initializer_list<std::int64_t> dims) {
    return FromDims(std::span<const std::int64_t>(dims.begin(), dims.size()));
  }

  // The number of axes, at most kMaxRank.
  [[nodiscard]] constexpr int rank() const { return dims_.size(); }
  // CHECKs 0 <= i < rank().
  [[nodiscard]] constexpr std::int64_t dim(int i) const {
    ENGINE_CHECK(i >= 0 && i < rank(), "dim: index {} is outside [0, {})", i, rank());
    return dims_[i];
  }
  // The number of elements; cached.
  [[nodiscard]] constexpr std::int64_t numel() const { return numel_; }
  // Valid until this object changes or dies.
  [[nodiscard]] constexpr std::span<const std::int64_t> dims() const { return dims_.values(); }

  // Makes each axis as long as `extents` says. None gets longer, so nothing can overflow. The
  // one edit that other modules' views need, public because this layer cannot name them as friends:
  // FromDims would multiply with checks and return an error that cannot occur. Tensor, which is a
  // friend, also drops, inserts and reorders axes.
  // CHECKs extents.size() == rank() and 0 <= extents[i] <= dim(i).
  constexpr void ShrinkTo(std::span<const std::int64_t> extents) {
    ENGINE_CHECK(extents.size() == dims().size(), "ShrinkTo: {} extents for {} axes",
                 extents.size(), rank());
    for (int i = 0; i < rank(); ++i) {
      const std::int64_t extent = extents[static_cast<std::size_t>(i)];
      ENGINE_CHECK(extent >= 0 && extent <= dims_[i], "ShrinkTo: extent {} is outside [0, {}]",
                   extent, dims_[i]);
      dims_[i] = extent;
    }
    Recount();
  }

  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  // The element count of valid dims; nullopt when they are invalid.
  static constexpr std::optional<std::int64_t> CountElements(std::span<const std::int64_t> dims);
  static constexpr Shape CheckedFromLiteral(std::span<const std::int64_t> dims);
  constexpr Shape(std::span<const std::int64_t> valid_dims, std::int64_t numel)
      : dims_(valid_dims), numel_(numel) {}

  // Tensor edits the shapes of its views in place. Shrinking, dropping and reordering extents and
  // inserting extents of 1 cannot make the product overflow; the count only has to follow.
  friend class Tensor;
  constexpr void Recount() {
    numel_ = 1;
    for (const std::int64_t dim : dims_) numel_ *= dim;
  }

  DimVector dims_;
  std::int64_t numel_ = 1;
};

constexpr std::optional<std::int64_t> Shape::CountElements(std::span<const std::int64_t> dims) {
  std::int64_t product = 1;
  bool has_zero = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      has_zero = true;
      continue;
    }
    const std::optional<std::int64_t> next = core::CheckedMul(product, dim);
    if (!next.has_value()) return std::nullopt;
    product = *next;
  }
  return has_zero ? 0 : product;
}

constexpr Shape Shape::CheckedFromLiteral(std::span<const std::int64_t> dims) {
  ENGINE_CHECK(dims.size() <= static_cast<std::size_t>(kMaxRank), "Shape: rank {} is above {}",
               dims.size(), kMaxRank);
  for (const std::int64_t dim : dims) ENGINE_CHECK(dim >= 0, "Shape: extent {} is negative", dim);
  const std::optional<std::int64_t> numel = CountElements(dims);
  ENGINE_CHECK(numel.has_value(), "Shape: the product of the extents overflows int64_t");
  return Shape(dims, *numel);
}

// Strides of a contiguous row-major tensor: the last axis has 1, each other axis the product of the
// extents after it, where an extent of 0 counts as 1. Cannot overflow on a valid shape.
[[nodiscard]] constexpr Strides RowMajorStrides(const Shape& shape) {
  Strides strides(shape.dims());  // of the right size
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape.dim(i), 1);
  }
  return strides;
}

// True when walking the elements in row-major order walks memory without gaps: strides equal
// RowMajorStrides(shape), where axes of extent 1 (and all axes of an empty shape) do not matter.
// CHECKs that both have the same rank.
[[nodiscard]] constexpr bool IsContiguous(const Shape& shape, const Strides& strides) {
  ENGINE_CHECK(shape.rank() == strides.size(), "IsContiguous: rank {} with {} strides",
               shape.rank(), strides.size());
  if (shape.numel() == 0) return true;
  std::int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const std::int64_t dim = shape.dim(i);
    if (dim == 1) continue;
    if (strides[i] != expected) return false;
    expected *= dim;
  }
  return true;
}

}  // namespace engine::tensor

// Prints "[2, 3, 4]"; "[]" when empty.
template <>
struct fmt::formatter<engine::tensor::DimVector> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <typename FormatContext>
  auto format(const engine::tensor::DimVector& dims, FormatContext& context) const {
    auto out = context.out();
    *out++ = '[';
    for (int i = 0; i < dims.size(); ++i) {
      out = fmt::format_to(out, "{}{}", i == 0 ? "" : ", ", dims[i]);
    }
    *out++ = ']';
    return out;
  }
};

// Prints the extents, as a DimVector.
template <>
struct fmt::formatter<engine::tensor::Shape> : fmt::formatter<engine::tensor::DimVector> {
  template <typename FormatContext>
  auto format(const engine::tensor::Shape& shape, FormatContext& context) const {
    return fmt::formatter<engine::tensor::DimVector>::format(
        engine::tensor::DimVector(shape.dims()), context);
  }
};

namespace engine::tensor {

inline core::StatusOr<Shape> Shape::FromDims(std::span<const std::int64_t> dims) {
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) {
    return core::InvalidArgumentError("Shape: rank {} is above {}", dims.size(), kMaxRank);
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      return core::InvalidArgumentError("Shape: extent {} of axis {} in {} is negative", dims[i], i,
                                        DimVector(dims));
    }
  }
  const std::optional<std::int64_t> numel = CountElements(dims);
  if (!numel.has_value()) {
    return core::InvalidArgumentError(
        "Shape: the product of the non-zero extents of {} overflows int64_t", DimVector(dims));
  }
  return Shape(dims, *numel);
}

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_SHAPE_H_
