// dense/dense_tensor.h: the owning tensor whose element type and rank are part of its type.
// Layer 4.
//
//   DenseMatrix<float> weights(3, 4);                  // zeros
//   DenseMatrix<float> scratch(uninitialized, 3, 4);   // write before reading
//   weights(1, 2) = 0.5f;
//   for (float& x : weights) x *= 2;
//   ENGINE_ASSIGN_OR_RETURN(auto big, DenseMatrix<float>::Create({rows, columns}));
//
// Source: docs/design/dense.md, "DenseTensor" and "Initial values".
#ifndef ENGINE_DENSE_DENSE_TENSOR_H_
#define ENGINE_DENSE_DENSE_TENSOR_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/status.h"
#include "dense/concepts.h"
#include "dense/copy.h"
#include "dense/dense_view.h"
#include "dense/layout.h"
#include "dense/precision.h"
#include "dense/storage.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace engine::dense {

// Owns its elements: copying copies the values, moving leaves the source empty, destruction frees.
// Storage is 64-byte aligned unless it was adopted.
//
// Elements begin as zero, unless the tag `uninitialized` comes first. Constructors are for shapes
// written in source: they CHECK what the factories report, no memory included. Where shapes come
// from data use Create, Clone, make_tensor and reset_shape.
//
// Default-constructed: no elements and no allocation; of rank 0, one zero element. Without elements
// (so also moved from; then in rank 0 too) data() is null and numel() is 0.
//
// An `allocator` is used by the call it is given to and not kept; null is the default one.
//
// With the layout Strided the strides are given, distances in elements; the storage then may have
// gaps, whose values are zero like the elements', or unspecified after a copy and with the tag.
//
// Thread safety: as std::vector, for storage of its own. Elements that are shared with a Tensor, after
// Adopt(tensor) or AsTensor(), are shared as between handles: a write races with every other access.
template <tensor::MappedElement T, std::size_t Rank, DenseLayout Layout = RowMajor>
class DenseTensor {
  static_assert(Rank <= static_cast<std::size_t>(tensor::kMaxRank), "rank above tensor::kMaxRank");
  using Mapping = internal::Mapping<Rank, Layout>;
  using enum tensor::StorageInitialization;
  // One integer per axis, then perhaps a Precision.
  template <typename... Args>
  static constexpr bool kIsShape =
      CanonicalLayout<Layout>&& internal::kIsShapeRequest<Rank, Args...>;

 public:
  using element_type = T;
  using value_type = T;
  using layout_type = Layout;                 // RowMajor, ColumnMajor or Strided
  static constexpr std::size_t kRank = Rank;  // axes
  // Strides follow from the extents.
  static constexpr bool kCanonical = CanonicalLayout<Layout>;

  // --- Construction from source code. CHECKs what the factory of the same arguments reports. ---

  // No elements; of rank 0, one zero element.
  DenseTensor() noexcept {
    if constexpr (Rank == 0) {
      *this = internal::CheckedValue(AllocateFor(Mapping(), tensor::Shape(), kZero, nullptr),
                                     Extents<Rank>{});
    }
  }

  // DenseMatrix<float>(3, 4): an integer per axis, and perhaps the Precision.
  template <typename... Args>
  explicit DenseTensor(Args... args) requires(kIsShape<Args...> && sizeof...(Args) > 0)
      : DenseTensor(internal::CheckedValue(FromRequest(kZero, args...),
                                           internal::ExtentsOf<Rank>(args...))) {}
  template <typename... Args>
  explicit DenseTensor(Uninitialized /*tag*/, Args... args) requires(kIsShape<Args...>)
      : DenseTensor(internal::CheckedValue(FromRequest(kUninitialized, args...),
                                           internal::ExtentsOf<Rank>(args...))) {}

