// dense/copy.h: writing the elements of one tensor into another.
// Layer 4. The work is done by tensor::TransferElements and tensor::FillWithElement.
// Source: docs/design/dense.md, "Generated tensors" and "Operations".
#ifndef ENGINE_DENSE_COPY_H_
#define ENGINE_DENSE_COPY_H_

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/check.h"
#include "core/status.h"
#include "dense/concepts.h"
#include "dense/dense_view.h"
#include "dense/layout.h"
#include "strided/convert.h"
#include "tensor/dtype.h"
#include "tensor/element_fill.h"
#include "tensor/element_transfer.h"
#include "tensor/shape.h"

namespace engine::dense {

namespace internal {

// The elements of a source, without its types.
template <StridedSource S>
[[nodiscard]] tensor::SourceElements Erase(const S& source) {
  return {tensor::dtype_of<ValueOf<S>>, ToStrides(source.strides()), source.data()};
}

// InvalidArgument, with both shapes.
[[nodiscard]] core::Status ShapesDiffer(const char* operation, const tensor::Shape& dst,
                                        const tensor::Shape& src);

template <typename T>
[[nodiscard]] bool HasZeroBits(const T& value) {
  const auto bytes = std::bit_cast<std::array<unsigned char, sizeof(T)>>(value);
  for (const unsigned char byte : bytes) {
    if (byte != 0) return false;
  }
  return true;
}

// A moved-from tensor of rank 0 has no element, though its shape has one.
template <StridedSource S>
void CheckHasElements(const char* operation, const S& tensor) {
  ENGINE_CHECK(kRankOf<S> > 0 || tensor.data() != nullptr, "{}: the tensor of rank 0 is empty",
               operation);
}

// Element by element, in the order of the destination's layout, so that a source that computes its
// elements never makes the writes jump.
template <typename T, std::size_t Rank, DenseLayout Layout, TensorSource S>
void WriteComputed(const DenseView<T, Rank, Layout>& dst, const S& src) {
  const Extents<Rank>& extents = dst.extents();
  const Extents<Rank> strides = dst.strides();
  Extents<Rank> index{};
  const std::int64_t numel = dst.numel();
  std::int64_t offset = 0;
  for (std::int64_t written = 0; written < numel; ++written) {
    dst.data()[offset] = ElementAt(src, index);
    for (std::size_t n = 0; n < Rank; ++n) {
      const std::size_t axis = std::same_as<Layout, ColumnMajor> ? n : Rank - 1 - n;
      if (++index[axis] < extents[axis]) {
        offset += strides[axis];
        break;
      }
      // Back over the steps that were made, so that no offset lies outside of what `dst` reaches.
      offset -= (extents[axis] - 1) * strides[axis];
      index[axis] = 0;
    }
  }
}

// Equal shapes and value types.
template <typename T, std::size_t Rank, DenseLayout Layout, SourceOf<T, Rank> S>
void WriteElements(const DenseView<T, Rank, Layout>& dst, const S& src) {
  if constexpr (StridedSource<S>) {
    CheckHasElements("copy", src);
    // Equal dtypes: there is nothing that could fail.
    static_cast<void>(tensor::TransferElements(ToShape(dst.extents()), tensor::dtype_of<T>,
                                               ToStrides(dst.strides()), dst.data(), Erase(src)));
  } else if constexpr (BackgroundSource<S>) {
    const T background = src.background();
    tensor::FillWithElement(ToShape(dst.extents()), ToStrides(dst.strides()), tensor::dtype_of<T>,
                            dst.data(), &background);
    src.WriteExceptions(dst);
  } else {
    WriteComputed(dst, src);
  }
}

// The elements of anything that is written to, as a view.
template <MutableStrided D>
[[nodiscard]] auto MutableViewOf(D& destination) {
  using Layout = typename std::remove_cvref_t<D>::layout_type;
  using MappingOfD = Mapping<kRankOf<D>, Layout>;
  using View = DenseView<ValueOf<D>, kRankOf<D>, Layout>;
  if constexpr (CanonicalLayout<Layout>) {
    return View(destination.data(), MappingOfD(destination.extents()));
  } else {
    return View(destination.data(), MappingOfD(destination.extents(), destination.strides()));
  }
}

// A value as a message prints it: floating ones as double, as CopyPlan does.
template <typename T>
[[nodiscard]] auto Printable(const T& value) {
  if constexpr (strided::kIsFloating<T>) {
    return strided::WidenToDouble(value);
  } else {
    return value;
  }
}

// One value, converted as cast does.
template <typename To, typename From>
[[nodiscard]] core::StatusOr<To> ConvertValue(const From& value) {
  To result{};
  const core::Status status = tensor::TransferElements({}, tensor::dtype_of<To>, {}, &result,
                                                       {tensor::dtype_of<From>, {}, &value});
  if (status.ok()) return result;
  return core::InvalidArgumentError(
      "cast: {}, the value of every element, of {} is not representable in {} (op.copy)",
      Printable(value), tensor::dtype_of<From>, tensor::dtype_of<To>);
}

}  // namespace internal

// What cast and cast_into take: elements of a floating or integer type, in memory or as a generated
// tensor that converts itself.
template <typename S, typename To>
concept CastableTo = TensorSource<S> && strided::CastElement<ValueOf<S>> &&
    strided::CastElement<To> &&(StridedSource<S> || requires(const std::remove_cvref_t<S>& source) {
      source.template CastTo<To>();
    });

// Copies the elements of `src`, which has the element type and rank of `dst`, by index. Any layouts;
// generated tensors are evaluated into `dst`. When both are the same view nothing happens.
//   Errors   InvalidArgument: different extents.
//   CHECKs   neither is a moved-from tensor of rank 0.
//   Aliasing otherwise the elements must be disjoint.
template <MutableStrided D, SourceLike<D> S>
[[nodiscard]] core::Status copy(D&& dst, const S& src) {
  internal::CheckHasElements("copy", dst);
  if (dst.extents() != src.extents()) {
    return internal::ShapesDiffer("copy", internal::ToShape(dst.extents()),
                                  internal::ToShape(src.extents()));
  }
  internal::WriteElements(internal::MutableViewOf(dst), src);
  return core::OkStatus();
}

// The same, converting as ops::cast does. Generated tensors convert the values they hold, not every
// element; a source of a caller's own that computes its elements has to be materialised first.
//   Errors   InvalidArgument: different extents; an element that the integer type of `dst` cannot
//            represent, after which the elements of `dst` are unspecified.
//   CHECKs   as copy.
template <MutableStrided D, CastableTo<ValueOf<D>> S>
[[nodiscard]] core::Status cast_into(D&& dst, const S& src) requires(kRankOf<D> == kRankOf<S>) {
  using To = ValueOf<D>;
  internal::CheckHasElements("cast_into", dst);
  if (dst.extents() != src.extents()) {
    return internal::ShapesDiffer("cast_into", internal::ToShape(dst.extents()),
                                  internal::ToShape(src.extents()));
  }
  if constexpr (std::same_as<To, ValueOf<S>>) {
    internal::WriteElements(internal::MutableViewOf(dst), src);
    return core::OkStatus();
  } else if constexpr (StridedSource<S>) {
    internal::CheckHasElements("cast_into", src);
    return tensor::TransferElements(internal::ToShape(dst.extents()), tensor::dtype_of<To>,
                                    internal::ToStrides(dst.strides()), dst.data(),
                                    internal::Erase(src));
  } else {
    ENGINE_ASSIGN_OR_RETURN(const auto converted, src.template CastTo<To>());
    internal::WriteElements(internal::MutableViewOf(dst), converted);
    return core::OkStatus();
  }
}

}  // namespace engine::dense

#endif  // ENGINE_DENSE_COPY_H_
