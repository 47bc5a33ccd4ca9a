// dense/reshape.h: other shapes for the same elements, as a view, in place, or as a new owner.
// Layer 4.
//
//   auto rows = reshape_view(matrix, 3, -1);             // alias; -1 is worked out
//   auto right = reshape_view_right(strided, 6);         // the order, where the type has none
//   ENGINE_RETURN_IF_ERROR(reshape_inplace(matrix, 6, 2));
//   auto vector = reshape(std::move(matrix), 12);        // takes the storage over
//
// Each takes the extents as integers or as one array, Extents or in braces, of which one may be -1.
//   Errors   InvalidArgument, everywhere, on which nothing has changed; the message ends with the
//            clause:
//              reshape.count   another number of elements, or extents that overflow
//              reshape.infer   two extents of -1, -1 beside an extent of 0, or a negative extent
//              reshape.order   (view_left, view_right) strides that are not those of the order
// Source: docs/design/dense.md, "Reshape".
#ifndef ENGINE_DENSE_RESHAPE_H_
#define ENGINE_DENSE_RESHAPE_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "core/status.h"
#include "dense/concepts.h"
#include "dense/dense_tensor.h"
#include "dense/dense_view.h"
#include "dense/layout.h"
#include "dense/operations.h"
#include "memory/allocator.h"

