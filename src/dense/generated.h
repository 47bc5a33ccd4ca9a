// dense/generated.h: tensors whose elements are a rule: full, zeros, ones, eye.
// Layer 4. No element storage, no allocation; thread-safe as values.
//
//   ENGINE_ASSIGN_OR_RETURN(auto identity, make_tensor(eye<float>(n, n)));
//   ENGINE_RETURN_IF_ERROR(copy(bias, full(0.5f, 4, 8)));
//
// They are sources of copy, cast, allclose, make_tensor and reshape, and read-only: an element is a
// value, not a reference, and there is no data().
//
// Source: docs/design/dense.md, "Generated tensors".
#ifndef ENGINE_DENSE_GENERATED_H_
#define ENGINE_DENSE_GENERATED_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/check.h"
#include "core/status.h"
#include "dense/concepts.h"
#include "dense/copy.h"
#include "dense/dense_view.h"
#include "dense/layout.h"
#include "dense/storage.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::dense {

// The layout of elements that lie nowhere: neither order.
struct GeneratedLayout {};

namespace internal {

// What an element is read as. Const where T is a class, so that `t(0, 0) = x` is no more accepted
// for the half types than for float.
template <typename T>
using ElementValue = std::conditional_t<std::is_class_v<T>, const T, T>;

// The extents of a generated tensor.
template <std::size_t Rank>
class GeneratedShape {
  static_assert(Rank <= static_cast<std::size_t>(tensor::kMaxRank), "rank above tensor::kMaxRank");

 public:
  static constexpr std::size_t kRank = Rank;
  using layout_type = GeneratedLayout;

  [[nodiscard]] constexpr const Extents<Rank>& extents() const { return mapping_.extents(); }
  // CHECKs axis < Rank.
  [[nodiscard]] constexpr std::int64_t extent(std::size_t axis) const {
    ENGINE_CHECK(axis < Rank, "extent: axis {} of rank {}", axis, Rank);
    return extents()[axis];
  }
  [[nodiscard]] constexpr std::int64_t numel() const { return mapping_.numel(); }
  [[nodiscard]] tensor::Shape shape() const { return ToShape(extents()); }

 protected:
  constexpr explicit GeneratedShape(const Extents<Rank>& valid_extents) : mapping_(valid_extents) {}

  // In builds without NDEBUG checks the indices.
  constexpr void CheckIndex(const Extents<Rank>& index) const {
    static_cast<void>(mapping_.Offset(index));
  }

 private:
  Mapping<Rank, RowMajor> mapping_;
};

// Extents written in source.
template <std::size_t Rank>
[[nodiscard]] Extents<Rank> CheckedExtents(const char* operation, const Extents<Rank>& extents) {
  const core::Status status = ShapeOf(operation, extents).status();
  ENGINE_CHECK(status.ok(), "{}",
               std::string_view(status.message().data(), status.message().size()));
  return extents;
}

}  // namespace internal

// Every element is one value.
template <tensor::MappedElement T, std::size_t Rank>
class FullTensor : public internal::GeneratedShape<Rank> {
 public:
  using value_type = T;

  // Errors   InvalidArgument: extents that are negative or overflow. The constructor CHECKs them.
  [[nodiscard]] static core::StatusOr<FullTensor> Create(T value, const Extents<Rank>& extents) {
    ENGINE_RETURN_IF_ERROR((internal::ShapeOf("FullTensor", extents)).status());
    return FullTensor(value, extents);
  }
  // For extents written in source.
  FullTensor(T value, const Extents<Rank>& extents)
      : internal::GeneratedShape<Rank>(internal::CheckedExtents("FullTensor", extents)),
        value_(value) {}

  // The element, by value; indices are checked in builds without NDEBUG.
  template <internal::IndexInteger... Index>
  [[nodiscard]] constexpr internal::ElementValue<T> operator()(Index... index) const
      requires(sizeof...(Index) == Rank) {
    this->CheckIndex(internal::ToExtents(index...));
    return value_;
  }

  // The value of every element.
  [[nodiscard]] constexpr T background() const { return value_; }
  // No element differs from it.
  template <DenseLayout Layout>
  void WriteExceptions(const DenseView<T, Rank, Layout>& /*destination*/) const {}

  // The same tensor of another type.
  //   Errors   InvalidArgument: elements whose value the integer type cannot represent.
  template <tensor::MappedElement To>
  [[nodiscard]] core::StatusOr<FullTensor<To, Rank>> CastTo() const
      requires(std::same_as<To, T> || (strided::CastElement<T> && strided::CastElement<To>)) {
    if (this->numel() == 0) return FullTensor<To, Rank>(To(0), this->extents());
    ENGINE_ASSIGN_OR_RETURN(const To value, internal::ConvertValue<To>(value_));
    return FullTensor<To, Rank>(value, this->extents());
  }

 private:
  T value_;
};

