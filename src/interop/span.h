// interop/span.h: the elements of a contiguous tensor as a std::span.
// Layer 4.
//
//   ENGINE_ASSIGN_OR_RETURN(std::span<const float> values, interop::AsSpan<const float>(tensor));
#ifndef ENGINE_INTEROP_SPAN_H_
#define ENGINE_INTEROP_SPAN_H_

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "core/status.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace engine::interop {

// What elements can be viewed as: every mapped type, const or not, but bool: a byte other than 0 and
// 1 must not be loaded as one. std::uint8_t views the bytes of a bool tensor.
template <typename T>
concept ViewableElement =
    tensor::MappedElement<std::remove_const_t<T>> && !std::same_as<std::remove_const_t<T>, bool>;

namespace internal {
// What every view of this module asks of a tensor.
[[nodiscard]] core::Status CheckViewable(const tensor::Tensor& tensor, tensor::DataType requested,
                                         std::size_t alignment, bool to_write);

template <ViewableElement T>
[[nodiscard]] core::Status CheckViewableAs(const tensor::Tensor& tensor,
                                           std::size_t alignment = alignof(T)) {
  return CheckViewable(tensor, tensor::dtype_of<std::remove_const_t<T>>, alignment,
                       !std::is_const_v<T>);
}

[[nodiscard]] core::Status CheckContiguous(const tensor::Tensor& tensor);
}  // namespace internal

// The elements in row-major order. The span does not keep the storage alive: a tensor handle must.
// No copy, no allocation.
//   Errors   InvalidArgument: undefined, not contiguous, another dtype than T's, elements at an
//            address that is not aligned for T, a T that is not const for a read-only tensor.
//            Unimplemented: not on the cpu.
template <ViewableElement T>
[[nodiscard]] core::StatusOr<std::span<T>> AsSpan(const tensor::Tensor& tensor) {
  ENGINE_RETURN_IF_ERROR(internal::CheckViewableAs<T>(tensor));
  ENGINE_RETURN_IF_ERROR(internal::CheckContiguous(tensor));
  return std::span<T>(static_cast<T*>(tensor.data()), static_cast<std::size_t>(tensor.numel()));
}

}  // namespace engine::interop

#endif  // ENGINE_INTEROP_SPAN_H_
