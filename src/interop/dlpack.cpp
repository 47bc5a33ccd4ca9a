#include "interop/dlpack.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/checked_math.h"
#include "core/no_throw.h"
#include "interop/dlpack_abi.h"
#include "memory/buffer.h"

// The layout is a binary interface: 64-bit, as published.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, ndim) == 16 &&
              offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 &&
              offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, manager_ctx) == 48 &&
              offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLManagedTensorVersioned) == 80 &&
              offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
              offsetof(DLManagedTensorVersioned, deleter) == 16 &&
              offsetof(DLManagedTensorVersioned, flags) == 24 &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

namespace engine::dlpack {
namespace {

using tensor::DataType;
using tensor::Shape;
using tensor::Strides;
using tensor::Tensor;

// Nothing that a later minor version added is written, so every consumer of the major version
// understands it.
constexpr DLPackVersion kVersion = {1, 0};

struct Format {
  DLDataType type;
  DataType dtype;
};
constexpr std::array<Format, 13> kFormats = {{
    {{kDLFloat, 32, 1}, DataType::kFloat32},
    {{kDLFloat, 16, 1}, DataType::kFloat16},
    {{kDLBfloat, 16, 1}, DataType::kBFloat16},
    {{kDLFloat, 64, 1}, DataType::kFloat64},
    {{kDLInt, 8, 1}, DataType::kInt8},
    {{kDLInt, 16, 1}, DataType::kInt16},
    {{kDLInt, 32, 1}, DataType::kInt32},
    {{kDLInt, 64, 1}, DataType::kInt64},
    {{kDLUInt, 8, 1}, DataType::kUInt8},
    {{kDLUInt, 16, 1}, DataType::kUInt16},
    {{kDLUInt, 32, 1}, DataType::kUInt32},
    {{kDLUInt, 64, 1}, DataType::kUInt64},
    {{kDLBool, 8, 1}, DataType::kBool},
}};
static_assert(tensor::internal::ListsEachDTypeOnce(kFormats,
                                                   [](const Format& f) { return f.dtype; }));

DLDataType TypeOf(DataType dtype) {
  for (const Format& format : kFormats) {
    if (format.dtype == dtype) return format.type;
  }
  // A tensor cannot have a reserved dtype.
  ENGINE_CHECK(false, "dlpack: {} is reserved", dtype);
  return {};
}

core::StatusOr<DataType> DTypeOf(DLDataType type) {
  for (const Format& format : kFormats) {
    if (format.type.code == type.code && format.type.bits == type.bits &&
        format.type.lanes == type.lanes) {
      return format.dtype;
    }
  }
  return core::UnimplementedError(
      "dlpack: type code {}, {} bits, {} lanes, for which there is no dtype", type.code, type.bits,
      type.lanes);
}

// --- Export ---

// What lives until the consumer calls the deleter: the storage, and the arrays it reads.
template <typename Managed>
struct Loan {
  Managed managed = {};
  Tensor tensor;
  std::array<std::int64_t, tensor::kMaxRank> dims{};
  std::array<std::int64_t, tensor::kMaxRank> strides{};
};

template <typename Managed>
void EndLoan(Managed* managed) {
  delete static_cast<Loan<Managed>*>(managed->manager_ctx);
}

core::Status CheckExportable(const Tensor& tensor) {
  if (!tensor.defined()) return core::InvalidArgumentError("dlpack: the tensor is undefined");
  if (!tensor.device().is_cpu()) {
    return core::UnimplementedError("dlpack: the tensor is on {}, expected cpu", tensor.device());
  }
  if (tensor.numel() > 0 && !tensor.is_aligned()) {
    return core::InvalidArgumentError(
        "dlpack: the address of a tensor of {}, shape {}, is not a multiple of {} bytes; copy it",
        tensor.dtype(), tensor.shape(), tensor::itemsize(tensor.dtype()));
  }
  return core::OkStatus();
}

template <typename Managed>
core::StatusOr<std::unique_ptr<Managed, Release>> Lend(const Tensor& tensor) {
  ENGINE_RETURN_IF_ERROR(CheckExportable(tensor));
  auto* const loan = new (std::nothrow) Loan<Managed>;
  if (loan == nullptr) return core::OutOfMemoryError("the context of an exported tensor");
  loan->tensor = tensor;
  const int rank = tensor.shape().rank();
  for (int i = 0; i < rank; ++i) {
    loan->dims[static_cast<std::size_t>(i)] = tensor.shape().dim(i);
    loan->strides[static_cast<std::size_t>(i)] = tensor.strides()[i];
  }
  loan->managed.manager_ctx = loan;
  loan->managed.deleter = EndLoan<Managed>;
  // Null where nothing may be loaded, since that address need not be aligned.
  loan->managed.dl_tensor = {.data = tensor.numel() > 0 ? tensor.data() : nullptr,
                             .device = {kDLCPU, 0},
                             .ndim = rank,
                             .dtype = TypeOf(tensor.dtype()),
                             .shape = loan->dims.data(),
                             .strides = loan->strides.data(),
                             .byte_offset = 0};
  return std::unique_ptr<Managed, Release>(&loan->managed);
}

// --- Import ---

core::Status CheckVersion(const DLManagedTensorVersioned& managed) {
  // Nothing beyond the deleter may be looked at in a foreign major version.
  if (managed.version.major == kVersion.major) return core::OkStatus();
  return core::InvalidArgumentError("dlpack: version {}.{}, expected {}.x", managed.version.major,
                                    managed.version.minor, kVersion.major);
}
core::Status CheckVersion(const DLManagedTensor& /*managed*/) { return core::OkStatus(); }

bool IsReadOnly(const DLManagedTensorVersioned& managed) {
  return (managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
}
bool IsReadOnly(const DLManagedTensor& /*managed*/) { return false; }

core::StatusOr<Shape> ShapeOf(const DLTensor& source) {
  if (source.ndim < 0 || source.ndim > tensor::kMaxRank) {
    return core::InvalidArgumentError("dlpack: rank {}, expected 0 to {}", source.ndim,
                                      tensor::kMaxRank);
  }
  if (source.ndim > 0 && source.shape == nullptr) {
    return core::InvalidArgumentError("dlpack: rank {} without extents", source.ndim);
  }
  return Shape::FromDims(
      std::span<const std::int64_t>(source.shape, static_cast<std::size_t>(source.ndim)));
}

// Strides as Tensor takes them: those that do not matter as in row-major order.
core::StatusOr<Strides> StridesOf(const DLTensor& source, const Shape& shape) {
  Strides strides = RowMajorStrides(shape);
  if (source.strides == nullptr || shape.numel() == 0) return strides;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 1) continue;
    const std::int64_t stride = source.strides[i];
    if (stride < 1) {
      return core::InvalidArgumentError("dlpack: stride {} of axis {} of shape {}, expected >= 1",
                                        stride, i, shape);
    }
    strides[i] = stride;
  }
  return strides;
}

// The bytes between the first element and the end of the last; nullopt when that overflows.
std::optional<std::uint64_t> WindowBytes(const Shape& shape, const Strides& strides,
                                         DataType dtype) {
  if (shape.numel() == 0) return 0;
  std::optional<std::uint64_t> elements = 1;
  for (int i = 0; i < shape.rank() && elements.has_value(); ++i) {
    const std::optional<std::uint64_t> span = core::CheckedMul(
        static_cast<std::uint64_t>(shape.dim(i) - 1), static_cast<std::uint64_t>(strides[i]));
    elements = span.has_value() ? core::CheckedAdd(*elements, *span) : std::nullopt;
  }
  if (!elements.has_value()) return std::nullopt;
  return core::CheckedMul(*elements, static_cast<std::uint64_t>(tensor::itemsize(dtype)));
}

// What a producer's structure says, checked.
struct Layout {
  void* data = nullptr;  // of the first element; null without elements
  std::size_t window_bytes = 0;
  Shape shape;
  Strides strides;
  DataType dtype = DataType::kFloat32;
};

core::StatusOr<Layout> LayoutOf(const DLTensor& source) {
  if (source.device.device_type != kDLCPU) {
    return core::UnimplementedError("dlpack: device type {}, id {}, expected the cpu ({})",
                                    static_cast<std::int32_t>(source.device.device_type),
                                    source.device.device_id, static_cast<std::int32_t>(kDLCPU));
  }
  Layout layout;
  ENGINE_ASSIGN_OR_RETURN(layout.dtype, DTypeOf(source.dtype));
  ENGINE_ASSIGN_OR_RETURN(layout.shape, ShapeOf(source));
  ENGINE_ASSIGN_OR_RETURN(layout.strides, StridesOf(source, layout.shape));
  const std::optional<std::uint64_t> window =
      WindowBytes(layout.shape, layout.strides, layout.dtype);
  const auto address = reinterpret_cast<std::uintptr_t>(source.data);
  const std::optional<std::uint64_t> begin =
      core::CheckedAdd<std::uint64_t>(address, source.byte_offset);
  if (!window.has_value() || !begin.has_value() ||
      *window > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) ||
      !core::CheckedAdd(*begin, *window).has_value()) {
    return core::InvalidArgumentError(
        "dlpack: shape {} with strides {} of {} at byte offset {} does not fit the address space",
        layout.shape, layout.strides, layout.dtype, source.byte_offset);
  }
  if (layout.shape.numel() == 0) return layout;
  if (source.data == nullptr) {
    return core::InvalidArgumentError("dlpack: null data for shape {}", layout.shape);
  }
  layout.data = static_cast<std::byte*>(source.data) + source.byte_offset;
  layout.window_bytes = static_cast<std::size_t>(*window);
  return layout;
}

