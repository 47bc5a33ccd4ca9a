// dense/operations.h: what makes a tensor out of another: make_tensor and cast; allclose.
// Layer 4.
// Source: docs/design/dense.md, "Materialising" and "Operations".
#ifndef ENGINE_DENSE_OPERATIONS_H_
#define ENGINE_DENSE_OPERATIONS_H_

#include <concepts>
#include <type_traits>
#include <utility>

#include "core/status.h"
#include "dense/concepts.h"
#include "dense/copy.h"
#include "dense/dense_tensor.h"
#include "dense/dense_view.h"
#include "dense/layout.h"
#include "dense/precision.h"
#include "memory/allocator.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace engine::dense {

namespace internal {

// Memory that somebody else owns, as a tensor that must not outlive it.
[[nodiscard]] core::StatusOr<tensor::Tensor> BorrowTensor(const tensor::Shape& shape,
                                                          const tensor::SourceElements& elements);

// The errors of allclose, which it finds without any element.
[[nodiscard]] core::Status CheckComparison(const tensor::Shape& a, const tensor::Shape& b,
                                           tensor::DataType dtype,
                                           tensor::ops::AllCloseTolerance tolerance);

template <StridedSource S>
[[nodiscard]] core::StatusOr<tensor::Tensor> BorrowTensor(const S& source) {
  CheckHasElements("allclose", source);
  return BorrowTensor(ToShape(source.extents()), Erase(source));
}

}  // namespace internal

// An owning copy, written once, in the order of its own layout. The layout is the source's where
// that is canonical in its type; generated and Strided sources give RowMajor. The second form
// names another.
//   Errors   kOutOfMemory.
//   CHECKs   the source is no moved-from tensor of rank 0.
template <TensorSource S>
[[nodiscard]] core::StatusOr<DenseTensor<ValueOf<S>, kRankOf<S>, MaterializedLayoutOf<S>>>
make_tensor(const S& source, memory::Allocator* allocator = nullptr) {
  return DenseTensor<ValueOf<S>, kRankOf<S>, MaterializedLayoutOf<S>>::CopyOf(source, allocator);
}
template <CanonicalLayout Layout, TensorSource S>
[[nodiscard]] core::StatusOr<DenseTensor<ValueOf<S>, kRankOf<S>, Layout>> make_tensor(
    const S& source, memory::Allocator* allocator = nullptr) {
  return DenseTensor<ValueOf<S>, kRankOf<S>, Layout>::CopyOf(source, allocator);
}

// An owning copy of another element type, in the layout that make_tensor chooses; values as
// ops::cast gives them. bool does not take part: such a cast does not compile.
//   Errors   InvalidArgument: an element that the integer type cannot represent. kOutOfMemory.
//   CHECKs   as make_tensor.
template <typename To, CastableTo<To> S>
[[nodiscard]] core::StatusOr<DenseTensor<To, kRankOf<S>, MaterializedLayoutOf<S>>> cast(
    const S& source, memory::Allocator* allocator = nullptr) {
  using Result = DenseTensor<To, kRankOf<S>, MaterializedLayoutOf<S>>;
  if constexpr (StridedSource<S>) {
    ENGINE_ASSIGN_OR_RETURN(Result result,
                            Result::Create(uninitialized, source.extents(), allocator));
    ENGINE_RETURN_IF_ERROR(cast_into(result, source));
    return result;
  } else {
    ENGINE_ASSIGN_OR_RETURN(const auto converted, source.template CastTo<To>());
    return Result::CopyOf(converted, allocator);
  }
}

// Compares as ops::allclose does; the first form with the element type's default tolerance. A
// source that computes its elements is materialised for the comparison, by the default allocator.
//   Errors   InvalidArgument: different extents, a negative or NaN tolerance. kOutOfMemory.
//   CHECKs   neither is a moved-from tensor of rank 0.
template <TensorSource A, SourceLike<A> B>
[[nodiscard]] core::StatusOr<tensor::ops::AllCloseResult> allclose(
    const A& a, const B& b, tensor::ops::AllCloseTolerance tolerance) {
  if constexpr (StridedSource<A> && StridedSource<B>) {
    ENGINE_ASSIGN_OR_RETURN(const tensor::Tensor left, internal::BorrowTensor(a));
    ENGINE_ASSIGN_OR_RETURN(const tensor::Tensor right, internal::BorrowTensor(b));
    return tensor::ops::allclose(left, right, tolerance);
  } else {
    // Generated tensors may be larger than any memory: judged first, materialised afterwards.
    ENGINE_RETURN_IF_ERROR(internal::CheckComparison(internal::ToShape(a.extents()),
                                                     internal::ToShape(b.extents()),
                                                     tensor::dtype_of<ValueOf<A>>, tolerance));
    if constexpr (!StridedSource<A>) {
      ENGINE_ASSIGN_OR_RETURN(const auto materialized, make_tensor(a));
      return allclose(materialized, b, tolerance);
    } else {
      ENGINE_ASSIGN_OR_RETURN(const auto materialized, make_tensor(b));
      return allclose(a, materialized, tolerance);
    }
  }
}
template <TensorSource A, SourceLike<A> B>
[[nodiscard]] core::StatusOr<tensor::ops::AllCloseResult> allclose(const A& a, const B& b) {
  return allclose(a, b, tensor::ops::default_allclose_tolerance(tensor::dtype_of<ValueOf<A>>));
}

// The precision of a tensor's elements: the element type's.
template <TensorSource S>
[[nodiscard]] constexpr Precision precision_of(const S& /*tensor*/) {
  return native_precision<ValueOf<S>>();
}

// The tensor at a precision, which has to be the element type's own: an owning copy as make_tensor
// makes it, or the tensor itself when it may be moved from (and no allocator is named).
//   Errors   InvalidArgument: another precision; an rvalue is then unchanged. kOutOfMemory.
template <TensorSource S>
[[nodiscard]] auto at_precision(const S& source, Precision precision,
                                memory::Allocator* allocator = nullptr)
    -> decltype(make_tensor(source)) {
  ENGINE_RETURN_IF_ERROR(internal::RequireNativePrecision<ValueOf<S>>("at_precision", precision));
  return make_tensor(source, allocator);
}
template <tensor::MappedElement T, std::size_t Rank, DenseLayout Layout>
[[nodiscard]] core::StatusOr<DenseTensor<T, Rank, Layout>> at_precision(
    DenseTensor<T, Rank, Layout>&& source, Precision precision) {
  ENGINE_RETURN_IF_ERROR(internal::RequireNativePrecision<T>("at_precision", precision));
  return std::move(source);
}

}  // namespace engine::dense

#endif  // ENGINE_DENSE_OPERATIONS_H_
