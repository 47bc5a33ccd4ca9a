#include "governed/governed_tensor.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/checked_math.h"
#include "governed/internal/errors.h"
#include "strided/copy_plan.h"

namespace engine::governed {
namespace {

using internal::Fail;
using internal::SharedStorage;
using tensor::DimVector;
using tensor::kMaxRank;
using tensor::Shape;
using tensor::Strides;
using enum tensor::StorageInitialization;

// A cache line, and the widest vector of today's x86-64; as Tensor::empty.
constexpr std::size_t kStorageAlignment = 64;

// The first values, as many as a DimVector takes: for messages about too many.
DimVector Some(std::span<const std::int64_t> values) {
  return DimVector(values.first(std::min<std::size_t>(values.size(), kMaxRank)));
}

// The shape of fresh storage. `overflow` is the failure of a product that no int64_t holds.
core::StatusOr<Shape> ShapeOf(const char* operation, std::span<const std::int64_t> dims,
                              Failure overflow) {
  if (dims.empty()) return Fail(Failure::kEmptyTensor, "{}: the shape has no axes", operation);
  for (const std::int64_t dim : dims) {
    if (dim < 1) {
      return Fail(Failure::kEmptyTensor, "{}: extent {} in a shape of {} axes, expected at least 1",
                  operation, dim, dims.size());
    }
  }
  if (dims.size() > kMaxRank) {
    return Fail(Failure::kDimensionMismatch, "{}: {} axes, expected at most {}", operation,
                dims.size(), kMaxRank);
  }
  core::StatusOr<Shape> shape = Shape::FromDims(dims);
  if (!shape.ok()) {
    return Fail(overflow, "{}: the number of elements of {} overflows", operation, Some(dims));
  }
  return shape;
}

// The number of elements of any extents; nullopt for one below 1 or a product beyond int64_t.
std::optional<std::int64_t> CountOf(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 1) return std::nullopt;
    const std::optional<std::int64_t> product = core::CheckedMul(count, dim);
    if (!product.has_value()) return std::nullopt;
    count = *product;
  }
  return count;
}

// Elements of one dtype from one layout to another.
void CopyElements(tensor::DataType dtype, const Shape& shape, void* dst, const Strides& dst_strides,
                  const void* src, const Strides& src_strides) {
  const auto plan = strided::CopyPlan::Make(shape, dtype, dst_strides, dtype, src_strides);
  ENGINE_CHECK(plan.Run(dst, src), "a copy within dtype {} refused an element", dtype);
}

// The error paths are cold and out of line, so that what remains of each operation is short.

[[gnu::cold, gnu::noinline]] core::Status RangeCountError(std::size_t count, const Shape& shape) {
  return Fail(Failure::kDimensionMismatch, "View: {} ranges for shape {}, expected one per axis",
              count, shape);
}

[[gnu::cold, gnu::noinline]] core::Status RangeError(const SliceRange& range, int axis,
                                                     const Shape& shape) {
  return Fail(Failure::kInvalidSliceRange,
              "View: [{}, {}) in steps of {} along axis {} of shape {}, expected a positive step "
              "and at least one element within [0, {})",
              range.start, range.end, range.step, axis, shape, shape.dim(axis));
}

[[gnu::cold, gnu::noinline]] core::Status PermutationError(std::span<const int> axes,
                                                           const Shape& shape) {
  DimVector listed;
  for (const int axis : axes.first(std::min<std::size_t>(axes.size(), kMaxRank))) {
    listed.push_back(axis);
  }
  return Fail(Failure::kInvalidPermutation,
              "Transpose: {} axes {} are not a permutation of the {} axes of shape {}", axes.size(),
              listed, shape.rank(), shape);
}

}  // namespace

std::int64_t GovernedHandle::storage_size() const {
  if (!defined()) return 0;
  return static_cast<std::int64_t>(storage_.size_bytes()) / tensor::itemsize(dtype_);
}

TensorDescriptor GovernedHandle::Descriptor() const {
  TensorDescriptor descriptor;
  descriptor.data = defined() ? storage_.data() : nullptr;
  descriptor.rank = shape_.rank();
  std::copy(shape_.dims().begin(), shape_.dims().end(), descriptor.shape);
  std::copy(strides_.begin(), strides_.end(), descriptor.strides);
  descriptor.offset = offset_;
  descriptor.is_contiguous = is_contiguous() ? 1 : 0;
  descriptor.owns_storage = owns_storage() ? 1 : 0;
  return descriptor;
}

void GovernedHandle::Free() noexcept {
  // Given back last: it may run a deleter, which finds this handle empty.
  const SharedStorage released = std::move(storage_);
  offset_ = 0;
  shape_ = Shape();
  strides_ = Strides();
}

