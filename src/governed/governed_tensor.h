// governed/governed_tensor.h: copy-on-write tensors that no sibling can change behind their back.
// Layer 4. No threads, no locks.
//
//   ENGINE_ASSIGN_OR_RETURN(auto weights, GovernedTensor<float>::Alloc({4, 4}));
//   ENGINE_ASSIGN_OR_RETURN(auto corner, weights.View({{0, 2}, {1, 4}}));  // shares the storage
//   ENGINE_RETURN_IF_ERROR(corner.Set({0, 0}, 99));  // corner moves to storage of its own first
//
// Source: docs/design/governed.md.
#ifndef ENGINE_GOVERNED_GOVERNED_TENSOR_H_
#define ENGINE_GOVERNED_GOVERNED_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/status.h"
#include "governed/failure.h"
#include "governed/shared_storage.h"
#include "governed/tensor_descriptor.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "strided/convert.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace engine::governed {

using tensor::SliceRange;

// What governed tensors of every element type have in common; use GovernedTensor<T>.
//
// A handle to counted storage, with an offset, a shape and strides. Handles that share storage are
// siblings; each counts once. Writing through a handle that has siblings first moves it to storage
// of its own, so nobody ever sees a sibling's writes. Everything is decided by the count: nothing
// records who made whom.
//
// Operations are fail-closed: an error leaves this handle, its siblings, their elements and the
// count as they were. Errors that are named after a Failure carry it (FailureOf).
//
// A default-constructed, freed or moved-from handle is empty: no axes, no elements, refcount 0.
// Metadata of an empty handle may be asked, and Free() and assignment do nothing special; the other
// operations CHECK defined().
//
// Where an allocator can be given, it serves that call alone (null: the process' CpuAllocator);
// CHECKed to serve the cpu.
//
// Thread safety: as shared_ptr, and the elements too. Distinct handles may be used concurrently
// without any synchronisation, whether they share storage or not: also while one of them writes.
// One handle may be used concurrently through const functions only; copying, viewing or lending it
// reads it.
class GovernedHandle {
 public:
  // Whether there is storage. False for default-constructed, freed and moved-from handles.
  [[nodiscard]] bool defined() const { return storage_.defined(); }
  // The extents; none is 0. Valid until this handle changes or dies, as strides().
  [[nodiscard]] const tensor::Shape& shape() const { return shape_; }
  [[nodiscard]] const tensor::Strides& strides() const { return strides_; }  // elements
  [[nodiscard]] std::int64_t offset() const { return offset_; }  // elements into the storage
  // What an element is: tensor::dtype_of<T>.
  [[nodiscard]] tensor::DataType dtype() const { return dtype_; }
  // The number of elements that are visible here; 0 for an empty handle.
  [[nodiscard]] std::int64_t size() const { return defined() ? shape_.numel() : 0; }
  // The contract's name for size().
  [[nodiscard]] std::int64_t len() const { return size(); }
  // The elements of the storage, visible here or not.
  [[nodiscard]] std::int64_t storage_size() const;
  // How many share the storage: handles, what AsTensor() has lent, and the lender of read-only
  // memory. Exact when no sibling comes or goes meanwhile.
  [[nodiscard]] std::int64_t refcount() const { return storage_.count(); }
  // B_own: nobody shares. Then nobody can begin to, but through this handle.
  [[nodiscard]] bool owns_storage() const { return storage_.IsExclusive(); }
  // B_layout: the strides equal tensor::RowMajorStrides(shape()), those of axes of extent 1 too
  // (tensor::IsContiguous is laxer there).
  [[nodiscard]] bool is_contiguous() const { return strides_ == tensor::RowMajorStrides(shape_); }
  // All of the above as plain data, for C callers. Keeps nothing alive.
  [[nodiscard]] TensorDescriptor Descriptor() const;

  // Gives this share of the storage back and empties the handle.
  void Free() noexcept;

  // Axis k becomes the axis that was axes[k]. Elements stay where they are.
  //   Errors   InvalidPermutation.
  [[nodiscard]] core::Status Transpose(std::span<const int> axes);
  [[nodiscard]] core::Status Transpose(std::initializer_list<int> axes) {
    return Transpose(std::span<const int>(axes.begin(), axes.size()));
  }