  // The same with one array of extents, and storage from `allocator`.
  explicit DenseTensor(const Extents<Rank>& extents,
                       memory::Allocator* allocator = nullptr) requires kCanonical
      : DenseTensor(internal::CheckedValue(Create(extents, allocator), extents)) {}
  // For braces, DenseMatrix<float>({3, 4}), which would also do for the copy constructor's argument.
  template <std::size_t N>
  explicit DenseTensor(const std::int64_t (&extents)[N]) requires(kCanonical&& N == Rank)
      : DenseTensor(std::to_array(extents)) {}
  // Without values.
  DenseTensor(Uninitialized tag, const Extents<Rank>& extents,
              memory::Allocator* allocator = nullptr) requires kCanonical
      : DenseTensor(internal::CheckedValue(Create(tag, extents, allocator), extents)) {}
  // Strided: zeros, between the elements too.
  DenseTensor(const Extents<Rank>& extents, const Extents<Rank>& strides,
              memory::Allocator* allocator = nullptr) requires(!kCanonical)
      : DenseTensor(internal::CheckedValue(Create(extents, strides, allocator), extents)) {}
  // Strided, without values.
  DenseTensor(Uninitialized tag, const Extents<Rank>& extents, const Extents<Rank>& strides,
              memory::Allocator* allocator = nullptr) requires(!kCanonical)
      : DenseTensor(internal::CheckedValue(Create(tag, extents, strides, allocator), extents)) {}

  // A copy of any tensor of this element type and rank, in this layout.
  template <SourceOf<T, Rank> Source>
  explicit DenseTensor(const Source& source) requires(kCanonical)
      : DenseTensor(internal::CheckedValue(CopyOf(source), source.extents())) {}

  // Copies the values, as Clone does.
  DenseTensor(const DenseTensor& other)
      : DenseTensor(internal::CheckedValue(other.Clone(), other.extents())) {}
  // Into storage of its own; dense::copy writes into what is there.
  DenseTensor& operator=(const DenseTensor& other) {
    if (this != &other) *this = internal::CheckedValue(other.Clone(), other.extents());
    return *this;
  }
  // Takes the storage over; `other` is empty.
  DenseTensor(DenseTensor&& other) noexcept { Swap(other); }
  // The same; the storage that was here is released.
  DenseTensor& operator=(DenseTensor&& other) noexcept {
    DenseTensor incoming(std::move(other));
    Swap(incoming);
    return *this;
  }
  ~DenseTensor() = default;

  // --- Factories ---

