// wire/format.h: the bytes of a tensor message, as plain data.
// Layer 4. Little-endian; the library refuses to configure for anything else.
//
//   offset      bytes
//   0           4     kMagicBegin
//   4           4     version: major * 1'000'000 + minor * 1'000 + patch
//   8           248   TensorStruct
//   256         size  payload, TensorStruct::size_ bytes
//   256 + size  4     kMagicEnd
//
// Source: docs/design/wire.md, "Layout".
#ifndef ENGINE_WIRE_FORMAT_H_
#define ENGINE_WIRE_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace engine::wire {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint32_t kMagicBegin = 0x98B7F19A;  // the first four bytes
inline constexpr std::uint32_t kMagicEnd = 0x98B7F19F;    // the last four
// What we write: 2.3.0. Any version of the same major is read.
inline constexpr std::uint32_t kVersion = 2'003'000;
// version / kVersionsPerMajor is the major version.
inline constexpr std::uint32_t kVersionsPerMajor = 1'000'000;

inline constexpr std::size_t kVersionOffset = 4;    // bytes, from the start of the envelope
inline constexpr std::size_t kStructOffset = 8;     // of the TensorStruct
inline constexpr std::size_t kPayloadOffset = 256;  // of the elements
// An envelope without payload: the shortest there is.
inline constexpr std::size_t kEnvelopeBytes = kPayloadOffset + 4;

// The text in a field of fixed width: up to its first NUL, or all of it.
[[nodiscard]] inline std::string_view TextOf(const char* field, std::size_t width) {
  return {field, strnlen(field, width)};
}

// Replaces the text of a field. What does not fit, with a NUL behind it, is cut off.
inline void SetText(char* field, std::size_t width, std::string_view text) {
  const std::size_t kept = text.size() < width ? text.size() : width - 1;
  std::memset(field, 0, width);
  if (kept > 0) std::memcpy(field, text.data(), kept);
}

// Sequencing and timestamps. Every message of the family begins with one.
struct Header {
  char frame_id[16] = "unknown";  // need not end with a NUL
  std::uint32_t seq = 0;          // the sender's count of messages
  std::uint32_t reserved = 0;     // kept as it is; cleared by TensorMessage::clear
  std::uint64_t time_meas = 0;    // ns, when the data were measured
  std::uint64_t time_pub = 0;     // ns, when the message was published

  // frame_id up to its first NUL. Valid while this header lives and is not changed.
  [[nodiscard]] std::string_view frame_id_text() const {
    return TextOf(frame_id, sizeof(frame_id));
  }
  // Keeps 15 bytes.
  void set_frame_id(std::string_view text) { SetText(frame_id, sizeof(frame_id), text); }
};

static_assert(sizeof(Header) == 40);
static_assert(offsetof(Header, frame_id) == 0);
static_assert(offsetof(Header, seq) == 16);
static_assert(offsetof(Header, reserved) == 20);
static_assert(offsetof(Header, time_meas) == 24);
static_assert(offsetof(Header, time_pub) == 32);

// What lies between version and payload. Only TensorMessage interprets it; values are whatever the
// bytes hold.
struct alignas(8) TensorStruct {
  Header header;                       // sequencing and timestamps
  std::uint64_t data_ = 0;             // the writer's address; written as 0 and never read
  std::uint64_t size_ = 0;             // bytes of payload
  std::uint64_t update_time_ns_ = 0;   // ns, the producer's timestamp of the tensor
  std::uint64_t num_elements_ = 0;     // what the sender says; ToTensor compares it with the shape
  char name_[32] = {};                 // text, need not end with a NUL
  char model_id_[32] = {};             // text, likewise
  char layout_[16] = {};               // text, e.g. "NCHW"; never interpreted
  std::uint32_t shape_[8] = {};        // elements; entries from rank_ on mean nothing
  std::uint32_t strides_[8] = {};      // elements
  std::uint32_t channel_ = 0;          // of the sensor or producer; never interpreted
  std::uint32_t freq_ = 0;             // Hz
  std::uint32_t batch_size_ = 0;       // shape[0] as set_shape stores it; never interpreted
  float quant_scale_ = 0;              // 0: not quantised
  std::int32_t quant_zero_point_ = 0;  // the quantised value that stands for 0
  std::uint8_t dtype_ = 0;             // TensorMessage::DataType, or any other byte
  std::uint8_t rank_ = 0;              // axes in use
  std::uint8_t device_ = 0;            // TensorMessage::Device, or any other byte
  std::uint8_t is_owner_ = 0;          // a byte and not a bool: the wire may hold any value
  std::uint8_t element_size_ = 0;      // bytes; follows dtype_ when decoded
  std::uint8_t reserved_buf_ = 0;      // kept as it is, as are the two below
  std::uint16_t reserved_buf2_ = 0;    // see reserved_buf_
  std::uint32_t reserved_buf3_ = 0;    // see reserved_buf_
};

static_assert(sizeof(TensorStruct) == 248);
static_assert(kStructOffset + sizeof(TensorStruct) == kPayloadOffset);
static_assert(alignof(TensorStruct) == 8);
static_assert(std::is_trivially_copyable_v<TensorStruct>);
static_assert(std::is_standard_layout_v<TensorStruct>);
static_assert(offsetof(TensorStruct, header) == 0);
static_assert(offsetof(TensorStruct, data_) == 40);
static_assert(offsetof(TensorStruct, size_) == 48);
static_assert(offsetof(TensorStruct, update_time_ns_) == 56);
static_assert(offsetof(TensorStruct, num_elements_) == 64);
static_assert(offsetof(TensorStruct, name_) == 72);
static_assert(offsetof(TensorStruct, model_id_) == 104);
static_assert(offsetof(TensorStruct, layout_) == 136);
static_assert(offsetof(TensorStruct, shape_) == 152);
static_assert(offsetof(TensorStruct, strides_) == 184);
static_assert(offsetof(TensorStruct, channel_) == 216);
static_assert(offsetof(TensorStruct, freq_) == 220);
static_assert(offsetof(TensorStruct, batch_size_) == 224);
static_assert(offsetof(TensorStruct, quant_scale_) == 228);
static_assert(offsetof(TensorStruct, quant_zero_point_) == 232);
static_assert(offsetof(TensorStruct, dtype_) == 236);
static_assert(offsetof(TensorStruct, rank_) == 237);
static_assert(offsetof(TensorStruct, device_) == 238);
static_assert(offsetof(TensorStruct, is_owner_) == 239);
static_assert(offsetof(TensorStruct, element_size_) == 240);
static_assert(offsetof(TensorStruct, reserved_buf_) == 241);
static_assert(offsetof(TensorStruct, reserved_buf2_) == 242);
static_assert(offsetof(TensorStruct, reserved_buf3_) == 244);

}  // namespace engine::wire

#endif  // ENGINE_WIRE_FORMAT_H_