// 1 where all indices are equal, else 0: a scalar one, a vector of ones, the identity matrix
// (rectangular too), and in higher ranks the copy tensor of tensor networks.
template <tensor::MappedElement T, std::size_t Rank>
class EyeTensor : public internal::GeneratedShape<Rank> {
 public:
  using value_type = T;

  // Errors   InvalidArgument: extents that are negative or overflow. The constructor CHECKs them.
  [[nodiscard]] static core::StatusOr<EyeTensor> Create(const Extents<Rank>& extents) {
    ENGINE_RETURN_IF_ERROR((internal::ShapeOf("EyeTensor", extents)).status());
    return EyeTensor(extents);
  }
  // For extents written in source.
  explicit EyeTensor(const Extents<Rank>& extents)
      : internal::GeneratedShape<Rank>(internal::CheckedExtents("EyeTensor", extents)) {}

  // The element, by value; indices are checked in builds without NDEBUG.
  template <internal::IndexInteger... Index>
  [[nodiscard]] constexpr internal::ElementValue<T> operator()(Index... index) const
      requires(sizeof...(Index) == Rank) {
    const Extents<Rank> indices = internal::ToExtents(index...);
    this->CheckIndex(indices);
    for (std::size_t axis = 1; axis < Rank; ++axis) {
      if (indices[axis] != indices[0]) return T(0);
    }
    return T(1);
  }

  // Below rank 2 every element is 1; from there on nearly all are 0.
  [[nodiscard]] constexpr T background() const { return T(Rank < 2 ? 1 : 0); }
  // Writes the ones into a destination of these extents that holds background() everywhere.
  template <DenseLayout Layout>
  void WriteExceptions(const DenseView<T, Rank, Layout>& destination) const {
    if constexpr (Rank >= 2) {
      const Extents<Rank>& extents = this->extents();
      const std::int64_t count = *std::min_element(extents.begin(), extents.end());
      // Without elements the strides mean nothing, and on an axis that never advances neither: they
      // may exceed what a sum holds.
      if (count == 0) return;
      std::int64_t step = 0;
      for (std::size_t axis = 0; axis < Rank; ++axis) {
        if (extents[axis] > 1) step += destination.strides()[axis];
      }
      for (std::int64_t i = 0; i < count; ++i) destination.data()[i * step] = T(1);
    }
  }

  // 0 and 1 are values of every type.
  template <tensor::MappedElement To>
  [[nodiscard]] core::StatusOr<EyeTensor<To, Rank>> CastTo() const {
    return EyeTensor<To, Rank>(this->extents());
  }
};

// full(value, 3, 4), or full(value, extents): the value comes first and gives the element type.
// CHECK that the extents are valid; FullTensor::Create and EyeTensor::Create report instead.
template <tensor::MappedElement T, internal::IndexInteger... Args>
[[nodiscard]] FullTensor<T, sizeof...(Args)> full(T value, Args... extents) {
  return {value, internal::ToExtents(extents...)};
}
template <tensor::MappedElement T, std::size_t Rank>
[[nodiscard]] FullTensor<T, Rank> full(T value, const Extents<Rank>& extents) {
  return {value, extents};
}

// Every element is 0: zeros<float>(3, 4), or zeros<float>(extents).
template <tensor::MappedElement T, internal::IndexInteger... Args>
[[nodiscard]] FullTensor<T, sizeof...(Args)> zeros(Args... extents) {
  return {T(0), internal::ToExtents(extents...)};
}
// The same with one array of extents.
template <tensor::MappedElement T, std::size_t Rank>
[[nodiscard]] FullTensor<T, Rank> zeros(const Extents<Rank>& extents) {
  return {T(0), extents};
}

// Every element is 1: ones<float>(3, 4), or ones<float>(extents).
template <tensor::MappedElement T, internal::IndexInteger... Args>
[[nodiscard]] FullTensor<T, sizeof...(Args)> ones(Args... extents) {
  return {T(1), internal::ToExtents(extents...)};
}
// The same with one array of extents.
template <tensor::MappedElement T, std::size_t Rank>
[[nodiscard]] FullTensor<T, Rank> ones(const Extents<Rank>& extents) {
  return {T(1), extents};
}

// 1 where all indices are equal, else 0: eye<float>(3, 4), or eye<float>(extents).
template <tensor::MappedElement T, internal::IndexInteger... Args>
[[nodiscard]] EyeTensor<T, sizeof...(Args)> eye(Args... extents) {
  return EyeTensor<T, sizeof...(Args)>(internal::ToExtents(extents...));
}
// The same with one array of extents.
template <tensor::MappedElement T, std::size_t Rank>
[[nodiscard]] EyeTensor<T, Rank> eye(const Extents<Rank>& extents) {
  return EyeTensor<T, Rank>(extents);
}

}  // namespace engine::dense

#endif  // ENGINE_DENSE_GENERATED_H_