  // Zero, or uninitialised elements.
  //   Errors   InvalidArgument: a negative extent, extents whose product or bytes overflow, or a
  //            precision other than T's. kOutOfMemory.
  [[nodiscard]] static core::StatusOr<DenseTensor> Create(
      const Extents<Rank>& extents, memory::Allocator* allocator = nullptr) requires kCanonical {
    return Allocate(extents, kZero, allocator);
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> Create(
      Uninitialized /*tag*/, const Extents<Rank>& extents,
      memory::Allocator* allocator = nullptr) requires kCanonical {
    return Allocate(extents, kUninitialized, allocator);
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> Create(
      const Extents<Rank>& extents, Precision precision,
      memory::Allocator* allocator = nullptr) requires kCanonical {
    ENGINE_RETURN_IF_ERROR(internal::RequireNativePrecision<T>("DenseTensor", precision));
    return Allocate(extents, kZero, allocator);
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> Create(
      Uninitialized /*tag*/, const Extents<Rank>& extents, Precision precision,
      memory::Allocator* allocator = nullptr) requires kCanonical {
    ENGINE_RETURN_IF_ERROR(internal::RequireNativePrecision<T>("DenseTensor", precision));
    return Allocate(extents, kUninitialized, allocator);
  }

  // With given strides.
  //   Errors   also InvalidArgument: a negative stride, stride 0 on an axis of several elements,
  //            or strides that put two elements in one place or interleave (each axis has to step
  //            over all that those with smaller strides reach).
  [[nodiscard]] static core::StatusOr<DenseTensor> Create(
      const Extents<Rank>& extents, const Extents<Rank>& strides,
      memory::Allocator* allocator = nullptr) requires(!kCanonical) {
    return AllocateStrided(extents, strides, kZero, allocator);
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> Create(
      Uninitialized /*tag*/, const Extents<Rank>& extents, const Extents<Rank>& strides,
      memory::Allocator* allocator = nullptr) requires(!kCanonical) {
    return AllocateStrided(extents, strides, kUninitialized, allocator);
  }

  // An element-wise copy in this layout, without filling the storage first.
  //   Errors   kOutOfMemory.
  //   CHECKs   the source is no moved-from tensor of rank 0.
  template <SourceOf<T, Rank> Source>
  [[nodiscard]] static core::StatusOr<DenseTensor> CopyOf(
      const Source& source, memory::Allocator* allocator = nullptr) requires kCanonical {
    if constexpr (BackgroundSource<Source>) {
      if (internal::HasZeroBits<T>(source.background())) {
        ENGINE_ASSIGN_OR_RETURN(DenseTensor zero, Create(source.extents(), allocator));
        source.WriteExceptions(zero.view());
        return zero;
      }
    }
    ENGINE_ASSIGN_OR_RETURN(DenseTensor copy, Create(uninitialized, source.extents(), allocator));
    internal::WriteElements(copy.view(), source);
    return copy;
  }

  // The same values, extents and strides. An empty tensor has an empty clone.
  //   Errors   kOutOfMemory.
  [[nodiscard]] core::StatusOr<DenseTensor> Clone(memory::Allocator* allocator = nullptr) const {
    if (data_ == nullptr) return DenseTensor(nullptr, nullptr, mapping_);
    ENGINE_ASSIGN_OR_RETURN(DenseTensor copy,
                            AllocateFor(mapping_, StorageShape(), kUninitialized, allocator));
    internal::WriteElements(copy.view(), view());
    return copy;
  }

  // Takes over memory that holds elements already, from its first byte on.
  //   Errors   InvalidArgument: extents or strides as Create's, fewer bytes than they reach,
  //            read-only, elements that are not aligned for T, or a bool whose byte is neither 0
  //            nor 1. Unimplemented: not on the cpu. The buffer stays with the caller, except on
  //            kOutOfMemory.
  [[nodiscard]] static core::StatusOr<DenseTensor> Adopt(
      memory::Buffer&& buffer, const Extents<Rank>& extents) requires kCanonical {
    ENGINE_ASSIGN_OR_RETURN(const Mapping mapping,
                            (internal::MakeMapping<Rank, Layout>("DenseTensor::Adopt", extents)));
    return AdoptBuffer(buffer, mapping, mapping.numel());
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> Adopt(
      memory::Buffer&& buffer, const Extents<Rank>& extents,
      const Extents<Rank>& strides) requires(!kCanonical) {
    ENGINE_ASSIGN_OR_RETURN(const std::int64_t reach, Reach(extents, strides));
    return AdoptBuffer(buffer, Mapping(extents, strides), reach);
  }

  // Takes over the elements of a Tensor without copying. They stay shared: a write through other
  // handles shows here and the reverse, as between handles.
  //   Errors   as DenseView::Of; for Strided also strides that Create refuses.
  //   CHECKs   the tensor is defined.
  [[nodiscard]] static core::StatusOr<DenseTensor> Adopt(const tensor::Tensor& tensor) {
    ENGINE_ASSIGN_OR_RETURN(void* const data,
                            internal::TypedData("DenseTensor::Adopt", tensor, Request()));
    const Mapping mapping = internal::MappingOf<Rank, Layout>(tensor);
    if constexpr (!kCanonical) {
      ENGINE_RETURN_IF_ERROR(Reach(mapping.extents(), mapping.strides()).status());
    }
    if (mapping.numel() == 0) return DenseTensor(nullptr, nullptr, mapping);
    return DenseTensor(tensor.buffer(), static_cast<T*>(data), mapping);
  }

  // Copies the elements of a Tensor of any strides and alignment. Of bool, bytes other than 0 and 1
  // become true.
  //   Errors   InvalidArgument: another dtype or rank. Unimplemented: a CUDA tensor. kOutOfMemory.
  //   CHECKs   the tensor is defined.
  [[nodiscard]] static core::StatusOr<DenseTensor> FromTensor(
      const tensor::Tensor& tensor, memory::Allocator* allocator = nullptr) requires kCanonical {
    ENGINE_RETURN_IF_ERROR(
        internal::RequireElements("FromTensor", tensor, tensor::dtype_of<T>, Rank));
    const Extents<Rank> extents = internal::ToArray<Rank>(tensor.shape().dims());
    ENGINE_ASSIGN_OR_RETURN(DenseTensor copy, Create(uninitialized, extents, allocator));
    internal::CopyFromTensor(copy.data_, internal::ToStrides(copy.strides()), tensor);
    return copy;
  }

  // --- The same elements as a Tensor ---

  // Shares the storage: no copy, and writes on either side show on the other. Of a const tensor the
  // result is read-only; of an rvalue it takes the storage over, and this tensor is empty.
  //   Errors   kOutOfMemory: a handle without elements, or a read-only one, needs a control block.
  //   CHECKs   this is no moved-from tensor of rank 0.
  [[nodiscard]] core::StatusOr<tensor::Tensor> AsTensor() & { return MakeHandle(buffer_); }
  [[nodiscard]] core::StatusOr<tensor::Tensor> AsTensor() const& {
    if (buffer_ == nullptr) return MakeHandle(nullptr);
    ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<memory::Buffer> read_only,
                            internal::ShareReadOnly(buffer_));
    return MakeHandle(read_only);
  }
  [[nodiscard]] core::StatusOr<tensor::Tensor> AsTensor() && {
    ENGINE_ASSIGN_OR_RETURN(tensor::Tensor handle, MakeHandle(buffer_));
    static_cast<void>(DenseTensor(std::move(*this)));
    return handle;
  }

  // --- Another shape, other values ---

  // Discards the elements for zeros (uninitialised elements with the tag) of another shape, in
  // fresh storage; the old is released afterwards. On an error nothing has changed. To avoid
  // holding both, assign an empty tensor first.
  //   Errors   as Create.
  template <typename... Args>
  [[nodiscard]] core::Status reset_shape(Args... args) requires kIsShape<Args...> {
    return TakeOver(FromRequest(kZero, args...));
  }
  template <typename... Args>
  [[nodiscard]] core::Status reset_shape(Uninitialized /*tag*/,
                                         Args... args) requires kIsShape<Args...> {
    return TakeOver(FromRequest(kUninitialized, args...));
  }
  [[nodiscard]] core::Status reset_shape(
      const Extents<Rank>& extents, memory::Allocator* allocator = nullptr) requires kCanonical {
    return TakeOver(Create(extents, allocator));
  }
  [[nodiscard]] core::Status reset_shape(Uninitialized tag, const Extents<Rank>& extents,
                                         memory::Allocator* allocator = nullptr) requires
      kCanonical {
    return TakeOver(Create(tag, extents, allocator));
  }
  // The same where the allocator is the point.
  [[nodiscard]] core::Status replace(const Extents<Rank>& extents,
                                     memory::Allocator* allocator) requires kCanonical {
    return reset_shape(extents, allocator);
  }
  [[nodiscard]] core::Status replace(Uninitialized tag, const Extents<Rank>& extents,
                                     memory::Allocator* allocator) requires kCanonical {
    return reset_shape(tag, extents, allocator);
  }

  // The same storage under other extents: what reshape and reshape_inplace are made of. -1 is not
  // inferred here. On an error nothing has changed.
  //   Errors   InvalidArgument: extents that are not valid, or another number of elements.
  [[nodiscard]] core::Status Remap(const Extents<Rank>& extents) requires kCanonical {
    ENGINE_ASSIGN_OR_RETURN(mapping_, Remapped<Rank>(extents));
    return core::OkStatus();
  }
  // The same into a tensor of another rank; this one is empty afterwards.
  template <std::size_t NewRank>
      [[nodiscard]] core::StatusOr<DenseTensor<T, NewRank, Layout>>
      RemapTo(const Extents<NewRank>& extents) && requires kCanonical {
    ENGINE_ASSIGN_OR_RETURN(const auto mapping, Remapped<NewRank>(extents));
    DenseTensor taken(std::move(*this));
    return DenseTensor<T, NewRank, Layout>(std::move(taken.buffer_), taken.data_, mapping);
  }

  // --- Metadata ---

  // One per axis.
  [[nodiscard]] const Extents<Rank>& extents() const { return mapping_.extents(); }
  // CHECKs axis < Rank.
  [[nodiscard]] std::int64_t extent(std::size_t axis) const {
    ENGINE_CHECK(axis < Rank, "extent: axis {} of rank {}", axis, Rank);
    return extents()[axis];
  }
  [[nodiscard]] Extents<Rank> strides() const { return mapping_.strides(); }  // elements
  // How many elements there are: none after a move, in rank 0 too.
  [[nodiscard]] std::int64_t numel() const { return data_ == nullptr ? 0 : mapping_.numel(); }
  // numel() == 0.
  [[nodiscard]] bool empty() const { return numel() == 0; }
  // extents() as a Shape.
  [[nodiscard]] tensor::Shape shape() const { return internal::ToShape(extents()); }

  // --- Elements ---

  // The first element; null when there is none.
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }

  // One index per axis, checked in builds without NDEBUG.
  template <internal::IndexInteger... Index>
  [[nodiscard]] T& operator()(Index... index) requires(sizeof...(Index) == Rank) {
    return view()(index...);
  }
  template <internal::IndexInteger... Index>
  [[nodiscard]] const T& operator()(Index... index) const requires(sizeof...(Index) == Rank) {
    return view()(index...);
  }

  // The elements in memory order, which is the layout's.
  [[nodiscard]] std::span<T> span() & requires kCanonical { return view().span(); }
  [[nodiscard]] std::span<const T> span() const& requires kCanonical { return view().span(); }
  std::span<const T> span() const&& = delete;  // it would outlive its elements
  // The first of them.
  [[nodiscard]] T* begin() requires kCanonical { return data_; }
  // One past the last.
  [[nodiscard]] T* end() requires kCanonical { return data_ + numel(); }
  // The first of them, to read.
  [[nodiscard]] const T* begin() const requires kCanonical { return data_; }
  // One past the last.
  [[nodiscard]] const T* end() const requires kCanonical { return data_ + numel(); }

  // Valid until the storage is replaced or released: not for temporaries.
  [[nodiscard]] DenseView<T, Rank, Layout> view() & { return {data_, mapping_}; }
  [[nodiscard]] DenseView<const T, Rank, Layout> view() const& { return {data_, mapping_}; }
  DenseView<const T, Rank, Layout> view() const&& = delete;

 private:
  template <tensor::MappedElement U, std::size_t OtherRank, DenseLayout OtherLayout>
  friend class DenseTensor;

  DenseTensor(std::shared_ptr<memory::Buffer> buffer, T* data, const Mapping& mapping)
      : buffer_(std::move(buffer)), data_(data), mapping_(mapping) {}

  void Swap(DenseTensor& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(data_, other.data_);
    std::swap(mapping_, other.mapping_);
  }

  [[nodiscard]] core::Status TakeOver(core::StatusOr<DenseTensor> replacement) {
    if (!replacement.ok()) return replacement.status();
    *this = *std::move(replacement);
    return core::OkStatus();
  }

  static constexpr internal::TensorRequest Request() {
    return {.dtype = tensor::dtype_of<T>,
            .rank = Rank,
            .alignment = alignof(T),
            .writable = true,
            .layout = internal::kLayoutKind<Layout>};
  }

  [[nodiscard]] static core::StatusOr<std::int64_t> Reach(const Extents<Rank>& extents,
                                                          const Extents<Rank>& strides) {
    ENGINE_ASSIGN_OR_RETURN(const tensor::Shape shape, internal::ShapeOf("DenseTensor", extents));
    return internal::StridedReach("DenseTensor", shape, strides, /*exclusive=*/true);
  }

  template <typename... Args>
  [[nodiscard]] static core::StatusOr<DenseTensor> FromRequest(
      tensor::StorageInitialization initialization, Args... args) {
    const auto request = internal::ParseShapeRequest<Rank>(args...);
    ENGINE_RETURN_IF_ERROR(internal::RequireNativePrecision<T>(
        "DenseTensor", request.precision.value_or(native_precision<T>())));
    return Allocate(request.extents, initialization, nullptr);
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> Allocate(
      const Extents<Rank>& extents, tensor::StorageInitialization initialization,
      memory::Allocator* allocator) {
    ENGINE_ASSIGN_OR_RETURN(const tensor::Shape shape, internal::ShapeOf("DenseTensor", extents));
    return AllocateFor(Mapping(extents), shape, initialization, allocator);
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> AllocateStrided(
      const Extents<Rank>& extents, const Extents<Rank>& strides,
      tensor::StorageInitialization initialization, memory::Allocator* allocator) {
    ENGINE_ASSIGN_OR_RETURN(const std::int64_t reach, Reach(extents, strides));
    return AllocateFor(Mapping(extents, strides), {reach}, initialization, allocator);
  }
  // For a valid mapping, whose elements and gaps make up a contiguous `storage`.
  [[nodiscard]] static core::StatusOr<DenseTensor> AllocateFor(
      const Mapping& mapping, const tensor::Shape& storage,
      tensor::StorageInitialization initialization, memory::Allocator* allocator) {
    ENGINE_ASSIGN_OR_RETURN(
        std::shared_ptr<memory::Buffer> buffer,
        internal::AllocateElements(storage, tensor::dtype_of<T>, initialization, allocator));
    T* const data = buffer == nullptr ? nullptr : static_cast<T*>(buffer->data());
    return DenseTensor(std::move(buffer), data, mapping);
  }
  [[nodiscard]] tensor::Shape StorageShape() const {
    if constexpr (kCanonical) {
      return shape();
    } else {
      return {*Reach(extents(), strides())};
    }
  }
  [[nodiscard]] static core::StatusOr<DenseTensor> AdoptBuffer(memory::Buffer& buffer,
                                                               const Mapping& mapping,
                                                               std::int64_t reach) {
    ENGINE_ASSIGN_OR_RETURN(
        std::shared_ptr<memory::Buffer> shared,
        internal::AdoptBuffer(buffer, internal::ToShape(mapping.extents()),
                              internal::ToStrides(mapping.strides()), reach, Request()));
    T* const data = mapping.numel() == 0 ? nullptr : static_cast<T*>(shared->data());
    return DenseTensor(std::move(shared), data, mapping);
  }

  template <std::size_t NewRank>
  [[nodiscard]] core::StatusOr<internal::Mapping<NewRank, Layout>> Remapped(
      const Extents<NewRank>& extents) const {
    ENGINE_ASSIGN_OR_RETURN(const auto mapping,
                            (internal::MakeMapping<NewRank, Layout>("Remap", extents)));
    if (mapping.numel() == numel()) return mapping;
    return core::InvalidArgumentError("Remap: {} elements do not fit {} (reshape.count)", numel(),
                                      internal::ToShape(extents));
  }

  [[nodiscard]] core::StatusOr<tensor::Tensor> MakeHandle(
      const std::shared_ptr<memory::Buffer>& buffer) const {
    internal::CheckHasElements("AsTensor", *this);
    return internal::MakeTensorHandle(buffer, data_, shape(), internal::ToStrides(strides()),
                                      tensor::dtype_of<T>);
  }

  std::shared_ptr<memory::Buffer> buffer_;
  T* data_ = nullptr;
  Mapping mapping_;
};

// DenseTensor(source): the layout that make_tensor chooses.
template <TensorSource Source>
explicit DenseTensor(const Source&)
    -> DenseTensor<ValueOf<Source>, kRankOf<Source>, MaterializedLayoutOf<Source>>;

// One element.
template <typename T>
using ScalarTensor = DenseTensor<T, 0>;
// One axis.
template <typename T>
using DenseVector = DenseTensor<T, 1>;
// Rows and columns.
template <typename T, typename Layout = RowMajor>
using DenseMatrix = DenseTensor<T, 2, Layout>;

}  // namespace engine::dense

#endif  // ENGINE_DENSE_DENSE_TENSOR_H_