  // The same elements in row-major order under another shape; offset and elements stay.
  //   Errors   in this order: EmptyTensor (no axes), ShapeMismatch (another number of elements; an
  //            extent below 1 and overflow too), DimensionMismatch (more than 8 axes),
  //            NotContiguous, NotExclusive.
  [[nodiscard]] core::Status Reshape(std::span<const std::int64_t> dims);
  [[nodiscard]] core::Status Reshape(std::initializer_list<std::int64_t> dims) {
    return Reshape(std::span<const std::int64_t>(dims.begin(), dims.size()));
  }

  // Afterwards is_contiguous() and owns_storage() hold. Does nothing, to the offset neither, when
  // both do already; else moves the elements to fresh storage of exactly their number, offset 0.
  //   Errors   OutOfMemory.
  [[nodiscard]] core::Status Materialize(memory::Allocator* allocator = nullptr);

  // A read-only Tensor over the same elements, without a copy. Until the last handle on it is gone
  // it counts as one sharer, so no handle ever changes what it shows. The caller promises not to:
  // operations refuse a read-only destination, but Tensor::data() and data_ptr() give an address
  // that the type system lets be written through, and every sharer would see it.
  //   Errors   OutOfMemory: its control block could not be allocated.
  [[nodiscard]] core::StatusOr<tensor::Tensor> AsTensor() const;

 protected:
  explicit GovernedHandle(tensor::DataType dtype) : dtype_(dtype) {}
  GovernedHandle(const GovernedHandle&) noexcept = default;
  GovernedHandle(GovernedHandle&& other) noexcept
      : storage_(std::move(other.storage_)),
        offset_(other.offset_),
        shape_(other.shape_),
        strides_(other.strides_),
        dtype_(other.dtype_) {
    other.Free();
  }
  // The old share is given back last: it may run a deleter, which finds this handle in order.
  GovernedHandle& operator=(const GovernedHandle& other) noexcept {
    GovernedHandle incoming(other);
    Swap(incoming);
    return *this;
  }
  GovernedHandle& operator=(GovernedHandle&& other) noexcept {
    GovernedHandle incoming(std::move(other));
    Swap(incoming);
    return *this;
  }
  ~GovernedHandle() = default;

  // Each fills an empty handle, or leaves it empty and returns the error.
  [[nodiscard]] core::Status Allocate(std::span<const std::int64_t> dims,
                                      memory::Allocator* allocator);
  [[nodiscard]] core::Status CopyFrom(const tensor::Tensor& source, memory::Allocator* allocator);
  [[nodiscard]] core::Status TakeOver(memory::Buffer&& buffer, std::span<const std::int64_t> dims);

  // Whether a view of these ranges exists, and what turns a copy of this handle into it.
  [[nodiscard]] core::Status CheckRanges(std::span<const SliceRange> ranges) const;
  void NarrowTo(std::span<const SliceRange> ranges);

  // The index in the storage of the element at `coordinates`; negative when there is none, which
  // CoordinateError then explains.
  [[nodiscard]] std::int64_t IndexOf(std::span<const std::int64_t> coordinates) const {
    const std::span<const std::int64_t> dims = shape_.dims();
    const std::span<const std::int64_t> strides = strides_.values();
    if (coordinates.size() != dims.size()) return -1;
    std::int64_t index = offset_;  // by invariant 1 never past the storage: it cannot overflow
    for (std::size_t i = 0; i < dims.size(); ++i) {
      // As unsigned numbers, where a negative coordinate is above every extent.
      if (static_cast<std::uint64_t>(coordinates[i]) >= static_cast<std::uint64_t>(dims[i])) {
        return -1;
      }
      index += coordinates[i] * strides[i];
    }
    return index;
  }
  [[nodiscard]] core::Status CoordinateError(const char* operation,
                                             std::span<const std::int64_t> coordinates) const;

  // Makes this handle the only one on its storage, which then suits `alignment`; on an error it is
  // as it was.
  [[nodiscard]] core::Status Unshare(memory::Allocator* allocator, std::size_t alignment = 1) {
    return owns_storage() && IsAligned(alignment) ? core::OkStatus() : MoveToOwnStorage(allocator);
  }

