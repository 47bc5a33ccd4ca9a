// The library as Python's ctypes sees it: what peer_test.py drives. Not installed.
//
// Functions that can fail return null or false and leave their message in engine_error().
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "interop/dlpack.h"
#include "interop/npy.h"
#include "interop/safetensors.h"
#include "interop/safetensors_sharded.h"
#include "memory/buffer.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

#define ENGINE_PEER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using engine::core::Status;
using engine::core::StatusOr;
using engine::tensor::Tensor;

std::string last_error;
std::int64_t deletions = 0;

bool Done(const Status& status) {
  last_error = status.ToString();
  return status.ok();
}

Tensor* OnHeap(StatusOr<Tensor> tensor) {
  return Done(tensor.status()) ? new Tensor(*std::move(tensor)) : nullptr;
}

Status CopyNpy(const std::string& from, const std::string& to, int version) {
  ENGINE_ASSIGN_OR_RETURN(const Tensor tensor, engine::npy::Load(from));
  return engine::npy::Save(to, tensor, static_cast<engine::npy::Version>(version));
}

Status CopySafetensors(const std::string& from, const std::string& to) {
  ENGINE_ASSIGN_OR_RETURN(const auto file, engine::safetensors::File::Open(from));
  std::vector<engine::safetensors::NamedTensor> tensors;
  for (const engine::safetensors::TensorInfo& info : file.tensors()) {
    ENGINE_ASSIGN_OR_RETURN(Tensor tensor, file.Get(info));
    tensors.push_back({info.name, std::move(tensor)});
  }
  return engine::safetensors::Save(to, tensors, file.metadata());
}

Status CopySharded(const std::string& from, const std::string& to, std::uint64_t max_shard_bytes) {
  ENGINE_ASSIGN_OR_RETURN(const auto model, engine::safetensors::ShardedFile::Open(from));
  std::vector<engine::safetensors::NamedTensor> tensors;
  for (const auto& entry : model.tensors()) {
    ENGINE_ASSIGN_OR_RETURN(Tensor tensor, model.Get(entry.name));
    tensors.push_back({entry.name, std::move(tensor)});
  }
  return engine::safetensors::SaveSharded(to, tensors, max_shard_bytes);
}

// int32 0, 1, 2, ... in storage whose deleter is counted.
StatusOr<Tensor> CountedTensor(std::int64_t rows, std::int64_t cols, bool read_only) {
  auto* const values = new std::int32_t[static_cast<std::size_t>(rows * cols)];
  for (std::int64_t i = 0; i < rows * cols; ++i) values[i] = static_cast<std::int32_t>(i);
  engine::memory::Buffer buffer(
      values, static_cast<std::size_t>(rows * cols) * sizeof(std::int32_t),
      engine::tensor::Device::Cpu(),
      [](void* data) {
        ++deletions;
        delete[] static_cast<std::int32_t*>(data);
      },
      read_only);
  ENGINE_ASSIGN_OR_RETURN(auto shared, engine::memory::ShareBuffer(std::move(buffer)));
  return Tensor::from_buffer(std::move(shared), 0, {rows, cols}, engine::tensor::DataType::kInt32);
}

}  // namespace

ENGINE_PEER_EXPORT const char* engine_error() { return last_error.c_str(); }
ENGINE_PEER_EXPORT std::int64_t engine_deletions() { return deletions; }

ENGINE_PEER_EXPORT bool engine_copy_npy(const char* from, const char* to, int version) {
  return Done(CopyNpy(from, to, version));
}
ENGINE_PEER_EXPORT bool engine_copy_safetensors(const char* from, const char* to) {
  return Done(CopySafetensors(from, to));
}
ENGINE_PEER_EXPORT bool engine_copy_sharded(const char* from, const char* to,
                                            std::uint64_t max_shard_bytes) {
  return Done(CopySharded(from, to, max_shard_bytes));
}

ENGINE_PEER_EXPORT Tensor* engine_counted_tensor(std::int64_t rows, std::int64_t cols,
                                                 bool read_only) {
  return OnHeap(CountedTensor(rows, cols, read_only));
}
ENGINE_PEER_EXPORT Tensor* engine_load_npy(const char* path) {
  return OnHeap(engine::npy::Load(path));
}
ENGINE_PEER_EXPORT Tensor* engine_transpose(const Tensor* tensor) {
  return OnHeap(tensor->transpose(0, 1));
}
ENGINE_PEER_EXPORT Tensor* engine_slice(const Tensor* tensor, int dim, std::int64_t start,
                                        std::int64_t end) {
  return OnHeap(tensor->slice(dim, start, end));
}
ENGINE_PEER_EXPORT void engine_free(Tensor* tensor) { delete tensor; }
ENGINE_PEER_EXPORT std::uint64_t engine_address(const Tensor* tensor) {
  return reinterpret_cast<std::uint64_t>(tensor->data());
}
ENGINE_PEER_EXPORT bool engine_is_read_only(const Tensor* tensor) { return tensor->is_read_only(); }
ENGINE_PEER_EXPORT bool engine_fill(const Tensor* tensor, double value) {
  return Done(engine::tensor::ops::fill(*tensor, value));
}
// As ops::to_string shows it: shape, dtype and values. Valid until the next call.
ENGINE_PEER_EXPORT const char* engine_text(const Tensor* tensor) {
  static std::string text;
  text = engine::tensor::ops::to_string(*tensor);
  return text.c_str();
}
ENGINE_PEER_EXPORT bool engine_save_npy(const Tensor* tensor, const char* path) {
  return Done(engine::npy::Save(path, *tensor));
}

ENGINE_PEER_EXPORT DLManagedTensorVersioned* engine_export(const Tensor* tensor) {
  StatusOr<engine::dlpack::VersionedHandle> handle = engine::dlpack::Export(*tensor);
  return Done(handle.status()) ? handle->release() : nullptr;
}
ENGINE_PEER_EXPORT DLManagedTensor* engine_export_unversioned(const Tensor* tensor) {
  StatusOr<engine::dlpack::UnversionedHandle> handle = engine::dlpack::ExportUnversioned(*tensor);
  return Done(handle.status()) ? handle->release() : nullptr;
}
ENGINE_PEER_EXPORT Tensor* engine_import(DLManagedTensorVersioned* managed) {
  return OnHeap(engine::dlpack::Import(engine::dlpack::VersionedHandle(managed)));
}
ENGINE_PEER_EXPORT Tensor* engine_import_unversioned(DLManagedTensor* managed) {
  return OnHeap(engine::dlpack::Import(engine::dlpack::UnversionedHandle(managed)));
}
