// Messages as tensors and back.
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/checked_math.h"
#include "strided/dequantize.h"
#include "tensor/ops.h"
#include "tensor/shape.h"
#include "wire/tensor_message.h"

namespace engine::wire {
namespace {

using tensor::Tensor;
using EngineDataType = tensor::DataType;

constexpr std::uint64_t kMaxWord = std::numeric_limits<std::uint32_t>::max();

// By value of the message's dtype, from kBool on.
constexpr std::array<EngineDataType, 13> kTensorDataTypes = {
    EngineDataType::kBool,    EngineDataType::kInt8,     EngineDataType::kUInt8,
    EngineDataType::kInt16,   EngineDataType::kUInt16,   EngineDataType::kInt32,
    EngineDataType::kUInt32,  EngineDataType::kInt64,    EngineDataType::kUInt64,
    EngineDataType::kFloat16, EngineDataType::kBFloat16, EngineDataType::kFloat32,
    EngineDataType::kFloat64};
static_assert(kTensorDataTypes.size() == TensorMessage::kFloat64);
static_assert(tensor::internal::ListsEachDTypeOnce(kTensorDataTypes,
                                                   [](EngineDataType dtype) { return dtype; }));

core::Status CheckDevice(TensorMessage::Device device) {
  if (device == TensorMessage::kDeviceCpu) return core::OkStatus();
  if (device <= TensorMessage::kDeviceDsp) {
    return core::UnimplementedError("ToTensor: no backend for device {}", static_cast<int>(device));
  }
  return core::InvalidArgumentError("ToTensor: {} is no device", static_cast<int>(device));
}

// The bytes from the first to the last element; saturating. Strides are not negative.
std::uint64_t ReachedBytes(const tensor::Shape& shape, const tensor::Strides& strides,
                           EngineDataType dtype) {
  if (shape.numel() == 0) return 0;
  std::uint64_t last = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto steps = static_cast<std::uint64_t>(shape.dim(i) - 1);
    last = core::SaturatingAdd(last,
                               core::SaturatingMul(steps, static_cast<std::uint64_t>(strides[i])));
  }
  return core::SaturatingMul(core::SaturatingAdd<std::uint64_t>(last, 1),
                             static_cast<std::uint64_t>(tensor::itemsize(dtype)));
}

core::StatusOr<std::shared_ptr<memory::Buffer>> BorrowingBuffer(std::uint8_t* data,
                                                                std::size_t size, bool read_only) {
  return memory::ShareBuffer(memory::Buffer(
      data, size, tensor::Device::Cpu(), [](void*) {}, read_only));
}

}  // namespace

core::StatusOr<EngineDataType> ToTensorDataType(TensorMessage::DataType dtype) {
  if (dtype >= TensorMessage::kBool && dtype <= TensorMessage::kFloat64) {
    return kTensorDataTypes[static_cast<std::size_t>(dtype) - 1];
  }
  return core::InvalidArgumentError("TensorMessage: {} is no known dtype", static_cast<int>(dtype));
}

core::StatusOr<TensorMessage::DataType> ToMessageDataType(EngineDataType dtype) {
  for (std::size_t i = 0; i < kTensorDataTypes.size(); ++i) {
    if (kTensorDataTypes[i] == dtype) return static_cast<TensorMessage::DataType>(i + 1);
  }
  return core::UnimplementedError("TensorMessage: dtype {} is reserved", dtype);
}

core::Status TensorMessage::SetLayout(const Tensor& tensor, const tensor::Strides& strides) {
  const tensor::Shape& shape = tensor.shape();
  if (shape.rank() == 0) {
    return core::InvalidArgumentError("FromTensor: rank 0, expected 1 to {} (unsqueeze it)",
                                      kMaxRank);
  }
  ENGINE_ASSIGN_OR_RETURN(const DataType dtype, ToMessageDataType(tensor.dtype()));
  set_dtype(dtype);
  rank_ = static_cast<std::uint8_t>(shape.rank());
  num_elements_ = static_cast<std::uint64_t>(shape.numel());
  // As set_shape has it: 0 before an extent of 0. No product overflows, since Shape bounds them.
  std::uint64_t row_major = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    const auto extent = static_cast<std::uint64_t>(shape.dim(i));
    if (extent > kMaxWord) {
      return core::InvalidArgumentError("FromTensor: extent {} of axis {} is above 2^32 - 1",
                                        extent, i);
    }
    const bool matters = num_elements_ > 0 && extent > 1;
    const auto stride = matters ? static_cast<std::uint64_t>(strides[i]) : row_major;
    if (matters && stride > kMaxWord) {
      return core::InvalidArgumentError("FromTensor: stride {} of axis {} is above 2^32 - 1",
                                        stride, i);
    }
    shape_[axis] = static_cast<std::uint32_t>(extent);
    // A stride that leads to no element need not be the row-major one, which may not fit.
    strides_[axis] = stride > kMaxWord ? 0 : static_cast<std::uint32_t>(stride);
    row_major *= extent;
  }
  batch_size_ = shape_[0];
  return core::OkStatus();
}