  void CheckDefined(const char* operation) const {
    ENGINE_CHECK(defined(), "{}: the tensor is empty (freed, moved from or never allocated)",
                 operation);
  }
  [[nodiscard]] std::byte* storage_data() const { return storage_.data(); }
  // The address of the first element; requires defined().
  [[nodiscard]] std::byte* first() const {
    return storage_.data() + offset_ * tensor::itemsize(dtype_);
  }
  // Whether that suits `alignment`.
  [[nodiscard]] bool IsAligned(std::size_t alignment) const {
    return reinterpret_cast<std::uintptr_t>(first()) % alignment == 0;
  }
  // first() after checking defined() and IsAligned(alignment).
  [[nodiscard]] std::byte* CheckedData(const char* operation, std::size_t alignment) const;

 private:
  void Swap(GovernedHandle& other) noexcept;
  // Fresh storage for `elements` of dtype_.
  [[nodiscard]] core::StatusOr<internal::SharedStorage> NewStorage(
      std::int64_t elements, memory::Allocator* allocator,
      tensor::StorageInitialization initialization) const;
  // How many elements lie between the first and one past the last that is visible here.
  [[nodiscard]] std::int64_t Reach() const;
  // Clones the window that is visible here.
  [[nodiscard]] core::Status MoveToOwnStorage(memory::Allocator* allocator);
  // Puts `fresh`, which holds the elements already, in the place of the storage; offset 0.
  void Exchange(internal::SharedStorage fresh);

  internal::SharedStorage storage_;
  std::int64_t offset_ = 0;
  tensor::Shape shape_;
  tensor::Strides strides_;
  tensor::DataType dtype_;
};

// The copy-on-write tensor of elements T, any type that has a DataType. Copying one shares the
// storage, as View of every element does.
//
// Coordinates, ranges and extents are taken as spans and as lists in braces; they may be any
// numbers.
template <tensor::MappedElement T>
class GovernedTensor : public GovernedHandle {
 public:
  using value_type = T;  // an element

  // An empty handle.
  GovernedTensor() : GovernedHandle(tensor::dtype_of<T>) {}

  // Zeroes in fresh storage, 64-byte aligned.
  //   Errors   in this order: EmptyTensor (no axes, or an extent below 1), DimensionMismatch (more
  //            than 8 axes), OutOfMemory (a size that overflows too).
  [[nodiscard]] static core::StatusOr<GovernedTensor> Alloc(
      std::span<const std::int64_t> dims, memory::Allocator* allocator = nullptr) {
    return Make([&](GovernedTensor& made) { return made.Allocate(dims, allocator); });
  }
  [[nodiscard]] static core::StatusOr<GovernedTensor> Alloc(
      std::initializer_list<std::int64_t> dims, memory::Allocator* allocator = nullptr) {
    return Alloc(std::span<const std::int64_t>(dims.begin(), dims.size()), allocator);
  }

  // A copy of any tensor of this dtype, whatever its strides and alignment.
  //   Errors   Unimplemented: not on the cpu. InvalidArgument: another dtype. EmptyTensor: no axes
  //            or no elements. OutOfMemory.
  //   CHECKs   source.defined().
  [[nodiscard]] static core::StatusOr<GovernedTensor> FromTensor(
      const tensor::Tensor& source, memory::Allocator* allocator = nullptr) {
    return Make([&](GovernedTensor& made) { return made.CopyFrom(source, allocator); });
  }

  // Takes over memory that holds the elements in row-major order, from its start on. On an error
  // `buffer` keeps it. Nobody else may write that memory any more. Read-only memory (a mapped file)
  // has its lender as a sharer: it is read in place, and the first write clones.
  //   Errors   Unimplemented: not on the cpu. EmptyTensor and DimensionMismatch as Alloc;
  //            ShapeMismatch: the buffer holds fewer elements. OutOfMemory: the count could not be
  //            allocated.
  //   CHECKs   buffer.engaged().
  [[nodiscard]] static core::StatusOr<GovernedTensor> Adopt(memory::Buffer&& buffer,
                                                            std::span<const std::int64_t> dims) {
    return Make([&](GovernedTensor& made) { return made.TakeOver(std::move(buffer), dims); });
  }
  [[nodiscard]] static core::StatusOr<GovernedTensor> Adopt(
      memory::Buffer&& buffer, std::initializer_list<std::int64_t> dims) {
    return Adopt(std::move(buffer), std::span<const std::int64_t>(dims.begin(), dims.size()));
  }

