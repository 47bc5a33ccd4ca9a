// dense/concepts.h: what the functions of this module ask of a tensor of static rank.
// Layer 4.
// Source: docs/design/dense.md, "Types".
#ifndef ENGINE_DENSE_CONCEPTS_H_
#define ENGINE_DENSE_CONCEPTS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/status.h"
#include "dense/dense_view.h"
#include "dense/layout.h"
#include "tensor/dtype.h"

namespace engine::dense {

namespace internal {

template <typename Source, std::size_t... kAxes>
constexpr auto ElementAt(const Source& source, const Extents<sizeof...(kAxes)>& index,
                         std::index_sequence<kAxes...> /*axes*/)
    -> decltype(source(index[kAxes]...)) {
  return source(index[kAxes]...);
}

// source(index[0], index[1], ...)
template <typename Source, std::size_t Rank>
constexpr auto ElementAt(const Source& source, const Extents<Rank>& index)
    -> decltype(ElementAt(source, index, std::make_index_sequence<Rank>())) {
  return ElementAt(source, index, std::make_index_sequence<Rank>());
}

}  // namespace internal

// Elements can be read: DenseTensor, DenseView, the generated tensors, and classes of a caller that
// compute their elements.
template <typename S>
concept TensorSource = requires(const std::remove_cvref_t<S>& source) {
  typename std::remove_cvref_t<S>::value_type;
  requires tensor::MappedElement<typename std::remove_cvref_t<S>::value_type>;
  { source.extents() } -> std::convertible_to<Extents<std::remove_cvref_t<S>::kRank>>;
  {
    internal::ElementAt(source, source.extents())
    } -> std::convertible_to<typename std::remove_cvref_t<S>::value_type>;
};

// The elements lie in memory, at data() plus index times strides().
template <typename S>
concept StridedSource = TensorSource<S> && requires(const std::remove_cvref_t<S>& source) {
  requires DenseLayout<typename std::remove_cvref_t<S>::layout_type>;
  { source.data() } -> std::convertible_to<const typename std::remove_cvref_t<S>::value_type*>;
  { source.strides() } -> std::convertible_to<Extents<std::remove_cvref_t<S>::kRank>>;
};

// And may be written. Of a DenseTensor that depends on its const, of a DenseView on its element
// type.
template <typename D>
concept MutableStrided = StridedSource<D> && requires(std::remove_reference_t<D>& destination) {
  { destination.data() } -> std::same_as<typename std::remove_cvref_t<D>::value_type*>;
};

// Can be given another shape, and then has storage of its own for it. (A Strided DenseTensor owns
// too, but a shape alone does not say how it should lie.)
template <typename D>
concept OwningTensor = MutableStrided<D> &&
    requires(std::remove_reference_t<D>& tensor, const Extents<std::remove_cvref_t<D>::kRank>& e) {
  { tensor.reset_shape(e) } -> std::same_as<core::Status>;
};

// Has no elements in memory.
template <typename S>
concept GeneratedSource = TensorSource<S> && !StridedSource<S>;

// A generated source that holds one value nearly everywhere: background(), then
// WriteExceptions(view), with a DenseView of any layout, for the elements that differ.
template <typename S>
concept BackgroundSource = GeneratedSource<S> && requires(const std::remove_cvref_t<S>& source) {
  { source.background() } -> std::convertible_to<typename std::remove_cvref_t<S>::value_type>;
  source.WriteExceptions(
      DenseView<typename std::remove_cvref_t<S>::value_type, std::remove_cvref_t<S>::kRank>());
};

// The element type of a source, without const.
template <typename S>
using ValueOf = typename std::remove_cvref_t<S>::value_type;
// Its number of axes.
template <typename S>
inline constexpr std::size_t kRankOf = std::remove_cvref_t<S>::kRank;

// Elements of that type, and that rank.
template <typename S, typename T, std::size_t kRank>
concept SourceOf = TensorSource<S> && std::same_as<ValueOf<S>, T> && kRankOf<S>
== kRank;
// The element type and rank of another tensor.
template <typename S, typename Other>
concept SourceLike = SourceOf<S, ValueOf<Other>, kRankOf<Other>>;

namespace internal {

// How many elements a source has: those of its extents, but none in rank 0 without an address.
template <TensorSource S>
[[nodiscard]] constexpr std::int64_t NumelOf(const S& source) {
  if constexpr (kRankOf<S> == 0 && StridedSource<S>) {
    return source.data() == nullptr ? 0 : 1;
  } else {
    std::int64_t product = 1;
    for (const std::int64_t extent : source.extents()) product *= extent;
    return product;
  }
}

template <typename S>
struct MaterializedLayout {
  using type = RowMajor;
};
template <StridedSource S>
requires CanonicalLayout<typename std::remove_cvref_t<S>::layout_type>
struct MaterializedLayout<S> {
  using type = typename std::remove_cvref_t<S>::layout_type;
};

}  // namespace internal

// The layout that a copy of S gets: its own where that is canonical, else RowMajor.
template <typename S>
using MaterializedLayoutOf = typename internal::MaterializedLayout<S>::type;

}  // namespace engine::dense

#endif  // ENGINE_DENSE_CONCEPTS_H_