namespace engine::dense {

namespace internal {

// Replaces the one -1 in `extents`, and requires that they hold `numel` elements.
[[nodiscard]] core::Status ResolveExtents(const char* operation, std::int64_t numel,
                                          std::span<std::int64_t> extents);
// InvalidArgument unless the strides are canonical in `order`.
[[nodiscard]] core::Status RequireOrder(const char* operation,
                                        std::span<const std::int64_t> extents,
                                        std::span<const std::int64_t> strides, LayoutKind order);

template <std::size_t Rank>
[[nodiscard]] core::StatusOr<Extents<Rank>> Resolved(const char* operation, std::int64_t numel,
                                                     Extents<Rank> extents) {
  ENGINE_RETURN_IF_ERROR(ResolveExtents(operation, numel, extents));
  return extents;
}

// A view is a source of views whatever its value category; an owner only while it stays.
template <typename S>
struct IsDenseView : std::false_type {};
template <typename T, std::size_t Rank, DenseLayout Layout>
struct IsDenseView<DenseView<T, Rank, Layout>> : std::true_type {};

template <typename S>
concept ViewableSource = StridedSource<S> &&
    (std::is_lvalue_reference_v<S> || IsDenseView<std::remove_cvref_t<S>>::value);
template <typename S>
concept CanonicalSource =
    StridedSource<S> && CanonicalLayout<typename std::remove_cvref_t<S>::layout_type>;
template <typename S>
concept AliasableSource = ViewableSource<S> && CanonicalSource<S>;

// The element type of a view of `S`: const where the source is not writable.
template <typename S>
using ElementOf = std::remove_pointer_t<decltype(std::declval<S&>().data())>;

// The elements of `source`, which is canonical in Layout, under other extents.
template <typename Layout, typename S, std::size_t Rank>
[[nodiscard]] core::StatusOr<DenseView<ElementOf<S>, Rank, Layout>> ReshapedView(
    const char* operation, S& source, const Extents<Rank>& requested) {
  ENGINE_ASSIGN_OR_RETURN(const Extents<Rank> extents,
                          Resolved(operation, NumelOf(source), requested));
  return DenseView<ElementOf<S>, Rank, Layout>(source.data(), Mapping<Rank, Layout>(extents));
}
template <typename Layout, typename S, std::size_t Rank>
[[nodiscard]] core::StatusOr<DenseView<ElementOf<S>, Rank, Layout>> OrderedView(
    const char* operation, S& source, const Extents<Rank>& requested) {
  const auto strides = source.strides();
  ENGINE_RETURN_IF_ERROR(RequireOrder(operation, source.extents(), strides, kLayoutKind<Layout>));
  return ReshapedView<Layout>(operation, source, requested);
}

}  // namespace internal

// --- Views: alias the elements, allocate and copy nothing. ---
//
// Lvalues only, for a view does not keep its source alive (a DenseView is one already). A const
// source gives a view of const elements. Later views of the result keep its order, which is in its
// type.

// In the source's own order, which its type has to name: RowMajor or ColumnMajor.
template <internal::AliasableSource S, std::size_t Rank>
[[nodiscard]] auto reshape_view(S&& source, const Extents<Rank>& extents) {
  using Layout = typename std::remove_cvref_t<S>::layout_type;
  return internal::ReshapedView<Layout>("reshape_view", source, extents);
}
template <internal::AliasableSource S, std::size_t N>
[[nodiscard]] auto reshape_view(S&& source, const std::int64_t (&extents)[N]) {
  return reshape_view(std::forward<S>(source), std::to_array(extents));
}
template <internal::AliasableSource S, internal::IndexInteger... Args>
[[nodiscard]] auto reshape_view(S&& source, Args... extents) {
  return reshape_view(std::forward<S>(source), internal::ToExtents(extents...));
}

// In column-major order, for any source whose strides turn out to be those; axes of extent 1 do not
// matter, and a source of rank one without gaps is in either order.
template <internal::ViewableSource S, std::size_t Rank>
[[nodiscard]] auto reshape_view_left(S&& source, const Extents<Rank>& extents) {
  return internal::OrderedView<ColumnMajor>("reshape_view_left", source, extents);
}
template <internal::ViewableSource S, std::size_t N>
[[nodiscard]] auto reshape_view_left(S&& source, const std::int64_t (&extents)[N]) {
  return reshape_view_left(std::forward<S>(source), std::to_array(extents));
}
template <internal::ViewableSource S, internal::IndexInteger... Args>
[[nodiscard]] auto reshape_view_left(S&& source, Args... extents) {
  return reshape_view_left(std::forward<S>(source), internal::ToExtents(extents...));
}

// The same in row-major order.
template <internal::ViewableSource S, std::size_t Rank>
[[nodiscard]] auto reshape_view_right(S&& source, const Extents<Rank>& extents) {
  return internal::OrderedView<RowMajor>("reshape_view_right", source, extents);
}
template <internal::ViewableSource S, std::size_t N>
[[nodiscard]] auto reshape_view_right(S&& source, const std::int64_t (&extents)[N]) {
  return reshape_view_right(std::forward<S>(source), std::to_array(extents));
}
template <internal::ViewableSource S, internal::IndexInteger... Args>
[[nodiscard]] auto reshape_view_right(S&& source, Args... extents) {
  return reshape_view_right(std::forward<S>(source), internal::ToExtents(extents...));
}

// --- In place ---

// What reshape_inplace asks of an owner: to take other extents for the storage it has.
template <typename D>
concept RemappableTensor = OwningTensor<D> && internal::CanonicalSource<D> &&
    requires(D& tensor, const Extents<kRankOf<D>>& extents) {
  { tensor.Remap(extents) } -> std::same_as<core::Status>;
};

// The same storage under other extents of the same rank. Views made before keep their shape.
template <RemappableTensor D>
[[nodiscard]] core::Status reshape_inplace(D& tensor, const Extents<kRankOf<D>>& extents) {
  ENGINE_ASSIGN_OR_RETURN(
      const auto resolved,
      internal::Resolved("reshape_inplace", internal::NumelOf(tensor), extents));
  return tensor.Remap(resolved);
}
template <RemappableTensor D, internal::IndexInteger... Args>
[[nodiscard]] core::Status reshape_inplace(D& tensor, Args... extents) requires(sizeof...(Args) ==
                                                                                kRankOf<D>) {
  return reshape_inplace(tensor, internal::ToExtents(extents...));
}

// --- Owning results ---

// What reshape asks of an rvalue whose storage it takes over; others are copied.
template <typename S, std::size_t kNewRank>
concept StorageGiver = RemappableTensor<S> && requires(S tensor, const Extents<kNewRank>& extents) {
  {
    std::move(tensor).RemapTo(extents)
    } -> std::same_as<core::StatusOr<DenseTensor<ValueOf<S>, kNewRank, typename S::layout_type>>>;
};

// A tensor of its own. An rvalue DenseTensor (or other StorageGiver) gives its storage to the result;
// anything else is copied, in the order of its layout. Strided sources do not compile: choose an
// order by reshape_view_left or reshape_view_right, and make_tensor of that. A copy comes from
// `allocator`; storage that is given stays where it is.
//   Errors   also kOutOfMemory, but for an rvalue; on an error an rvalue is unchanged.
template <internal::CanonicalSource S, std::size_t Rank>
[[nodiscard]] core::StatusOr<
    DenseTensor<ValueOf<S>, Rank, typename std::remove_cvref_t<S>::layout_type>>
reshape(S&& source, const Extents<Rank>& requested, memory::Allocator* allocator = nullptr) {
  using Source = std::remove_cvref_t<S>;
  ENGINE_ASSIGN_OR_RETURN(const Extents<Rank> extents,
                          internal::Resolved("reshape", internal::NumelOf(source), requested));
  if constexpr (std::same_as<S, Source> && StorageGiver<Source, Rank>) {
    return std::forward<S>(source).RemapTo(extents);
  } else {
    using Layout = typename Source::layout_type;
    return make_tensor(DenseView<internal::ElementOf<S>, Rank, Layout>(
                           source.data(), internal::Mapping<Rank, Layout>(extents)),
                       allocator);
  }
}
template <internal::CanonicalSource S, std::size_t N>
[[nodiscard]] auto reshape(S&& source, const std::int64_t (&extents)[N],
                           memory::Allocator* allocator = nullptr) {
  return reshape(std::forward<S>(source), std::to_array(extents), allocator);
}
template <internal::CanonicalSource S, internal::IndexInteger... Args>
[[nodiscard]] auto reshape(S&& source, Args... extents) {
  return reshape(std::forward<S>(source), internal::ToExtents(extents...));
}

// Of a source that computes its elements: materialised in Layout, then reshaped in its order.
template <CanonicalLayout Layout = RowMajor, GeneratedSource S, std::size_t Rank>
[[nodiscard]] core::StatusOr<DenseTensor<ValueOf<S>, Rank, Layout>> reshape(
    const S& source, const Extents<Rank>& requested, memory::Allocator* allocator = nullptr) {
  ENGINE_ASSIGN_OR_RETURN(const Extents<Rank> extents,
                          internal::Resolved("reshape", internal::NumelOf(source), requested));
  ENGINE_ASSIGN_OR_RETURN(auto materialized, make_tensor<Layout>(source, allocator));
  return std::move(materialized).RemapTo(extents);
}
template <CanonicalLayout Layout = RowMajor, GeneratedSource S, std::size_t N>
[[nodiscard]] auto reshape(const S& source, const std::int64_t (&extents)[N],
                           memory::Allocator* allocator = nullptr) {
  return reshape<Layout>(source, std::to_array(extents), allocator);
}
template <CanonicalLayout Layout = RowMajor, GeneratedSource S, internal::IndexInteger... Args>
[[nodiscard]] auto reshape(const S& source, Args... extents) {
  return reshape<Layout>(source, internal::ToExtents(extents...));
}

}  // namespace engine::dense

#endif  // ENGINE_DENSE_RESHAPE_H_
