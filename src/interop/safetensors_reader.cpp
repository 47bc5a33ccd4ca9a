#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/checked_math.h"
#include "core/no_throw.h"
#include "core/text.h"
#include "interop/internal/safetensors_header.h"
#include "interop/internal/safetensors_text.h"
#include "interop/safetensors.h"
#include "memory/allocator.h"
#include "memory/mapped_file.h"
#include "tensor/ops.h"

namespace engine::safetensors {
namespace {

using core::Quoted;
using internal::kLengthBytes;

// The header text of a file.
core::StatusOr<std::string_view> HeaderText(const memory::Buffer& buffer) {
  const auto* const bytes = static_cast<const unsigned char*>(buffer.data());
  if (buffer.size_bytes() < kLengthBytes) {
    return core::InvalidArgumentError("safetensors: {} bytes, expected at least {}",
                                      buffer.size_bytes(), kLengthBytes);
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::uint64_t{bytes[i]} << (8 * i);
  if (length > kMaxHeaderBytes) {
    return core::InvalidArgumentError("safetensors: a header of {} bytes, expected at most {}",
                                      length, kMaxHeaderBytes);
  }
  if (length > buffer.size_bytes() - kLengthBytes) {
    return core::InvalidArgumentError("safetensors: a header of {} bytes in a file of {}", length,
                                      buffer.size_bytes());
  }
  return std::string_view(reinterpret_cast<const char*>(bytes) + kLengthBytes, length);
}

core::StatusOr<tensor::Tensor> AlignedOrCopy(core::StatusOr<tensor::Tensor> view,
                                             memory::Allocator* allocator) {
  // Here too, so that the mistake shows with files that happen to be aligned.
  ENGINE_CHECK(allocator == nullptr || allocator->device().is_cpu(),
               "GetAligned: the allocator serves {}, expected cpu", allocator->device());
  if (!view.ok() || view->is_aligned()) return view;
  ENGINE_ASSIGN_OR_RETURN(
      tensor::Tensor copy,
      tensor::Tensor::empty(view->shape(), view->dtype(), tensor::Device::Cpu(), allocator));
  ENGINE_RETURN_IF_ERROR(tensor::ops::copy(copy, *view));
  return copy;
}

}  // namespace

core::StatusOr<File> File::Open(const std::string& path) {
  return core::WithoutBadAlloc([&]() -> core::StatusOr<File> {
    ENGINE_ASSIGN_OR_RETURN(memory::MappedFile mapped, memory::MappedFile::Open(path));
    core::StatusOr<File> file = FromBuffer(mapped.buffer());
    if (file.ok()) {
      file->mapped_ = std::move(mapped);
    } else if (!core::IsOutOfMemory(file.status())) {
      return core::InvalidArgumentError("'{}': {}", core::Escaped{path},
                                        std::string(file.status().message()));
    }
    return file;
  });
}

core::StatusOr<File> File::FromBuffer(std::shared_ptr<memory::Buffer> buffer) {
  ENGINE_CHECK(buffer != nullptr, "FromBuffer: the buffer is null");
  ENGINE_CHECK(buffer->device().is_cpu(), "FromBuffer: the buffer is on {}, expected cpu",
               buffer->device());
  return core::WithoutBadAlloc([&]() -> core::StatusOr<File> {
    ENGINE_ASSIGN_OR_RETURN(const std::string_view text, HeaderText(*buffer));
    const std::size_t data_bytes = buffer->size_bytes() - kLengthBytes - text.size();
    ENGINE_ASSIGN_OR_RETURN(internal::Header header, internal::ParseHeader(text, data_bytes));
    File file;
    file.header_bytes_ = text.size();
    file.buffer_ = std::move(buffer);
    file.tensors_ = std::move(header.tensors);
    file.metadata_ = std::move(header.metadata);
    file.by_name_.resize(file.tensors_.size());
    std::iota(file.by_name_.begin(), file.by_name_.end(), 0U);
    std::sort(file.by_name_.begin(), file.by_name_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return file.tensors_[a].name < file.tensors_[b].name;
    });
    return file;
  });
}

const TensorInfo* File::Find(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

core::StatusOr<tensor::Tensor> File::Get(std::string_view name) const {
  const TensorInfo* const info = Find(name);
  if (info != nullptr) return Get(*info);
  return core::WithoutBadAlloc([&]() -> core::StatusOr<tensor::Tensor> {
    return core::NotFoundError("safetensors: there is no tensor {}", Quoted(name));
  });
}

core::StatusOr<tensor::Tensor> File::Get(const TensorInfo& info) const {
  return core::WithoutBadAlloc([&]() -> core::StatusOr<tensor::Tensor> {
    if (!info.dtype.has_value()) {
      return core::UnimplementedError("safetensors: tensor {} is {}, for which there is no dtype",
                                      Quoted(info.name), Quoted(info.dtype_name));
    }
    if (info.dims.size() > static_cast<std::size_t>(tensor::kMaxRank)) {
      return core::InvalidArgumentError("safetensors: tensor {} has rank {}, expected at most {}",
                                        Quoted(info.name), info.dims.size(), tensor::kMaxRank);
    }
    ENGINE_ASSIGN_OR_RETURN(const tensor::Shape shape, tensor::Shape::FromDims(info.dims));
    // Saturates only for an `info` that is not of this file; from_buffer then refuses it.
    const std::uint64_t offset =
        core::SaturatingAdd<std::uint64_t>(kLengthBytes + header_bytes_, info.begin);
    return tensor::Tensor::from_buffer(buffer_, offset, shape, *info.dtype);
  });
}

core::StatusOr<tensor::Tensor> File::GetAligned(std::string_view name,
                                                memory::Allocator* allocator) const {
  return AlignedOrCopy(Get(name), allocator);
}

core::StatusOr<tensor::Tensor> File::GetAligned(const TensorInfo& info,
                                                memory::Allocator* allocator) const {
  return AlignedOrCopy(Get(info), allocator);
}

core::Status File::CheckIntact() const {
  return mapped_.has_value() ? mapped_->CheckIntact() : core::OkStatus();
}

}  // namespace engine::safetensors
