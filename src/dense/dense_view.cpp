#include "dense/dense_view.h"

#include "strided/layout.h"

namespace engine::dense::internal {
namespace {

const char* NameOf(LayoutKind layout) {
  return layout == LayoutKind::kRowMajor ? "row-major" : "column-major";
}

}  // namespace

core::Status RequireAccess(const char* operation, const void* data, bool read_only,
                           const TensorRequest& request) {
  if (request.writable && read_only) {
    return core::InvalidArgumentError("{}: the storage is read-only (tensor.type)", operation);
  }
  if (reinterpret_cast<std::uintptr_t>(data) % request.alignment != 0) {
    return core::InvalidArgumentError(
        "{}: the elements of {} are not aligned to {} bytes (tensor.type)", operation,
        request.dtype, request.alignment);
  }
  return core::OkStatus();
}

core::Status RequireBools(const char* operation, const void* data, const tensor::Shape& shape,
                          const tensor::Strides& strides) {
  const auto* const bytes = static_cast<const unsigned char*>(data);
  core::Status status = core::OkStatus();
  strided::ForEachRow<1>(
      shape, {&strides},
      [&](const auto& offsets, const auto& inner, std::int64_t count, std::int64_t first) {
        for (std::int64_t i = 0; i < count; ++i) {
          const unsigned char byte = bytes[offsets[0] + i * inner[0]];
          if (byte <= 1) continue;
          status = core::InvalidArgumentError(
              "{}: element {} of shape {} is the byte {}, which is no bool (tensor.bool)",
              operation, first + i, shape, byte);
          return false;
        }
        return true;
      });
  return status;
}

core::StatusOr<void*> TypedData(const char* operation, const tensor::Tensor& tensor,
                                const TensorRequest& request) {
  ENGINE_RETURN_IF_ERROR(RequireElements(operation, tensor, request.dtype, request.rank));
  // Without elements nothing is loaded, and real checkpoints have such tensors at odd addresses.
  void* const data = tensor.numel() > 0 ? tensor.data() : nullptr;
  ENGINE_RETURN_IF_ERROR(RequireAccess(operation, data, tensor.is_read_only(), request));
  if (request.layout != LayoutKind::kStrided &&
      !IsCanonical(tensor.shape().dims(), tensor.strides().values(), request.layout)) {
    return core::InvalidArgumentError("{}: strides {} of shape {} are not {} (tensor.type)",
                                      operation, tensor.strides(), tensor.shape(),
                                      NameOf(request.layout));
  }
  if (request.dtype == tensor::DataType::kBool) {
    ENGINE_RETURN_IF_ERROR(RequireBools(operation, data, tensor.shape(), tensor.strides()));
  }
  return data;
}

core::Status RequireElements(const char* operation, const tensor::Tensor& tensor,
                             tensor::DataType dtype, std::size_t rank) {
  ENGINE_CHECK(tensor.defined(), "{}: the tensor is undefined", operation);
  if (!tensor.device().is_cpu()) {
    return core::UnimplementedError("{}: no backend for device {}", operation, tensor.device());
  }
  if (tensor.dtype() != dtype) {
    return core::InvalidArgumentError("{}: dtype {} (shape {}), expected {} (tensor.type)",
                                      operation, tensor.dtype(), tensor.shape(), dtype);
  }
  if (static_cast<std::size_t>(tensor.shape().rank()) != rank) {
    return core::InvalidArgumentError("{}: shape {}, expected rank {} (tensor.type)", operation,
                                      tensor.shape(), rank);
  }
  return core::OkStatus();
}

core::Status RequireWindow(const char* operation, const tensor::Shape& shape, std::int64_t reach,
                           std::size_t window_elements) {
  if (static_cast<std::uint64_t>(reach) <= window_elements) return core::OkStatus();
  return core::InvalidArgumentError(
      "{}: shape {} reaches {} elements, the storage holds {} (layout.window)", operation, shape,
      reach, window_elements);
}

}  // namespace engine::dense::internal
