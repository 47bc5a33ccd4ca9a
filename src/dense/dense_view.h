// dense/dense_view.h: a typed view of elements that somebody else owns.
// Layer 4. No allocation.
//
//   ENGINE_ASSIGN_OR_RETURN(auto logits, (DenseView<const float, 2>::Of(tensor)));
//   float first = logits(0, 0);
//
// Source: docs/design/dense.md, "Types".
#ifndef ENGINE_DENSE_DENSE_VIEW_H_
#define ENGINE_DENSE_DENSE_VIEW_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/check.h"
#include "core/status.h"
#include "dense/layout.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace engine::dense {

namespace internal {

// What a typed view wants of a Tensor.
struct TensorRequest {
  tensor::DataType dtype;
  std::size_t rank;
  std::size_t alignment;
  bool writable;
  LayoutKind layout;
};

// The address of the first element, null when there is none, when the tensor is as requested.
//   Errors   Unimplemented: not on the cpu. InvalidArgument: another dtype or rank, read-only
//            storage where it is to be written, a misaligned address, other strides than the layout
//            has, or a bool tensor with a byte that is neither 0 nor 1.
//   CHECKs   the tensor is defined.
[[nodiscard]] core::StatusOr<void*> TypedData(const char* operation, const tensor::Tensor& tensor,
                                              const TensorRequest& request);

// Its parts. That a tensor is on the cpu and of this dtype and rank; CHECKs that it is defined:
[[nodiscard]] core::Status RequireElements(const char* operation, const tensor::Tensor& tensor,
                                           tensor::DataType dtype, std::size_t rank);
// That memory may be written as requested and is aligned:
[[nodiscard]] core::Status RequireAccess(const char* operation, const void* data, bool read_only,
                                         const TensorRequest& request);
// That every element is 0 or 1: other bytes are true to the operations on tensors, and undefined
// behaviour once they are loaded as a bool.
[[nodiscard]] core::Status RequireBools(const char* operation, const void* data,
                                        const tensor::Shape& shape, const tensor::Strides& strides);

// That `reach` elements lie within memory of `window_elements`.
[[nodiscard]] core::Status RequireWindow(const char* operation, const tensor::Shape& shape,
                                         std::int64_t reach, std::size_t window_elements);

template <std::size_t Rank>
[[nodiscard]] Extents<Rank> ToArray(std::span<const std::int64_t> values) {
  Extents<Rank> result{};
  for (std::size_t i = 0; i < Rank; ++i) result[i] = values[i];
  return result;
}

// The mapping of a tensor that TypedData has accepted.
template <std::size_t Rank, DenseLayout Layout>
[[nodiscard]] Mapping<Rank, Layout> MappingOf(const tensor::Tensor& tensor) {
  const Extents<Rank> extents = ToArray<Rank>(tensor.shape().dims());
  if constexpr (CanonicalLayout<Layout>) {
    return Mapping<Rank, Layout>(extents);
  } else {
    return Mapping<Rank, Layout>(extents, ToArray<Rank>(tensor.strides().values()));
  }
}

}  // namespace internal

// A pointer with extents and, for Strided, strides: cheap to copy, owning nothing. The elements
// must outlive it. As with std::span, const is shallow: a const DenseView<float, 2> writes, a
// DenseView<const float, 2> reads.
//
// Default-constructed it has no elements. Functions that take indices or an axis number check them:
// axis numbers always, indices in builds without NDEBUG.
//
// Thread safety: as a pointer's.
template <typename T, std::size_t Rank, DenseLayout Layout = RowMajor>
requires tensor::MappedElement<std::remove_const_t<T>>
class DenseView {
  static_assert(Rank <= static_cast<std::size_t>(tensor::kMaxRank), "rank above tensor::kMaxRank");

 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using layout_type = Layout;                 // RowMajor, ColumnMajor or Strided
  static constexpr std::size_t kRank = Rank;  // axes
  // Strides follow from the extents.
  static constexpr bool kCanonical = CanonicalLayout<Layout>;

  constexpr DenseView() = default;
  // For this module: `mapping` is valid, and data addresses what it reaches.
  constexpr DenseView(T* data, const internal::Mapping<Rank, Layout>& mapping)
      : data_(data), mapping_(mapping) {}
  // Reading where writing is allowed.
  template <typename U>
  constexpr DenseView(const DenseView<U, Rank, Layout>& other)  // NOLINT: implicit, as std::span's
      requires std::same_as<T, const U> : DenseView(other.data(), other.mapping()) {}

