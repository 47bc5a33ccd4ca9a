// dense/storage.h: what the templates of this module share about storage: the tag, the arguments of
// constructors, and the functions behind them that know no element type.
// Layer 4.
// Source: docs/design/dense.md, "Initial values" and "Tensors".
#ifndef ENGINE_DENSE_STORAGE_H_
#define ENGINE_DENSE_STORAGE_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/status.h"
#include "dense/dense_view.h"
#include "dense/layout.h"
#include "dense/precision.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace engine::dense {

// The first argument of whatever makes storage: leave the elements without values. Each has to be
// written before it is read. The type does not change, and nothing remembers the tag.
struct Uninitialized {
  explicit Uninitialized() = default;
};
// DenseMatrix<float>(uninitialized, 3, 4)
inline constexpr Uninitialized uninitialized{};

namespace internal {

// What a constructor was called with: an integer for each axis, then perhaps a Precision.
template <std::size_t Rank>
struct ShapeRequest {
  Extents<Rank> extents{};
  std::optional<Precision> precision;
};

template <std::size_t Rank, typename... Args>
[[nodiscard]] constexpr bool IsShapeRequest() {
  constexpr std::size_t kCount = sizeof...(Args);
  if (kCount != Rank && kCount != Rank + 1) return false;
  // One more, for arrays cannot be empty.
  constexpr std::array<bool, kCount + 1> kIsInteger = {IndexInteger<Args>..., false};
  constexpr std::array<bool, kCount + 1> kIsPrecision = {std::same_as<Args, Precision>..., false};
  for (std::size_t axis = 0; axis < Rank; ++axis) {
    if (!kIsInteger[axis]) return false;
  }
  return kCount == Rank || kIsPrecision[Rank];
}
template <std::size_t Rank, typename... Args>
inline constexpr bool kIsShapeRequest = IsShapeRequest<Rank, Args...>();

template <std::size_t Rank, typename... Args>
[[nodiscard]] constexpr ShapeRequest<Rank> ParseShapeRequest(Args... args) {
  ShapeRequest<Rank> request;
  [[maybe_unused]] std::size_t axis = 0;
  [[maybe_unused]] const auto take = [&](auto arg) {
    if constexpr (std::same_as<decltype(arg), Precision>) {
      request.precision = arg;
    } else {
      request.extents[axis++] = ToIndex(arg);
    }
  };
  (take(args), ...);
  return request;
}

template <std::size_t Rank, typename... Args>
[[nodiscard]] constexpr Extents<Rank> ExtentsOf(Args... args) {
  return ParseShapeRequest<Rank>(args...).extents;
}

// Storage for a contiguous `shape`; null when it has no elements.
//   Errors   as tensor::AllocateStorage.
[[nodiscard]] core::StatusOr<std::shared_ptr<memory::Buffer>> AllocateElements(
    const tensor::Shape& shape, tensor::DataType dtype,
    tensor::StorageInitialization initialization, memory::Allocator* allocator);

// `buffer` behind a shared_ptr, when it holds `reach` elements as requested. Otherwise it is not
// moved from.
//   Errors   Unimplemented: not on the cpu. InvalidArgument: too small, read-only, misaligned, or
//            bytes that are no bool. kOutOfMemory: the buffer is gone.
[[nodiscard]] core::StatusOr<std::shared_ptr<memory::Buffer>> AdoptBuffer(
    memory::Buffer& buffer, const tensor::Shape& shape, const tensor::Strides& strides,
    std::int64_t reach, const TensorRequest& request);

// A tensor over the part of `buffer` that begins at `data`. Without a buffer: one of no elements.
[[nodiscard]] core::StatusOr<tensor::Tensor> MakeTensorHandle(
    std::shared_ptr<memory::Buffer> buffer, const void* data, const tensor::Shape& shape,
    const tensor::Strides& strides, tensor::DataType dtype);

// Read-only storage of the same bytes, which keeps `buffer` alive.
[[nodiscard]] core::StatusOr<std::shared_ptr<memory::Buffer>> ShareReadOnly(
    std::shared_ptr<memory::Buffer> buffer);

// Copies a tensor that was found fit; bytes of bool become 0 or 1. `dst` has no gaps.
void CopyFromTensor(void* dst, const tensor::Strides& dst_strides, const tensor::Tensor& tensor);

// CHECKs that a constructor, which has no Status to return, could make a tensor of these extents.
void CheckConstructed(const core::Status& status, std::span<const std::int64_t> extents,
                      tensor::DataType dtype);

// Extents by value: of rank 0 GCC 12 takes a reference to them for a read of nothing.
template <typename T>
[[nodiscard]] T CheckedValue(core::StatusOr<T> result, Extents<T::kRank> extents) {
  CheckConstructed(result.status(), extents, tensor::dtype_of<typename T::value_type>);
  return *std::move(result);
}

}  // namespace internal
}  // namespace engine::dense

#endif  // ENGINE_DENSE_STORAGE_H_
