// Bytes from anywhere, received as a tensor message.
//
// Whatever they are, Decode answers without touching anything outside them; what it refuses leaves
// the message empty, what it accepts encodes again to the same payload; a tensor of it lies within
// the payload and can be read and sent, whole unless it overlaps itself; a quantised one has the
// values of the definition. Every allocation is bounded by the input's size.
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"
#include "memory/buffer.h"
#include "strided/dequantize.h"
#include "strided/layout.h"
#include "tensor/tensor.h"
#include "testing/exact_buffer.h"
#include "wire/tensor_message.h"

namespace engine::wire {
namespace {

// What an error's text and a tensor's handle may take, whatever the input.
constexpr std::size_t kTextBytes = 2048;

// The largest allocation since it was reset.
std::size_t largest_allocation = 0;

void NoteAllocation(const volatile void* /*pointer*/, std::size_t size) {
  largest_allocation = std::max(largest_allocation, size);
}
void NoteFree(const volatile void* /*pointer*/) {}

[[maybe_unused]] const int hooks_installed =
    __sanitizer_install_malloc_and_free_hooks(NoteAllocation, NoteFree);

std::vector<std::uint8_t> Encode(const TensorMessage& message) {
  std::vector<std::uint8_t> bytes(message.get_serialized_size());
  ENGINE_CHECK(message.Encode(bytes).ok());
  return bytes;
}

// The bytes of every element, in logical order.
std::vector<std::uint8_t> ReadAll(const tensor::Tensor& tensor) {
  const auto item = static_cast<std::size_t>(tensor::itemsize(tensor.dtype()));
  std::vector<std::uint8_t> bytes;
  bytes.reserve(tensor.nbytes());
  strided::ForEachRow<1>(
      tensor.shape(), {&tensor.strides()},
      [&](const auto& offsets, const auto& strides, std::int64_t count, std::int64_t) {
        for (std::int64_t i = 0; i < count; ++i) {
          const auto* const at = static_cast<const std::uint8_t*>(tensor.data()) +
                                 (offsets[0] + i * strides[0]) * static_cast<std::int64_t>(item);
          bytes.insert(bytes.end(), at, at + item);
        }
        return true;
      });
  return bytes;
}

// Whether there are more elements than places from the first to the last. The distance cannot
// overflow: it lies within the payload.
bool OverlapsItself(const tensor::Tensor& tensor) {
  if (tensor.numel() == 0) return false;
  std::int64_t places = 1;
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) {
    const std::int64_t steps = tensor.shape().dim(axis) - 1;
    if (steps > 0) places += steps * tensor.strides()[axis];
  }
  return tensor.numel() > places;
}

// That exactly the messages which are quantised dequantise, to the values of the definition.
// `elements` are the bytes of `tensor`.
void CheckDequantize(const TensorMessage& message, const tensor::Tensor& tensor,
                     const std::vector<std::uint8_t>& elements) {
  const bool is_signed = message.dtype() == TensorMessage::kInt8;
  const float scale = message.quant_scale();
  const bool quantised =
      (is_signed || message.dtype() == TensorMessage::kUint8) && std::isfinite(scale) && scale != 0;
  const core::StatusOr<tensor::Tensor> values = message.Dequantize();
  ENGINE_CHECK(values.ok() == quantised, "{}", values.status().ToString());
  if (!quantised) return;
  ENGINE_CHECK(values->shape() == tensor.shape() && values->is_contiguous() &&
               values->dtype() == tensor::DataType::kFloat32);
  const auto* const actual = static_cast<const float*>(values->data());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t q = is_signed ? static_cast<std::int8_t>(elements[i]) : elements[i];
    const float expected = strided::DequantizeElement(q, {scale, message.quant_zero_point()});
    ENGINE_CHECK(std::bit_cast<std::uint32_t>(actual[i]) == std::bit_cast<std::uint32_t>(expected),
                 "element {}: {} with scale {} and zero point {} gave {}, expected {}", i, q, scale,
                 message.quant_zero_point(), actual[i], expected);
  }
}