  // The elements start, start + step, ... below end of every axis, sharing the storage.
  //   Errors   DimensionMismatch: not one range per axis. InvalidSliceRange: not
  //            0 <= start < end <= extent, or a step below 1.
  [[nodiscard]] core::StatusOr<GovernedTensor> View(std::span<const SliceRange> ranges) const {
    ENGINE_RETURN_IF_ERROR(CheckRanges(ranges));
    return NarrowedTo(ranges);
  }
  [[nodiscard]] core::StatusOr<GovernedTensor> View(
      std::initializer_list<SliceRange> ranges) const {
    return View(std::span<const SliceRange>(ranges.begin(), ranges.size()));
  }

  // One element.
  //   Errors   DimensionMismatch: not one coordinate per axis. IndexOutOfBounds.
  [[nodiscard]] core::StatusOr<T> Get(std::span<const std::int64_t> coordinates) const {
    CheckDefined("Get");
    const std::int64_t index = IndexOf(coordinates);
    if (index < 0) return CoordinateError("Get", coordinates);
    return strided::LoadElement<T>(AddressOf(index));
  }
  [[nodiscard]] core::StatusOr<T> Get(std::initializer_list<std::int64_t> coordinates) const {
    return Get(std::span<const std::int64_t>(coordinates.begin(), coordinates.size()));
  }

  // Writes one element. When the storage is shared, clones the window that this tensor spans first
  // (offset 0; strides stay): siblings keep the old storage and their elements.
  //   Errors   as Get; OutOfMemory: the clone could not be allocated.
  [[nodiscard]] core::Status Set(std::span<const std::int64_t> coordinates, T value,
                                 memory::Allocator* allocator = nullptr) {
    CheckDefined("Set");
    const std::int64_t index = IndexOf(coordinates);
    if (index < 0) return CoordinateError("Set", coordinates);
    const std::int64_t from_first = index - offset();
    ENGINE_RETURN_IF_ERROR(Unshare(allocator));  // may move the first element
    strided::StoreElement(AddressOf(offset() + from_first), value);
    return core::OkStatus();
  }
  [[nodiscard]] core::Status Set(std::initializer_list<std::int64_t> coordinates, T value,
                                 memory::Allocator* allocator = nullptr) {
    return Set(std::span<const std::int64_t>(coordinates.begin(), coordinates.size()), value,
               allocator);
  }

  // The first element, to read through; strides() apply. Never clones. Valid until this handle is
  // written through, materialized, assigned to, freed or destroyed.
  //   CHECKs   the address is aligned for T (adopted memory may not be).
  [[nodiscard]] const T* data() const {
    return reinterpret_cast<const T*>(CheckedData("data", alignof(T)));
  }

  // The same to write through, after cloning as Set does, and also when the address is not aligned
  // for T. Valid for writing until this handle is copied, viewed or lent (the writes would reach
  // those) or anything that ends data().
  //   Errors   OutOfMemory.
  //   CHECKs   a given allocator returns aligned memory.
  [[nodiscard]] core::StatusOr<T*> mutable_data(memory::Allocator* allocator = nullptr) {
    CheckDefined("mutable_data");
    ENGINE_RETURN_IF_ERROR(Unshare(allocator, alignof(T)));
    return reinterpret_cast<T*>(CheckedData("mutable_data", alignof(T)));
  }

 private:
  // An empty tensor, filled by `fill` (core::Status(GovernedTensor&)) where it is returned.
  template <typename Fill>
  [[nodiscard]] static core::StatusOr<GovernedTensor> Make(Fill fill) {
    core::StatusOr<GovernedTensor> made{GovernedTensor()};
    ENGINE_RETURN_IF_ERROR(fill(*made));
    return made;
  }

  // Built inside the result: a handle is three cache lines, and moving one costs as much as the
  // rest of a view.
  [[nodiscard]] core::StatusOr<GovernedTensor> NarrowedTo(
      std::span<const SliceRange> ranges) const {
    core::StatusOr<GovernedTensor> view(*this);
    view->NarrowTo(ranges);
    return view;
  }

  [[nodiscard]] std::byte* AddressOf(std::int64_t index) const {
    return storage_data() + index * static_cast<std::int64_t>(sizeof(T));
  }
};

}  // namespace engine::governed

#endif  // ENGINE_GOVERNED_GOVERNED_TENSOR_H_