core::Status GovernedHandle::Transpose(std::span<const int> axes) {
  CheckDefined("Transpose");
  if (axes.size() != static_cast<std::size_t>(shape_.rank())) return PermutationError(axes, shape_);
  DimVector dims;
  Strides strides;
  unsigned seen = 0;  // bit k: axis k has been named
  for (const int axis : axes) {
    if (axis < 0 || axis >= shape_.rank() || ((seen >> axis) & 1u) != 0) {
      return PermutationError(axes, shape_);
    }
    seen |= 1u << axis;
    dims.push_back(shape_.dim(axis));
    strides.push_back(strides_[axis]);
  }
  ENGINE_ASSIGN_OR_RETURN(shape_, Shape::FromDims(dims.values()));
  strides_ = strides;
  return core::OkStatus();
}

core::Status GovernedHandle::Reshape(std::span<const std::int64_t> dims) {
  CheckDefined("Reshape");
  if (dims.empty()) return Fail(Failure::kEmptyTensor, "Reshape: the new shape has no axes");
  if (CountOf(dims) != shape_.numel()) {
    return Fail(Failure::kShapeMismatch,
                "Reshape: the {} elements of {} do not fill {} axes of extents {}{}",
                shape_.numel(), shape_, dims.size(), Some(dims),
                dims.size() > kMaxRank ? " and more" : "");
  }
  if (dims.size() > kMaxRank) {
    return Fail(Failure::kDimensionMismatch, "Reshape: {} axes, expected at most {}", dims.size(),
                kMaxRank);
  }
  if (!is_contiguous()) {
    return Fail(Failure::kNotContiguous,
                "Reshape: shape {} has strides {}, expected {}; materialize it first", shape_,
                strides_, tensor::RowMajorStrides(shape_));
  }
  if (!owns_storage()) {
    return Fail(Failure::kNotExclusive,
                "Reshape: the storage of shape {} is shared; materialize it first", shape_);
  }
  ENGINE_ASSIGN_OR_RETURN(shape_, Shape::FromDims(dims));
  strides_ = tensor::RowMajorStrides(shape_);
  return core::OkStatus();
}

core::Status GovernedHandle::Materialize(memory::Allocator* allocator) {
  CheckDefined("Materialize");
  const Strides canonical = tensor::RowMajorStrides(shape_);
  if (strides_ == canonical && owns_storage()) return core::OkStatus();
  ENGINE_ASSIGN_OR_RETURN(SharedStorage fresh,
                          NewStorage(shape_.numel(), allocator, kUninitialized));
  CopyElements(dtype_, shape_, fresh.data(), canonical, first(), strides_);
  strides_ = canonical;
  Exchange(std::move(fresh));
  return core::OkStatus();
}

core::StatusOr<tensor::Tensor> GovernedHandle::AsTensor() const {
  CheckDefined("AsTensor");
  ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<memory::Buffer> lent, storage_.Lend());
  return tensor::Tensor::from_strided_buffer(
      std::move(lent),
      static_cast<std::size_t>(offset_) * static_cast<std::size_t>(tensor::itemsize(dtype_)),
      shape_, strides_, dtype_);
}

core::Status GovernedHandle::Allocate(std::span<const std::int64_t> dims,
                                      memory::Allocator* allocator) {
  ENGINE_ASSIGN_OR_RETURN(const Shape shape, ShapeOf("Alloc", dims, Failure::kOutOfMemory));
  ENGINE_ASSIGN_OR_RETURN(storage_, NewStorage(shape.numel(), allocator, kZero));
  shape_ = shape;
  strides_ = tensor::RowMajorStrides(shape);
  return core::OkStatus();
}

core::Status GovernedHandle::CopyFrom(const tensor::Tensor& source, memory::Allocator* allocator) {
  ENGINE_CHECK(source.defined(), "FromTensor: the source is undefined");
  if (!source.device().is_cpu()) {
    return core::UnimplementedError("FromTensor: no backend for device {} (shape {})",
                                    source.device(), source.shape());
  }
  if (source.dtype() != dtype_) {
    return core::InvalidArgumentError("FromTensor: dtype {}, expected {} (shape {})",
                                      source.dtype(), dtype_, source.shape());
  }
  if (source.shape().rank() == 0 || source.numel() == 0) {
    return Fail(Failure::kEmptyTensor, "FromTensor: shape {}, expected axes and elements",
                source.shape());
  }
  ENGINE_ASSIGN_OR_RETURN(storage_, NewStorage(source.numel(), allocator, kUninitialized));
  shape_ = source.shape();
  strides_ = tensor::RowMajorStrides(shape_);
  CopyElements(dtype_, shape_, storage_.data(), strides_, source.data(), source.strides());
  return core::OkStatus();
}

