// Encoding and decoding of envelopes.
#include <cstring>
#include <functional>
#include <utility>

#include "core/check.h"
#include "wire/tensor_message.h"

namespace engine::wire {
namespace {

std::uint32_t LoadWord(const std::uint8_t* address) {
  std::uint32_t word = 0;
  std::memcpy(&word, address, sizeof(word));
  return word;
}

void StoreWord(std::uint8_t* address, std::uint32_t word) {
  std::memcpy(address, &word, sizeof(word));
}

std::span<const std::uint8_t> BytesOf(const memory::Buffer& buffer) {
  return {static_cast<const std::uint8_t*>(buffer.data()), buffer.size_bytes()};
}

// Whether two non-empty ranges share a byte.
bool Overlap(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b, std::size_t b_size) {
  const std::less<const std::uint8_t*> before;
  return before(a, b + b_size) && before(b, a + a_size);
}

}  // namespace

core::Status TensorMessage::check_valid(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kEnvelopeBytes) {
    return core::InvalidArgumentError("TensorMessage: {} bytes, expected at least {}", bytes.size(),
                                      kEnvelopeBytes);
  }
  const std::uint32_t begin = LoadWord(bytes.data());
  if (begin != kMagicBegin) {
    return core::InvalidArgumentError("TensorMessage: begins with {:#010x}, expected {:#010x}",
                                      begin, kMagicBegin);
  }
  const std::uint32_t version = LoadWord(bytes.data() + kVersionOffset);
  if (version / kVersionsPerMajor != kVersion / kVersionsPerMajor) {
    return core::InvalidArgumentError("TensorMessage: version {} is not of major version {}",
                                      version, kVersion / kVersionsPerMajor);
  }
  const std::uint32_t end = LoadWord(bytes.data() + bytes.size() - sizeof(kMagicEnd));
  if (end != kMagicEnd) {
    return core::InvalidArgumentError("TensorMessage: ends with {:#010x}, expected {:#010x}", end,
                                      kMagicEnd);
  }
  return core::OkStatus();
}

core::Status TensorMessage::DecodeFrom(std::span<const std::uint8_t> bytes,
                                       std::shared_ptr<memory::Buffer> storage) {
  ENGINE_RETURN_IF_ERROR(check_valid(bytes));
  TensorStruct fields;
  std::memcpy(&fields, bytes.data() + kStructOffset, sizeof(fields));
  const std::size_t payload_bytes = bytes.size() - kEnvelopeBytes;
  if (fields.size_ != payload_bytes) {
    return core::InvalidArgumentError("TensorMessage: size {} with a payload of {} bytes",
                                      fields.size_, payload_bytes);
  }
  Payload payload;
  if (payload_bytes > 0) {
    // Never written through: a borrowed payload is not owned, and read-only as a tensor.
    payload.data = const_cast<std::uint8_t*>(bytes.data()) + kPayloadOffset;
    payload.size = payload_bytes;
    payload.read_only = storage == nullptr || storage->is_read_only();
    payload.storage = std::move(storage);
  }
  CopyMetadata(fields);
  if (rank_ > kMaxRank) rank_ = kMaxRank;
  element_size_ = element_size_of(dtype());
  SetPayload(std::move(payload));
  return core::OkStatus();
}

core::Status TensorMessage::Decode(std::span<const std::uint8_t> bytes) {
  if (Holds(bytes.data(), bytes.size())) {
    return core::InvalidArgumentError(
        "TensorMessage: the {} bytes overlap the {} bytes of storage that decoding would release",
        bytes.size(), storage_->size_bytes());
  }
  return DecodeFrom(bytes, nullptr);
}

core::Status TensorMessage::Decode(std::shared_ptr<memory::Buffer> buffer) {
  ENGINE_CHECK(buffer != nullptr, "Decode: the buffer is null");
  ENGINE_CHECK(buffer->device().is_cpu(), "Decode: the buffer is on {}, expected cpu",
               buffer->device());
  const std::span<const std::uint8_t> bytes = BytesOf(*buffer);
  return DecodeFrom(bytes, std::move(buffer));
}

core::Status TensorMessage::operator<<(std::span<const std::uint8_t> bytes) {
  return Decode(bytes);
}

core::Status TensorMessage::operator<<(std::shared_ptr<memory::Buffer> buffer) {
  return Decode(std::move(buffer));
}

core::Status TensorMessage::Encode(std::span<std::uint8_t> out) const {
  if (out.size() != get_serialized_size()) {
    return core::InvalidArgumentError("Encode: {} bytes of space, expected {}", out.size(),
                                      get_serialized_size());
  }
  std::uint8_t* const place = out.data() + kPayloadOffset;
  if (is_valid() && place != payload_) {
    if (Overlap(out.data(), out.size(), payload_, size())) {
      return core::InvalidArgumentError(
          "Encode: the space of {} bytes overlaps the payload of {} that is to go there",
          out.size(), size());
    }
    std::memcpy(place, payload_, size());
  }
  const auto& fields = static_cast<const TensorStruct&>(*this);
  StoreWord(out.data(), kMagicBegin);
  StoreWord(out.data() + kVersionOffset, kVersion);
  std::memcpy(out.data() + kStructOffset, &fields, sizeof(fields));
  StoreWord(place + size(), kMagicEnd);
  return core::OkStatus();
}

core::StatusOr<memory::Buffer> TensorMessage::EncodeToBuffer(memory::Allocator* allocator) const {
  constexpr std::size_t kAlignment = 64;  // so the payload, 256 bytes on, is aligned as well
  if (allocator == nullptr) allocator = memory::DefaultCpuAllocator();
  ENGINE_CHECK(allocator->device().is_cpu(),
               "EncodeToBuffer: the allocator serves {}, expected cpu", allocator->device());
  const std::size_t size = get_serialized_size();
  ENGINE_ASSIGN_OR_RETURN(memory::Buffer buffer, allocator->Allocate(size, kAlignment));
  ENGINE_CHECK(buffer.size_bytes() >= size,
               "EncodeToBuffer: the allocator returned {} bytes, {} were asked for",
               buffer.size_bytes(), size);
  ENGINE_RETURN_IF_ERROR(Encode(std::span(static_cast<std::uint8_t*>(buffer.data()), size)));
  return buffer;
}

core::Status TensorMessage::operator>>(memory::Buffer& out) const {
  ENGINE_CHECK(out.device().is_cpu(), "operator>>: the buffer is on {}, expected cpu",
               out.device());
  auto* const data = static_cast<std::uint8_t*>(out.data());
  if (out.size_bytes() == get_serialized_size()) {
    if (out.is_read_only()) {
      return core::InvalidArgumentError("operator>>: the buffer of {} bytes is read-only",
                                        out.size_bytes());
    }
    return Encode(std::span(data, out.size_bytes()));
  }
  if (is_valid() && out.size_bytes() > 0 && Overlap(data, out.size_bytes(), payload_, size())) {
    return core::InvalidArgumentError(
        "operator>>: the buffer of {} bytes holds the payload and would be released, {} are needed",
        out.size_bytes(), get_serialized_size());
  }
  ENGINE_ASSIGN_OR_RETURN(out, EncodeToBuffer());
  return core::OkStatus();
}

}  // namespace engine::wire