void CheckTensor(const TensorMessage& message, const tensor::Tensor& tensor) {
  using Packing = TensorMessage::Packing;
  ENGINE_CHECK(tensor.nbytes() <= message.size());
  const std::vector<std::uint8_t> elements = ReadAll(tensor);
  for (const auto packing : {Packing::kKeepStrides, Packing::kPack}) {
    const core::StatusOr<TensorMessage> sent = TensorMessage::FromTensor(tensor, packing);
    // Extents and strides have come from a message, so they fit into one.
    ENGINE_CHECK(sent.ok() != (packing == Packing::kKeepStrides && OverlapsItself(tensor)), "{}",
                 sent.status().ToString());
    if (!sent.ok()) continue;
    ENGINE_CHECK(sent->size() <= message.size());
    TensorMessage received;
    ENGINE_CHECK(received.Decode(testing::ExactBufferOf(Encode(*sent))).ok());
    const core::StatusOr<tensor::Tensor> back = received.ToTensor();
    ENGINE_CHECK(back.ok(), "{}", back.status().ToString());
    ENGINE_CHECK(back->shape() == tensor.shape() && back->dtype() == tensor.dtype());
    ENGINE_CHECK(ReadAll(*back) == elements);
  }
  CheckDequantize(message, tensor, elements);
}

void Check(std::span<const std::uint8_t> bytes) {
  const std::shared_ptr<memory::Buffer> buffer = testing::ExactBufferOf(bytes);
  largest_allocation = 0;
  TensorMessage message;
  const core::Status status = message.Decode(buffer);
  core::StatusOr<tensor::Tensor> tensor = message.ToTensor();
  ENGINE_CHECK(largest_allocation <= bytes.size() + kTextBytes, "an allocation of {} bytes for {}",
               largest_allocation, bytes.size());
  if (!status.ok()) {
    ENGINE_CHECK(!message.is_valid() && message.name().empty() && !tensor.ok());
    return;
  }
  const std::vector<std::uint8_t> again = Encode(message);
  ENGINE_CHECK(again.size() == bytes.size());
  ENGINE_CHECK(std::memcmp(again.data() + kPayloadOffset, bytes.data() + kPayloadOffset,
                           bytes.size() - kPayloadOffset) == 0);
  TensorMessage twice;
  ENGINE_CHECK(twice.Decode(again).ok());
  ENGINE_CHECK(Encode(twice) == again);
  if (!tensor.ok()) return;
  CheckTensor(message, *tensor);
  // Bytes that reach further than the tensor's elements are never needed: 4 for each of float32.
  ENGINE_CHECK(largest_allocation <= 4 * bytes.size() + kTextBytes);
}

}  // namespace
}  // namespace engine::wire

// Twice: as they are, and as struct and payload within a proper envelope, whose frame mutations
// would break most of the time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using engine::wire::kEnvelopeBytes;
  using engine::wire::kPayloadOffset;
  using engine::wire::kStructOffset;
  using engine::wire::TensorStruct;
  engine::wire::Check({bytes, size});
  if (size < sizeof(TensorStruct)) return 0;
  std::vector<std::uint8_t> envelope(kStructOffset + size + sizeof(std::uint32_t));
  std::memcpy(envelope.data(), &engine::wire::kMagicBegin, 4);
  std::memcpy(envelope.data() + engine::wire::kVersionOffset, &engine::wire::kVersion, 4);
  std::memcpy(envelope.data() + kStructOffset, bytes, size);
  const std::uint64_t payload_bytes = envelope.size() - kEnvelopeBytes;
  std::memcpy(envelope.data() + kStructOffset + offsetof(TensorStruct, size_), &payload_bytes, 8);
  std::memcpy(envelope.data() + kPayloadOffset + payload_bytes, &engine::wire::kMagicEnd, 4);
  engine::wire::Check(envelope);
  return 0;
}
