// dense/layout.h: extents of static rank, and how they lie in memory.
// Layer 4. No allocation; value types; thread-safe as such.
// Source: docs/design/dense.md, "Types".
#ifndef ENGINE_DENSE_LAYOUT_H_
#define ENGINE_DENSE_LAYOUT_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "core/check.h"
#include "core/status.h"
#include "tensor/shape.h"

namespace engine::dense {

// One extent per axis; strides, in elements, have the same type.
template <std::size_t Rank>
using Extents = std::array<std::int64_t, Rank>;

// An extent that the reshape family works out from the number of elements.
inline constexpr std::int64_t kInferExtent = -1;

// Layouts, as template arguments. The first two are canonical: without gaps, strides a function of
// the extents. This one with the last axis contiguous:
struct RowMajor {};
// With the first axis contiguous.
struct ColumnMajor {};
// Strides of its own, known at run time.
struct Strided {};

// RowMajor or ColumnMajor.
template <typename Layout>
concept CanonicalLayout = std::same_as<Layout, RowMajor> || std::same_as<Layout, ColumnMajor>;
// Any of the three.
template <typename Layout>
concept DenseLayout = CanonicalLayout<Layout> || std::same_as<Layout, Strided>;

namespace internal {

enum class LayoutKind : std::uint8_t { kRowMajor, kColumnMajor, kStrided };

template <DenseLayout Layout>
inline constexpr LayoutKind kLayoutKind =
    std::same_as<Layout, RowMajor>      ? LayoutKind::kRowMajor
    : std::same_as<Layout, ColumnMajor> ? LayoutKind::kColumnMajor
                                        : LayoutKind::kStrided;

// What extents and indices may be written as.
template <typename T>
concept IndexInteger = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool>;

// The value as an index. One beyond int64_t becomes the largest, which every check refuses; cut
// down to 64 bits it could turn into -1, or into a valid index.
template <IndexInteger T>
[[nodiscard]] constexpr std::int64_t ToIndex(T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t)) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (value > static_cast<std::uint64_t>(kMax)) return kMax;
  }
  return static_cast<std::int64_t>(value);
}

template <IndexInteger... T>
[[nodiscard]] constexpr Extents<sizeof...(T)> ToExtents(T... values) {
  return {ToIndex(values)...};
}

// Extents as a Shape. At most tensor::kMaxRank of them.
//   Errors   InvalidArgument: a negative extent, or a product of the non-zero ones beyond int64_t.
[[nodiscard]] core::StatusOr<tensor::Shape> ShapeOf(const char* operation,
                                                    std::span<const std::int64_t> extents);

// Valid extents as a Shape.
template <std::size_t Rank>
[[nodiscard]] tensor::Shape ToShape(const Extents<Rank>& extents) {
  return *tensor::Shape::FromDims(std::span<const std::int64_t>(extents));
}
template <std::size_t Rank>
[[nodiscard]] tensor::Strides ToStrides(const Extents<Rank>& strides) {
  return tensor::Strides(std::span<const std::int64_t>(strides));
}

// True when strides are the canonical ones of the order; axes of extent 1 (and all axes when there
// are no elements) do not matter. No strides are canonical for kStrided.
[[nodiscard]] bool IsCanonical(std::span<const std::int64_t> extents,
                               std::span<const std::int64_t> strides, LayoutKind order);

// How many elements lie between the first and one past the last that the layout reaches.
//   Errors   InvalidArgument: a negative stride, stride 0 on an axis of more than one element, or a
//            reach beyond int64_t. With `exclusive` also a layout in which two indices may share an
//            element: each axis, in the order of strides, has to step over all that the smaller
//            ones reach. (That also refuses interleaved layouts, which happen not to collide.)
[[nodiscard]] core::StatusOr<std::int64_t> StridedReach(const char* operation,
                                                        const tensor::Shape& shape,
                                                        std::span<const std::int64_t> strides,
                                                        bool exclusive);

// Extents and, for Strided, strides. Whoever makes one has validated both.
template <std::size_t Rank, DenseLayout Layout>
class Mapping {
 public:
  static constexpr bool kCanonical = CanonicalLayout<Layout>;

  // No elements; of rank 0, one.
  constexpr Mapping() = default;
  constexpr explicit Mapping(const Extents<Rank>& extents) requires kCanonical : extents_(extents) {
  }
  constexpr Mapping(const Extents<Rank>& extents,
                    const Extents<Rank>& strides) requires(!kCanonical)
      : extents_(extents), strides_(strides) {}

  [[nodiscard]] constexpr const Extents<Rank>& extents() const { return extents_; }

  [[nodiscard]] constexpr std::int64_t numel() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : extents_) product *= extent;
    return product;
  }

  // Canonical strides count an extent of 0 as 1, as tensor::RowMajorStrides does.
  [[nodiscard]] constexpr Extents<Rank> strides() const {
    if constexpr (kCanonical) {
      Extents<Rank> strides{};
      std::int64_t stride = 1;
      for (std::size_t n = 0; n < Rank; ++n) {
        const std::size_t axis = std::same_as<Layout, RowMajor> ? Rank - 1 - n : n;
        strides[axis] = stride;
        if (extents_[axis] > 1) stride *= extents_[axis];
      }
      return strides;
    } else {
      return strides_;
    }
  }

  // The element with these indices; each is checked in builds without NDEBUG.
  [[nodiscard]] constexpr std::int64_t Offset(const Extents<Rank>& index) const {
    std::int64_t offset = 0;
    for (std::size_t n = 0; n < Rank; ++n) {
      const std::size_t axis = std::same_as<Layout, ColumnMajor> ? Rank - 1 - n : n;
      ENGINE_DCHECK(index[axis] >= 0 && index[axis] < extents_[axis],
                    "index {} of axis {} is outside [0, {})", index[axis], axis, extents_[axis]);
      if constexpr (kCanonical) {
        offset = offset * extents_[axis] + index[axis];
      } else {
        offset += index[axis] * strides_[axis];
      }
    }
    return offset;
  }

 private:
  struct NoStrides {};

  Extents<Rank> extents_{};
  [[no_unique_address]] std::conditional_t<kCanonical, NoStrides, Extents<Rank>> strides_{};
};

// Extents as a mapping.
//   Errors   as ShapeOf.
template <std::size_t Rank, CanonicalLayout Layout>
[[nodiscard]] core::StatusOr<Mapping<Rank, Layout>> MakeMapping(const char* operation,
                                                                const Extents<Rank>& extents) {
  ENGINE_RETURN_IF_ERROR(ShapeOf(operation, extents).status());
  return Mapping<Rank, Layout>(extents);
}

}  // namespace internal
}  // namespace engine::dense

#endif  // ENGINE_DENSE_LAYOUT_H_
