// interop/mdspan.h: tensors as std::mdspan, or as another type of that shape.
// Layer 4.
//
//   using Matrix = std::mdspan<const float, std::dextents<std::int64_t, 2>, std::layout_stride>;
//   ENGINE_ASSIGN_OR_RETURN(Matrix matrix, interop::AsMdspan<Matrix>(tensor));
//
// Needs no <mdspan>: the caller names the type, the standard's or Kokkos's, and its layout. What is
// asked of it is in the concept below.
#ifndef ENGINE_INTEROP_MDSPAN_H_
#define ENGINE_INTEROP_MDSPAN_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/status.h"
#include "interop/span.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace engine::interop {

namespace internal {

template <typename M>
concept HasMdspanInterface = requires(typename M::element_type* data,
                                      const typename M::mapping_type& mapping) {
  typename M::extents_type;
  typename M::index_type;
  { M::rank() } -> std::convertible_to<std::size_t>;
  { M::extents_type::static_extent(0) } -> std::convertible_to<std::size_t>;
  M(data, mapping);
};

}  // namespace internal

// The part of std::mdspan that is used. The accessor is to be one that takes plain pointers; what
// it assumes of them beyond the element's own alignment it tells as std::aligned_accessor does, by
// a constant byte_alignment.
template <typename M>
concept MdspanLike = internal::HasMdspanInterface<M> && ViewableElement<typename M::element_type> &&
    std::integral<typename M::index_type> &&
    (M::rank() <= static_cast<std::size_t>(tensor::kMaxRank));

namespace internal {

// Of the first element.
template <typename M>
[[nodiscard]] constexpr std::size_t AlignmentOf() {
  std::size_t alignment = alignof(typename M::element_type);
  if constexpr (requires { M::accessor_type::byte_alignment; }) {
    alignment = std::max<std::size_t>(alignment, M::accessor_type::byte_alignment);
  }
  return alignment;
}

// A layout whose strides are given: std::layout_stride.
template <typename M>
inline constexpr bool kTakesStrides =
    std::constructible_from<typename M::mapping_type, const typename M::extents_type&,
                            const std::array<typename M::index_type, M::rank()>&>;

// The strides a mapping may have: those that do not matter are replaced, so that all are positive
// and the mapping is one to one, which std::layout_stride requires. Of an axis of one element they
// are at most `max_index`, the largest value of the index type.
//   Errors   InvalidArgument: strides that do not step over each other.
[[nodiscard]] core::StatusOr<tensor::Strides> UniqueStrides(const tensor::Tensor& tensor,
                                                            std::uint64_t max_index);

// That extents and strides fit the index type, and equal those that are fixed (-1: not fixed).
[[nodiscard]] core::Status CheckExtents(const tensor::Tensor& tensor,
                                        const tensor::Strides& strides,
                                        const std::array<std::int64_t, tensor::kMaxRank>& fixed,
                                        int rank, std::uint64_t max_index);

[[nodiscard]] core::Status LayoutMismatch(const tensor::Tensor& tensor);

template <typename M>
inline constexpr auto kMaxIndex =
    static_cast<std::uint64_t>(std::numeric_limits<typename M::index_type>::max());

template <typename M>
[[nodiscard]] core::Status CheckExtentsOf(const tensor::Tensor& tensor,
                                          const tensor::Strides& strides) {
  std::array<std::int64_t, tensor::kMaxRank> fixed{};
  for (std::size_t i = 0; i < M::rank(); ++i) {
    const std::size_t extent = M::extents_type::static_extent(i);
    fixed[i] = extent == std::numeric_limits<std::size_t>::max()  // std::dynamic_extent
                   ? -1
                   : static_cast<std::int64_t>(extent);
  }
  return CheckExtents(tensor, strides, fixed, static_cast<int>(M::rank()), kMaxIndex<M>);
}

}  // namespace internal

// A view of the elements; no copy. The mdspan does not keep the storage alive: a tensor handle must.
// A layout with given strides (std::layout_stride) takes every tensor; another layout
// (std::layout_right, std::layout_left) those whose strides are the ones it computes, where axes of
// extent 1 and tensors without elements do not matter.
//   Errors   InvalidArgument: undefined; another rank, dtype or fixed extent than M's; elements
//            at an address that is not aligned for the element, or for the accessor; a non-const
//            element for a read-only tensor; strides that the layout does not have, or that do not
//            step over each other (sorted, each at least the one before times its extent; some
//            such layouts share no address, but std::layout_stride takes none of them); an extent
//            or the reached window beyond M::index_type. Unimplemented: not on the cpu.
template <MdspanLike M>
[[nodiscard]] core::StatusOr<M> AsMdspan(const tensor::Tensor& tensor) {
  using Element = typename M::element_type;
  using Index = typename M::index_type;
  using Extents = typename M::extents_type;
  using Mapping = typename M::mapping_type;
  ENGINE_RETURN_IF_ERROR(internal::CheckViewableAs<Element>(tensor, internal::AlignmentOf<M>()));
  ENGINE_ASSIGN_OR_RETURN(const tensor::Strides unique,
                          internal::UniqueStrides(tensor, internal::kMaxIndex<M>));
  ENGINE_RETURN_IF_ERROR(internal::CheckExtentsOf<M>(tensor, unique));
  std::array<Index, M::rank()> dims{};
  std::array<Index, M::rank()> strides{};
  for (std::size_t i = 0; i < M::rank(); ++i) {
    dims[i] = static_cast<Index>(tensor.shape().dim(static_cast<int>(i)));
    strides[i] = static_cast<Index>(unique[static_cast<int>(i)]);
  }
  auto* const data = static_cast<Element*>(tensor.data());
  const Extents extents(dims);
  if constexpr (internal::kTakesStrides<M>) {
    return M(data, Mapping(extents, strides));
  } else {
    const Mapping mapping(extents);
    if constexpr (M::rank() > 0) {
      for (std::size_t i = 0; i < M::rank() && tensor.numel() > 0; ++i) {
        if (dims[i] > 1 && mapping.stride(i) != strides[i]) return internal::LayoutMismatch(tensor);
      }
    }
    return M(data, mapping);
  }
}

}  // namespace engine::interop

#endif  // ENGINE_INTEROP_MDSPAN_H_
