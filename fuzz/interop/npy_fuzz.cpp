// Bytes from anywhere, read as an .npy file.
//
// Whatever they are, FromBuffer answers without touching anything outside them; what it accepts can
// be printed, and written to a file that reads back equal.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "interop/npy.h"
#include "memory/buffer.h"
#include "tensor/ops.h"
#include "testing/exact_buffer.h"

namespace engine::npy {
namespace {

void Check(const std::uint8_t* bytes, std::size_t size) {
  const core::StatusOr<tensor::Tensor> tensor = FromBuffer(testing::ExactBufferOf({bytes, size}));
  if (!tensor.ok()) return;
  ENGINE_CHECK(tensor->nbytes() <= size);
  if (tensor->numel() <= 256) (void)tensor::ops::to_string(*tensor);
  for (const Version version : {Version::k1_0, Version::k2_0, Version::k3_0}) {
    core::StatusOr<memory::Buffer> written = Serialize(*tensor, version);
    ENGINE_CHECK(written.ok());
    const core::StatusOr<tensor::Tensor> again =
        FromBuffer(std::make_shared<memory::Buffer>(*std::move(written)));
    ENGINE_CHECK(again.ok());
    ENGINE_CHECK(again->shape() == tensor->shape());
    ENGINE_CHECK(again->dtype() == tensor->dtype());
    // Both orders are one block of the same bytes, unless C order was made of Fortran's.
    const std::size_t nbytes = tensor->nbytes();
    const bool same_order = again->is_contiguous() == tensor->is_contiguous();
    ENGINE_CHECK(same_order);
    ENGINE_CHECK(nbytes == 0 || std::memcmp(tensor->data(), again->data(), nbytes) == 0);
  }
}

}  // namespace
}  // namespace engine::npy

// Twice: as they are, and behind magic, a version and a length that makes the first `n` of them the
// header, where the first two bytes choose version and n. Mutations rarely keep a length right.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  engine::npy::Check(bytes, size);
  if (size < 2) return 0;
  const std::size_t body = size - 2;
  const std::size_t chosen = (std::size_t{bytes[0]} | std::size_t{bytes[1]} << 8) % (body + 1);
  const auto major = static_cast<std::uint8_t>(1 + bytes[0] % 3);
  std::vector<std::uint8_t> file = {0x93, 'N', 'U', 'M', 'P', 'Y', major, 0};
  for (std::size_t i = 0; i < (major == 1 ? 2U : 4U); ++i) {
    file.push_back(static_cast<std::uint8_t>(chosen >> (8 * i)));
  }
  file.insert(file.end(), bytes + 2, bytes + size);
  engine::npy::Check(file.data(), file.size());
  return 0;
}
