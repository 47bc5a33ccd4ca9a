// Messages and their bytes for the wire suites.
#ifndef ENGINE_TESTS_WIRE_WIRE_TEST_UTIL_H_
#define ENGINE_TESTS_WIRE_WIRE_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.h"
#include "data/upstream_envelopes.h"
#include "memory/buffer.h"
#include "wire/tensor_message.h"

namespace engine::wire {

namespace upstream {
inline void PrintTo(const WrittenCase& written, std::ostream* out) { *out << written.name; }
inline void PrintTo(const ReadCase& read, std::ostream* out) { *out << read.name; }
}  // namespace upstream

using ByteVector = std::vector<std::uint8_t>;

// The bytes of the notation of data/upstream_envelopes.h.
inline ByteVector ParseBytes(std::string_view text) {
  ByteVector bytes;
  while (!text.empty()) {
    const std::string word(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word[0] == '*') {
      bytes.insert(bytes.end(), std::stoul(word.substr(1)), 0);
      continue;
    }
    for (std::size_t i = 0; i < word.size(); i += 2) {
      bytes.push_back(static_cast<std::uint8_t>(std::stoul(word.substr(i, 2), nullptr, 16)));
    }
  }
  return bytes;
}

// Overwrites the little-endian bytes of `value` at an offset of the envelope.
template <typename T>
void Patch(ByteVector& envelope, std::size_t offset, std::type_identity_t<T> value) {
  std::memcpy(envelope.data() + offset, &value, sizeof(T));
}

// Where the fields of the struct lie in the envelope: eight bytes behind their place in the struct.
inline constexpr std::size_t kDataAt = 8 + 40;
inline constexpr std::size_t kSizeAt = 8 + 48;
inline constexpr std::size_t kNumElementsAt = 8 + 64;
inline constexpr std::size_t kNameAt = 8 + 72;
inline constexpr std::size_t kShapeAt = 8 + 152;
inline constexpr std::size_t kStridesAt = 8 + 184;
inline constexpr std::size_t kDTypeAt = 8 + 236;
inline constexpr std::size_t kRankAt = 8 + 237;
inline constexpr std::size_t kDeviceAt = 8 + 238;
inline constexpr std::size_t kOwnerAt = 8 + 239;
inline constexpr std::size_t kElementSizeAt = 8 + 240;

inline ByteVector Encoded(const TensorMessage& message) {
  ByteVector bytes(message.get_serialized_size());
  const core::Status status = message.Encode(bytes);
  ENGINE_CHECK(status.ok(), "{}", status.ToString());
  return bytes;
}

// A Buffer of exactly these bytes, in an allocation of its own so that sanitizers see its end.
// `alive` (optional) is true until its deleter has run.
inline std::shared_ptr<memory::Buffer> BufferOf(const ByteVector& bytes, bool* alive = nullptr,
                                                bool read_only = false) {
  auto* const data = bytes.empty() ? nullptr : new std::uint8_t[bytes.size()];
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  if (alive != nullptr) *alive = true;
  return std::make_shared<memory::Buffer>(
      data, bytes.size(), tensor::Device::Cpu(),
      [alive](void* pointer) {
        delete[] static_cast<std::uint8_t*>(pointer);
        if (alive != nullptr) *alive = false;
      },
      read_only);
}

inline ByteVector PayloadOf(const TensorMessage& message) {
  return message.is_valid() ? ByteVector(message.data(), message.data() + message.size())
                            : ByteVector();
}

inline void SetShape(TensorMessage& message, std::initializer_list<std::uint32_t> shape) {
  const core::Status status =
      message.set_shape(std::data(shape), static_cast<std::uint8_t>(shape.size()));
  ENGINE_CHECK(status.ok(), "{}", status.ToString());
}

// An owned message of `count` elements 1, 2, 3, ... (bytes) of one axis.
inline TensorMessage CountingMessage(std::uint8_t count) {
  TensorMessage message;
  message.set_dtype(TensorMessage::kUint8);
  SetShape(message, {count});
  ENGINE_CHECK(message.create(count).ok());
  for (std::uint8_t i = 0; i < count; ++i) {
    message.mutable_data()[i] = static_cast<std::uint8_t>(i + 1);
  }
  return message;
}

inline std::uint32_t BitsOfScale(const TensorMessage& message) {
  return std::bit_cast<std::uint32_t>(message.quant_scale());
}

// Compares every field, through the accessors.
inline void ExpectFields(const TensorMessage& message, const upstream::Fields& fields) {
  EXPECT_EQ(message.header.frame_id_text(), fields.frame_id);
  EXPECT_EQ(message.header.seq, fields.seq);
  EXPECT_EQ(message.header.reserved, fields.reserved);
  EXPECT_EQ(message.header.time_meas, fields.time_meas);
  EXPECT_EQ(message.header.time_pub, fields.time_pub);
  EXPECT_EQ(message.size(), fields.size);
  EXPECT_EQ(message.update_time_ns(), fields.update_time_ns);
  EXPECT_EQ(message.num_elements(), fields.num_elements);
  EXPECT_EQ(message.name(), fields.name);
  EXPECT_EQ(message.model_id(), fields.model_id);
  EXPECT_EQ(message.layout(), fields.layout);
  for (std::uint8_t axis = 0; axis < TensorMessage::kMaxRank; ++axis) {
    EXPECT_EQ(message.shape_at(axis), fields.shape[axis]) << "axis " << int{axis};
    EXPECT_EQ(message.stride_at(axis), fields.strides[axis]) << "axis " << int{axis};
    EXPECT_EQ(message.shape()[axis], fields.shape[axis]);
    EXPECT_EQ(message.strides()[axis], fields.strides[axis]);
  }
  EXPECT_EQ(message.channel(), fields.channel);
  EXPECT_EQ(message.freq(), fields.freq);
  EXPECT_EQ(message.batch_size(), fields.batch_size);
  EXPECT_EQ(BitsOfScale(message), fields.quant_scale_bits);
  EXPECT_EQ(message.quant_zero_point(), fields.quant_zero_point);
  EXPECT_EQ(message.dtype(), fields.dtype);
  EXPECT_EQ(message.rank(), fields.rank);
  EXPECT_EQ(message.device(), fields.device);
  EXPECT_EQ(message.is_owner(), fields.is_owner);
  EXPECT_EQ(message.element_size(), fields.element_size);
  EXPECT_EQ(message.is_valid(), fields.size > 0);
  EXPECT_EQ(message.data() == nullptr, fields.size == 0);
}

inline void ExpectReserved(TensorMessage& message, const upstream::Fields& fields) {
  EXPECT_EQ(message.get_reserved(), fields.reserved_buf);
  EXPECT_EQ(message.get_reserved2(), fields.reserved_buf2);
  EXPECT_EQ(message.get_reserved3(), fields.reserved_buf3);
}

}  // namespace engine::wire

#endif  // ENGINE_TESTS_WIRE_WIRE_TEST_UTIL_H_
