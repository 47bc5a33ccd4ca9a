// tensor/tensor.h: the dense n-dimensional array and its views.
// Layer 3.
//
//   ENGINE_ASSIGN_OR_RETURN(Tensor t, Tensor::empty({2, 3}, DataType::kFloat32, Device::Cpu()));
//   ENGINE_ASSIGN_OR_RETURN(Tensor column, t.slice(1, 0, 1));   // shares t's storage
//
// Source: docs/design/tensor.md, "Tensor".
#ifndef ENGINE_TENSOR_TENSOR_H_
#define ENGINE_TENSOR_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

#include "core/check.h"
#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "strided/convert.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::tensor {

// The elements start, start + step, ... below end of one axis.
struct SliceRange {
  std::int64_t start = 0;  // the first index
  std::int64_t end = 0;    // one past the last index that may be taken
  std::int64_t step = 1;   // at least 1
};

// A handle to shared storage: a Buffer, a byte offset, shape, strides and dtype. Copying a Tensor
// copies the handle, never the data: copies and views alias, and a write through one is visible
// through all. Deep copies are named: ops::copy, ops::cast. Every handle shares ownership; the
// storage lives until the last one dies.
//
// A default-constructed Tensor is undefined: rank 0, float32, cpu, without storage. A moved-from
// Tensor is undefined too, and its other metadata is unspecified: destroy it, assign to it, or ask
// defined(). Views and data access on an undefined handle CHECK.
//
// Const is shallow, as with std::span: a const Tensor& is an immutable handle to mutable elements.
// There is no equality: ops::allclose compares values.
//
// Views never copy, allocate or touch elements. Bad arguments are InvalidArgument, naming the
// argument and the shape, and change nothing.
//
// Thread safety: as shared_ptr. Distinct handles may be used concurrently, also when they share
// storage; one handle only through const methods. Races on the elements are the caller's.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) noexcept = default;
  Tensor& operator=(const Tensor&) noexcept = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  ~Tensor() = default;

  // Uninitialised contiguous row-major storage, 64-byte aligned, from `allocator` (null: the
  // default of the device).
  //   Errors   Unimplemented: a reserved dtype, or the CUDA device. InvalidArgument: the byte size
  //            overflows int64_t. kOutOfMemory: storage or handle could not be allocated.
  //   CHECKs   a given allocator serves `device` (tested first).
  [[nodiscard]] static core::StatusOr<Tensor> empty(Shape shape, DataType dtype, Device device,
                                                    memory::Allocator* allocator = nullptr);

  // A contiguous row-major view of existing storage, starting `byte_offset` bytes into `buffer`.
  // The device is the buffer's; a CUDA buffer gives metadata only. Any byte offset is accepted,
  // aligned to the item size or not (is_aligned() tells).
  //   Errors   Unimplemented: a reserved dtype. InvalidArgument: the window
  //            [byte_offset, byte_offset + numel * itemsize) is not within the buffer.
  //   CHECKs   buffer is not null (tested first).
  [[nodiscard]] static core::StatusOr<Tensor> from_buffer(std::shared_ptr<memory::Buffer> buffer,
                                                          std::size_t byte_offset, Shape shape,
                                                          DataType dtype);

  // The same with given strides (elements). Strides of axes with at most one element, and of an
  // empty shape, do not matter but may not be negative. Layouts that overlap themselves are
  // accepted; writing through one is undefined.
  //   Errors   as from_buffer, in its order; InvalidArgument: not one stride per axis, a negative
  //            stride, stride 0 on an axis of more than one element, numel * itemsize beyond int64_t, or
  //            a reached window that overflows or leaves the buffer.
  [[nodiscard]] static core::StatusOr<Tensor> from_strided_buffer(
      std::shared_ptr<memory::Buffer> buffer, std::size_t byte_offset, Shape shape, Strides strides,
      DataType dtype);

  // Metadata; valid on default-constructed handles too.

  // The extents. Valid until this handle changes or dies, as strides().
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Strides& strides() const { return strides_; }  // elements
  // What an element is; the C++ type that data_ptr and item take.
  [[nodiscard]] DataType dtype() const { return dtype_; }
  // Where the elements are: the buffer's device, the cpu without one.
  [[nodiscard]] Device device() const { return device_; }
  // The number of elements: the product of the extents, 1 for rank 0.
  [[nodiscard]] std::int64_t numel() const { return shape_.numel(); }
  // The bytes of the elements, numel * itemsize: of the shape, whether or not there is storage.
  [[nodiscard]] std::size_t nbytes() const {
    return static_cast<std::size_t>(numel()) * static_cast<std::size_t>(itemsize(dtype_));
  }
  // Whether row-major order walks memory without gaps (tensor::IsContiguous): what reshape needs.
  [[nodiscard]] bool is_contiguous() const { return IsContiguous(shape_, strides_); }
  // Whether there is storage. False for default-constructed and moved-from handles.
  [[nodiscard]] bool defined() const { return buffer_ != nullptr; }
  // From the start of the buffer to the first element.
  [[nodiscard]] std::size_t byte_offset() const { return byte_offset_; }
  // True when the storage must not be written: ops refuse it as a destination.
  [[nodiscard]] bool is_read_only() const { return defined() && buffer_->is_read_only(); }
  // True when data() is a multiple of the item size. CHECKs defined().
  [[nodiscard]] bool is_aligned() const;

  // Elements [start, end) of one axis; the same strides. Contiguity survives on the outermost axis.
  // An empty range is fine; the offset of a view without elements is the formula's, clamped to the
  // buffer's size.
  //   Errors   InvalidArgument: dim outside [0, rank), or not 0 <= start <= end <= extent.
  [[nodiscard]] core::StatusOr<Tensor> slice(int dim, std::int64_t start, std::int64_t end) const;

  // One range per axis. A step larger than its range is clamped to it.
  //   Errors   InvalidArgument: not one range per axis, not 0 <= start <= end <= extent, step < 1.
  [[nodiscard]] core::StatusOr<Tensor> strided_slice(std::span<const SliceRange> ranges) const;
  [[nodiscard]] core::StatusOr<Tensor> strided_slice(
      std::initializer_list<SliceRange> ranges) const {
    return strided_slice(std::span<const SliceRange>(ranges.begin(), ranges.size()));
  }

  // Index `i` of one axis; the axis is gone.
  //   Errors   InvalidArgument: dim outside [0, rank), or i outside [0, extent).
  [[nodiscard]] core::StatusOr<Tensor> select(int dim, std::int64_t i) const;

  // Axis k of the result is axis axes[k] of this tensor.
  //   Errors   InvalidArgument: not a permutation of [0, rank).
  [[nodiscard]] core::StatusOr<Tensor> permute(std::span<const int> axes) const;
  [[nodiscard]] core::StatusOr<Tensor> permute(std::initializer_list<int> axes) const {
    return permute(std::span<const int>(axes.begin(), axes.size()));
  }

  // Swaps two axes (which may be the same).
  //   Errors   InvalidArgument: an axis outside [0, rank).
  [[nodiscard]] core::StatusOr<Tensor> transpose(int a, int b) const;

  // Drops one axis of extent 1.
  //   Errors   InvalidArgument: dim outside [0, rank), or another extent.
  [[nodiscard]] core::StatusOr<Tensor> squeeze(int dim) const;

  // Inserts an axis of extent 1 before axis `dim` (at the end for dim == rank). Its stride is what
  // the following axis spans (1 at the end), so that a contiguous tensor keeps row-major strides.
  //   Errors   InvalidArgument: dim outside [0, rank], or rank kMaxRank already.
  [[nodiscard]] core::StatusOr<Tensor> unsqueeze(int dim) const;

  // The same elements, in row-major order, under another shape. Never copies.
  //   Errors   InvalidArgument: not contiguous (copy first), or another number of elements.
  [[nodiscard]] core::StatusOr<Tensor> reshape(Shape new_shape) const;

  // The same bytes as another dtype of the same width; same shape and strides.
  //   Errors   Unimplemented: a reserved dtype. InvalidArgument: another item size.
  [[nodiscard]] core::StatusOr<Tensor> view_as_dtype(DataType new_dtype) const;

  // The address of the first element: buffer base plus byte_offset(). Null only when the buffer is
  // zero-sized, which implies numel() == 0. On a CUDA tensor it is a device address. CHECKs
  // defined().
  [[nodiscard]] void* data() const {
    CheckDefined("data");
    return static_cast<std::byte*>(buffer_->data()) + byte_offset_;
  }

  // The same, typed. T may be const.
  //   CHECKs   defined(); T is the dtype's type; the address is aligned for T.
  template <typename T>
  [[nodiscard]] T* data_ptr() const;

  // One element, by coordinates; strides apply. For tests and debugging, not for hot paths.
  //   CHECKs   defined(), cpu, T is the dtype's type, one index per axis, each in range.
  template <typename T>
  [[nodiscard]] T item(std::span<const std::int64_t> indices) const;
  template <typename T>
  [[nodiscard]] T item(std::initializer_list<std::int64_t> indices) const {
    return item<T>(std::span<const std::int64_t>(indices.begin(), indices.size()));
  }

  // The storage, for code that hands it on (another from_buffer, an exporter). Null when undefined.
  [[nodiscard]] const std::shared_ptr<memory::Buffer>& buffer() const { return buffer_; }

 private:
  Tensor(std::shared_ptr<memory::Buffer> buffer, std::size_t byte_offset, const Shape& shape,
         const Strides& strides, DataType dtype);

  // A copy of this handle that `edit` (void(Tensor&)) turns into the view. It is built inside the
  // result: a Tensor is three cache lines, and moving one costs as much as the rest of a view
  // operation.
  template <typename Edit>
  [[nodiscard]] core::StatusOr<Tensor> View(Edit edit) const;
  // byte_offset() moved on by `elements` (>= 0): saturating, then clamped to the buffer's size.
  // Only the offset of a view without elements ever needs either.
  [[nodiscard]] std::size_t OffsetAfter(std::int64_t elements) const;

  void CheckDefined(const char* operation) const {
    ENGINE_CHECK(defined(), "{}: the tensor is undefined", operation);
  }
  // data() after checking that the dtype is `requested` and the address suits `alignment`.
  [[nodiscard]] void* CheckedData(DataType requested, std::size_t alignment) const;
  // The address of one element after all of item's checks.
  [[nodiscard]] const void* CheckedElement(DataType requested,
                                           std::span<const std::int64_t> indices) const;

  std::shared_ptr<memory::Buffer> buffer_;
  std::size_t byte_offset_ = 0;
  Shape shape_;
  Strides strides_;
  DataType dtype_ = DataType::kFloat32;
  Device device_;  // the buffer's, kept here for cheap access
};

template <typename T>
T* Tensor::data_ptr() const {
  return static_cast<T*>(CheckedData(dtype_of<std::remove_const_t<T>>, alignof(T)));
}

template <typename T>
T Tensor::item(std::span<const std::int64_t> indices) const {
  return strided::LoadElement<T>(CheckedElement(dtype_of<T>, indices));
}

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_TENSOR_H_