template <typename Managed>
core::StatusOr<Tensor> Borrow(std::unique_ptr<Managed, Release> handle) {
  ENGINE_CHECK(handle != nullptr, "dlpack: Import of a null handle");
  ENGINE_RETURN_IF_ERROR(CheckVersion(*handle));
  ENGINE_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(handle->dl_tensor));
  const bool read_only = IsReadOnly(*handle);
  // One pointer: std::function holds it without the heap, so that nothing can fail between here and
  // the Buffer that owns it.
  const auto give_back = [managed = handle.release()](void*) { Release()(managed); };
  memory::Buffer buffer(layout.data, layout.window_bytes, tensor::Device::Cpu(), give_back,
                        read_only);
  ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<memory::Buffer> shared,
                          memory::ShareBuffer(std::move(buffer)));
  return Tensor::from_strided_buffer(std::move(shared), 0, layout.shape, layout.strides,
                                     layout.dtype);
}

}  // namespace

void Release::operator()(DLManagedTensor* managed) const noexcept {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

void Release::operator()(DLManagedTensorVersioned* managed) const noexcept {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

core::StatusOr<VersionedHandle> Export(const Tensor& tensor) {
  ENGINE_ASSIGN_OR_RETURN(VersionedHandle handle, Lend<DLManagedTensorVersioned>(tensor));
  handle->version = kVersion;
  handle->flags = tensor.is_read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return handle;
}

core::StatusOr<UnversionedHandle> ExportUnversioned(const Tensor& tensor) {
  if (tensor.is_read_only()) {
    return core::InvalidArgumentError(
        "dlpack: a read-only tensor of shape {}; only the versioned form can say so",
        tensor.shape());
  }
  return Lend<DLManagedTensor>(tensor);
}

core::StatusOr<Tensor> Import(VersionedHandle handle) { return Borrow(std::move(handle)); }

core::StatusOr<Tensor> Import(UnversionedHandle handle) { return Borrow(std::move(handle)); }

}  // namespace engine::dlpack
