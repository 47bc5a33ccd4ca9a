#include "dense/storage.h"

#include "core/check.h"
#include "core/checked_math.h"
#include "core/no_throw.h"
#include "tensor/element_transfer.h"

namespace engine::dense::internal {

core::StatusOr<std::shared_ptr<memory::Buffer>> AllocateElements(
    const tensor::Shape& shape, tensor::DataType dtype,
    tensor::StorageInitialization initialization, memory::Allocator* allocator) {
  if (shape.numel() == 0) return nullptr;
  return tensor::AllocateStorage("DenseTensor", shape, dtype, tensor::Device::Cpu(), allocator,
                                 initialization);
}

core::StatusOr<std::shared_ptr<memory::Buffer>> AdoptBuffer(memory::Buffer& buffer,
                                                            const tensor::Shape& shape,
                                                            const tensor::Strides& strides,
                                                            std::int64_t reach,
                                                            const TensorRequest& request) {
  constexpr char kOperation[] = "DenseTensor::Adopt";
  if (!buffer.device().is_cpu()) {
    return core::UnimplementedError("{}: no backend for device {}", kOperation, buffer.device());
  }
  const auto bytes = core::CheckedMul(static_cast<std::uint64_t>(reach),
                                      static_cast<std::uint64_t>(tensor::itemsize(request.dtype)));
  if (!bytes.has_value() || *bytes > buffer.size_bytes()) {
    return core::InvalidArgumentError(
        "{}: shape {} with strides {} of {} does not fit the buffer of {} bytes (tensor.adopt)",
        kOperation, shape, strides, request.dtype, buffer.size_bytes());
  }
  // Without elements the address does not matter.
  const void* const data = reach > 0 ? buffer.data() : nullptr;
  ENGINE_RETURN_IF_ERROR(RequireAccess(kOperation, data, buffer.is_read_only(), request));
  if (request.dtype == tensor::DataType::kBool) {
    ENGINE_RETURN_IF_ERROR(RequireBools(kOperation, data, shape, strides));
  }
  return memory::ShareBuffer(std::move(buffer));
}

core::StatusOr<tensor::Tensor> MakeTensorHandle(std::shared_ptr<memory::Buffer> buffer,
                                                const void* data, const tensor::Shape& shape,
                                                const tensor::Strides& strides,
                                                tensor::DataType dtype) {
  if (buffer == nullptr) return tensor::Tensor::empty(shape, dtype, tensor::Device::Cpu());
  std::size_t byte_offset = 0;
  if (data != nullptr) {
    byte_offset = static_cast<std::size_t>(static_cast<const std::byte*>(data) -
                                           static_cast<const std::byte*>(buffer->data()));
  }
  return tensor::Tensor::from_strided_buffer(std::move(buffer), byte_offset, shape, strides, dtype);
}

core::StatusOr<std::shared_ptr<memory::Buffer>> ShareReadOnly(
    std::shared_ptr<memory::Buffer> buffer) {
  return core::WithoutBadAlloc([&]() -> core::StatusOr<std::shared_ptr<memory::Buffer>> {
    void* const data = buffer->data();
    const std::size_t bytes = buffer->size_bytes();
    return memory::ShareBuffer(memory::Buffer(
        data, bytes, tensor::Device::Cpu(), [owner = std::move(buffer)](void*) {},
        /*read_only=*/true));
  });
}

void CopyFromTensor(void* dst, const tensor::Strides& dst_strides, const tensor::Tensor& tensor) {
  // Equal dtypes: there is nothing that could fail.
  static_cast<void>(tensor::TransferElements(tensor.shape(), tensor.dtype(), dst_strides, dst,
                                             {tensor.dtype(), tensor.strides(), tensor.data()}));
  if (tensor.dtype() != tensor::DataType::kBool) return;
  auto* const bytes = static_cast<unsigned char*>(dst);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

void CheckConstructed(const core::Status& status, std::span<const std::int64_t> extents,
                      tensor::DataType dtype) {
  ENGINE_CHECK(!core::IsOutOfMemory(status), "DenseTensor: out of memory for {} of {}",
               tensor::DimVector(extents), dtype);
  ENGINE_CHECK(status.ok(), "{}",
               std::string_view(status.message().data(), status.message().size()));
}

}  // namespace engine::dense::internal
