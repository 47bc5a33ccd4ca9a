// Bytes from anywhere, read as a .safetensors file.
//
// Whatever they are, FromBuffer answers without touching anything outside them; what it accepts can
// be fetched, printed, and written to a file that reads back equal.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "interop/safetensors.h"
#include "memory/buffer.h"
#include "tensor/ops.h"
#include "testing/exact_buffer.h"

namespace engine::safetensors {
namespace {

// Every tensor that has a dtype and a rank of ours.
std::vector<NamedTensor> FetchAll(const File& file) {
  std::vector<NamedTensor> tensors;
  for (const TensorInfo& info : file.tensors()) {
    ENGINE_CHECK(file.Find(info.name) == &info);
    core::StatusOr<tensor::Tensor> tensor = file.Get(info.name);
    const bool held =
        info.dtype.has_value() && info.dims.size() <= static_cast<std::size_t>(tensor::kMaxRank);
    ENGINE_CHECK(tensor.ok() == held);
    if (!held) continue;
    ENGINE_CHECK(tensor->nbytes() == info.end - info.begin);
    if (tensor->numel() <= 256) (void)tensor::ops::to_string(*tensor);
    tensors.push_back({info.name, *std::move(tensor)});
  }
  return tensors;
}

void CheckRoundTrip(const File& file) {
  const std::vector<NamedTensor> tensors = FetchAll(file);
  core::StatusOr<memory::Buffer> written = Serialize(tensors, file.metadata());
  ENGINE_CHECK(written.ok());
  const core::StatusOr<File> again =
      File::FromBuffer(std::make_shared<memory::Buffer>(*std::move(written)));
  ENGINE_CHECK(again.ok());
  ENGINE_CHECK(again->metadata() == file.metadata());
  ENGINE_CHECK(again->tensors().size() == tensors.size());
  for (const NamedTensor& named : tensors) {
    const core::StatusOr<tensor::Tensor> tensor = again->Get(named.name);
    ENGINE_CHECK(tensor.ok());
    ENGINE_CHECK(tensor->shape() == named.tensor.shape());
    ENGINE_CHECK(tensor->dtype() == named.tensor.dtype());
    const std::size_t nbytes = tensor->nbytes();
    ENGINE_CHECK(nbytes == 0 || std::memcmp(tensor->data(), named.tensor.data(), nbytes) == 0);
  }
}

void Check(const std::uint8_t* bytes, std::size_t size) {
  const core::StatusOr<File> file = File::FromBuffer(testing::ExactBufferOf({bytes, size}));
  if (file.ok()) CheckRoundTrip(*file);
}

}  // namespace
}  // namespace engine::safetensors

// Twice: as they are, and behind a length that makes the first `n` of them the header, where the
// first two bytes choose n. Mutations rarely keep a length right.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  engine::safetensors::Check(bytes, size);
  if (size < 2) return 0;
  const std::size_t body = size - 2;
  const std::size_t chosen = (std::size_t{bytes[0]} | std::size_t{bytes[1]} << 8) % (body + 1);
  std::vector<std::uint8_t> file(8);
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<std::uint8_t>(chosen >> (8 * i));
  file.insert(file.end(), bytes + 2, bytes + size);
  engine::safetensors::Check(file.data(), file.size());
  return 0;
}