core::StatusOr<Tensor> TensorMessage::View() const {
  ENGINE_RETURN_IF_ERROR(CheckDevice(device()));
  ENGINE_ASSIGN_OR_RETURN(const EngineDataType dtype, ToTensorDataType(this->dtype()));
  if (rank_ == 0) {
    return core::InvalidArgumentError("ToTensor: rank 0, expected 1 to {}", kMaxRank);
  }
  tensor::DimVector dims;
  tensor::Strides strides;
  for (std::uint8_t axis = 0; axis < rank_; ++axis) {
    dims.push_back(shape_[axis]);
    strides.push_back(strides_[axis]);
  }
  ENGINE_ASSIGN_OR_RETURN(const tensor::Shape shape, tensor::Shape::FromDims(dims.values()));
  const auto numel = static_cast<std::uint64_t>(shape.numel());
  if (num_elements_ != numel) {
    return core::InvalidArgumentError("ToTensor: num_elements {} for shape {}", num_elements_,
                                      shape);
  }
  // Also the bound on what a layout that overlaps itself can make of few bytes.
  if (numel > size_ / static_cast<std::uint64_t>(tensor::itemsize(dtype)) ||
      ReachedBytes(shape, strides, dtype) > size_) {
    return core::InvalidArgumentError(
        "ToTensor: shape {} with strides {} of {} does not fit the payload of {} bytes", shape,
        strides, dtype, size_);
  }
  if (numel == 0) strides = tensor::RowMajorStrides(shape);
  if (storage_ != nullptr) {
    const auto offset =
        static_cast<std::size_t>(payload_ - static_cast<std::uint8_t*>(storage_->data()));
    return Tensor::from_strided_buffer(storage_, offset, shape, strides, dtype);
  }
  ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<memory::Buffer> borrowed,
                          BorrowingBuffer(payload_, size_, read_only_));
  return Tensor::from_strided_buffer(std::move(borrowed), 0, shape, strides, dtype);
}

core::StatusOr<Tensor> TensorMessage::ToTensor() const {
  core::StatusOr<Tensor> view = View();
  if (view.ok()) handed_out_.store(true, std::memory_order_relaxed);
  return view;
}

core::StatusOr<TensorMessage> TensorMessage::FromTensor(const Tensor& tensor, Packing packing,
                                                        memory::Allocator* allocator) {
  ENGINE_CHECK(tensor.defined(), "FromTensor: the tensor is undefined");
  ENGINE_CHECK(allocator == nullptr || allocator->device().is_cpu(),
               "FromTensor: the allocator serves {}, expected cpu", allocator->device());
  if (!tensor.device().is_cpu()) {
    return core::UnimplementedError("FromTensor: no backend for device {}", tensor.device());
  }
  const bool pack = packing == Packing::kPack && !tensor.is_contiguous();
  TensorMessage message;
  // First: what no message can describe is not worth a copy.
  ENGINE_RETURN_IF_ERROR(
      message.SetLayout(tensor, pack ? tensor::RowMajorStrides(tensor.shape()) : tensor.strides()));
  Tensor source = tensor;
  if (pack) {
    ENGINE_ASSIGN_OR_RETURN(
        source, Tensor::empty(tensor.shape(), tensor.dtype(), tensor::Device::Cpu(), allocator));
    ENGINE_RETURN_IF_ERROR(tensor::ops::copy(source, tensor));
  }
  if (source.numel() == 0) return message;
  const std::uint64_t bytes = ReachedBytes(source.shape(), source.strides(), source.dtype());
  if (source.nbytes() > bytes) {
    return core::InvalidArgumentError(
        "FromTensor: strides {} of shape {} put {} elements into {} bytes (pack them)",
        source.strides(), source.shape(), source.numel(), bytes);
  }
  auto* const data = static_cast<std::uint8_t*>(source.data());
  message.SetPayload({source.buffer(), data, bytes, pack, source.is_read_only(), !pack});
  return message;
}

core::StatusOr<Tensor> TensorMessage::Dequantize(memory::Allocator* allocator) const {
  if (dtype() != kInt8 && dtype() != kUint8) {
    return core::InvalidArgumentError("Dequantize: dtype {}, expected int8 or uint8",
                                      static_cast<int>(dtype()));
  }
  // By its bits: where the host flushes subnormals, a small scale would compare equal to 0.
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(quant_scale_) & 0x7FFFFFFFu;
  if (magnitude == 0 || magnitude >= 0x7F800000u) {
    return core::InvalidArgumentError("Dequantize: scale {}, expected finite and not 0",
                                      quant_scale_);
  }
  ENGINE_ASSIGN_OR_RETURN(const Tensor quantised, View());
  ENGINE_ASSIGN_OR_RETURN(Tensor values, Tensor::empty(quantised.shape(), EngineDataType::kFloat32,
                                                       tensor::Device::Cpu(), allocator));
  strided::Dequantize(values.data(), quantised.data(), quantised.shape(), quantised.strides(),
                      quantised.dtype(), {quant_scale_, quant_zero_point_});
  return values;
}

}  // namespace engine::wire