  // The first elements of `storage`.
  //   Errors   InvalidArgument: extents that are negative or overflow, or more than `storage`
  //            holds; for Strided also strides that are negative, or 0 on an axis of several
  //            elements. Elements of a Strided view may share a place; writing them is undefined.
  [[nodiscard]] static core::StatusOr<DenseView> Create(
      std::span<T> storage, const Extents<Rank>& extents) requires kCanonical {
    ENGINE_ASSIGN_OR_RETURN(const auto mapping,
                            (internal::MakeMapping<Rank, Layout>("DenseView", extents)));
    ENGINE_RETURN_IF_ERROR(internal::RequireWindow("DenseView", internal::ToShape(extents),
                                                   mapping.numel(), storage.size()));
    return DenseView(storage.data(), mapping);
  }
  [[nodiscard]] static core::StatusOr<DenseView> Create(
      std::span<T> storage, const Extents<Rank>& extents,
      const Extents<Rank>& strides) requires(!kCanonical) {
    ENGINE_ASSIGN_OR_RETURN(const tensor::Shape shape, internal::ShapeOf("DenseView", extents));
    ENGINE_ASSIGN_OR_RETURN(
        const std::int64_t reach,
        internal::StridedReach("DenseView", shape, strides, /*exclusive=*/false));
    ENGINE_RETURN_IF_ERROR(internal::RequireWindow("DenseView", shape, reach, storage.size()));
    return DenseView(storage.data(), internal::Mapping<Rank, Layout>(extents, strides));
  }

  // The elements of a Tensor, which has to outlive the view: hence lvalues only.
  //   Errors   InvalidArgument: another dtype or rank, elements at an address that is not aligned
  //            for T, strides that the layout does not have (Strided takes any), read-only storage
  //            unless T is const, or a bool element whose byte is neither 0 nor 1 (it would be no
  //            bool). Unimplemented: a CUDA tensor.
  //   CHECKs   the tensor is defined.
  [[nodiscard]] static core::StatusOr<DenseView> Of(const tensor::Tensor& tensor) {
    ENGINE_ASSIGN_OR_RETURN(void* const data,
                            internal::TypedData("DenseView::Of", tensor,
                                                {.dtype = tensor::dtype_of<value_type>,
                                                 .rank = Rank,
                                                 .alignment = alignof(T),
                                                 .writable = !std::is_const_v<T>,
                                                 .layout = internal::kLayoutKind<Layout>}));
    return DenseView(static_cast<T*>(data), internal::MappingOf<Rank, Layout>(tensor));
  }
  static core::StatusOr<DenseView> Of(const tensor::Tensor&& tensor) = delete;

  [[nodiscard]] constexpr const Extents<Rank>& extents() const { return mapping_.extents(); }
  // CHECKs axis < Rank.
  [[nodiscard]] constexpr std::int64_t extent(std::size_t axis) const {
    ENGINE_CHECK(axis < Rank, "extent: axis {} of rank {}", axis, Rank);
    return extents()[axis];
  }
  [[nodiscard]] constexpr Extents<Rank> strides() const { return mapping_.strides(); }  // elements
  // How many elements there are: in rank 0 none without an address, else one.
  [[nodiscard]] constexpr std::int64_t numel() const {
    return Rank == 0 && data_ == nullptr ? 0 : mapping_.numel();
  }
  // numel() == 0.
  [[nodiscard]] constexpr bool empty() const { return numel() == 0; }
  // extents() as a Shape.
  [[nodiscard]] tensor::Shape shape() const { return internal::ToShape(extents()); }

  // The first element; may be null when there is none.
  [[nodiscard]] constexpr T* data() const { return data_; }

  // One index per axis.
  template <internal::IndexInteger... Index>
  [[nodiscard]] constexpr T& operator()(Index... index) const requires(sizeof...(Index) == Rank) {
    ENGINE_DCHECK(data_ != nullptr, "DenseView: no elements");
    return data_[mapping_.Offset(internal::ToExtents(index...))];
  }

  // The elements in memory order, which is the layout's.
  [[nodiscard]] constexpr std::span<T> span() const requires kCanonical {
    return {data_, static_cast<std::size_t>(numel())};
  }
  // The first of them.
  [[nodiscard]] constexpr T* begin() const requires kCanonical { return data_; }
  // One past the last.
  [[nodiscard]] constexpr T* end() const requires kCanonical { return data_ + numel(); }

  // The same elements without the layout in the type, for code that takes any strides.
  [[nodiscard]] constexpr DenseView<T, Rank, Strided> AsStrided() const {
    return {data_, internal::Mapping<Rank, Strided>(extents(), strides())};
  }

  // For this module: extents and strides in one.
  [[nodiscard]] constexpr const internal::Mapping<Rank, Layout>& mapping() const {
    return mapping_;
  }

 private:
  T* data_ = nullptr;
  internal::Mapping<Rank, Layout> mapping_;
};

}  // namespace engine::dense

#endif  // ENGINE_DENSE_DENSE_VIEW_H_