core::Status GovernedHandle::TakeOver(memory::Buffer&& buffer, std::span<const std::int64_t> dims) {
  ENGINE_CHECK(buffer.engaged(), "Adopt: the buffer is disengaged");
  if (!buffer.device().is_cpu()) {
    return core::UnimplementedError("Adopt: no backend for device {}", buffer.device());
  }
  ENGINE_ASSIGN_OR_RETURN(const Shape shape, ShapeOf("Adopt", dims, Failure::kShapeMismatch));
  const auto item_bytes = static_cast<std::size_t>(tensor::itemsize(dtype_));
  if (static_cast<std::size_t>(shape.numel()) > buffer.size_bytes() / item_bytes) {
    return Fail(Failure::kShapeMismatch, "Adopt: {} bytes do not hold shape {} of {}",
                buffer.size_bytes(), shape, dtype_);
  }
  ENGINE_ASSIGN_OR_RETURN(storage_, SharedStorage::Adopt(std::move(buffer)));
  shape_ = shape;
  strides_ = tensor::RowMajorStrides(shape);
  return core::OkStatus();
}

core::Status GovernedHandle::CheckRanges(std::span<const SliceRange> ranges) const {
  CheckDefined("View");
  const std::span<const std::int64_t> dims = shape_.dims();
  if (ranges.size() != dims.size()) return RangeCountError(ranges.size(), shape_);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto& [start, end, step] = ranges[i];
    if (start < 0 || start >= end || end > dims[i] || step < 1) {
      return RangeError(ranges[i], static_cast<int>(i), shape_);
    }
  }
  return core::OkStatus();
}

void GovernedHandle::NarrowTo(std::span<const SliceRange> ranges) {
  std::array<std::int64_t, kMaxRank> extents;  // NOLINT: as many as there are ranges get a value
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto& [start, end, step] = ranges[i];
    std::int64_t& stride = strides_[static_cast<int>(i)];
    offset_ += start * stride;
    extents[i] = end - start;
    if (step == 1) continue;
    extents[i] = (extents[i] - 1) / step + 1;
    // With more than one element left the new stride stays within the storage. With one it does not
    // matter, and is the largest number where the product has none.
    stride = core::SaturatingMul(stride, step);
  }
  shape_.ShrinkTo({extents.data(), ranges.size()});
}

core::Status GovernedHandle::CoordinateError(const char* operation,
                                             std::span<const std::int64_t> coordinates) const {
  if (coordinates.size() != static_cast<std::size_t>(shape_.rank())) {
    return Fail(Failure::kDimensionMismatch, "{}: {} coordinates for shape {}", operation,
                coordinates.size(), shape_);
  }
  return Fail(Failure::kIndexOutOfBounds, "{}: {} is outside shape {}", operation,
              DimVector(coordinates), shape_);
}

std::byte* GovernedHandle::CheckedData(const char* operation, std::size_t alignment) const {
  CheckDefined(operation);
  ENGINE_CHECK(IsAligned(alignment), "{}: the storage is not aligned to {} bytes", operation,
               alignment);
  return first();
}

void GovernedHandle::Swap(GovernedHandle& other) noexcept {
  std::swap(storage_, other.storage_);
  std::swap(offset_, other.offset_);
  std::swap(shape_, other.shape_);
  std::swap(strides_, other.strides_);
  std::swap(dtype_, other.dtype_);
}

core::StatusOr<SharedStorage> GovernedHandle::NewStorage(
    std::int64_t elements, memory::Allocator* allocator,
    tensor::StorageInitialization initialization) const {
  if (allocator == nullptr) allocator = memory::DefaultCpuAllocator();
  ENGINE_CHECK(allocator->device().is_cpu(), "the allocator serves {}, expected cpu",
               allocator->device());
  const std::optional<std::int64_t> bytes =
      core::CheckedMul<std::int64_t>(elements, tensor::itemsize(dtype_));
  if (!bytes.has_value()) return core::OutOfMemoryError("{} elements of {}", elements, dtype_);
  const auto size_bytes = static_cast<std::size_t>(*bytes);
  ENGINE_ASSIGN_OR_RETURN(memory::Buffer buffer,
                          initialization == kZero
                              ? allocator->AllocateZeroed(size_bytes, kStorageAlignment)
                              : allocator->Allocate(size_bytes, kStorageAlignment));
  ENGINE_CHECK(buffer.size_bytes() >= size_bytes,
               "the allocator returned {} bytes, {} were asked for", buffer.size_bytes(),
               size_bytes);
  return SharedStorage::Adopt(std::move(buffer));
}

std::int64_t GovernedHandle::Reach() const {
  std::int64_t reach = 1;
  for (int i = 0; i < shape_.rank(); ++i) {
    if (shape_.dim(i) > 1) reach += (shape_.dim(i) - 1) * strides_[i];
  }
  return reach;
}

core::Status GovernedHandle::MoveToOwnStorage(memory::Allocator* allocator) {
  const std::int64_t reach = Reach();
  ENGINE_ASSIGN_OR_RETURN(SharedStorage fresh, NewStorage(reach, allocator, kUninitialized));
  CopyElements(dtype_, {reach}, fresh.data(), {1}, first(), {1});
  Exchange(std::move(fresh));
  return core::OkStatus();
}

void GovernedHandle::Exchange(SharedStorage fresh) {
  offset_ = 0;
  // The elements have been copied: only now is the share in the old storage given back.
  std::swap(storage_, fresh);
}

}  // namespace engine::governed
