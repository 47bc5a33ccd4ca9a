// wire/tensor_message.h: a tensor as a message between processes.
// Layer 4.
//
//   // Sender: no copy but the one into the transport's memory.
//   ENGINE_ASSIGN_OR_RETURN(TensorMessage message, TensorMessage::FromTensor(image));
//   message.set_name("image");
//   ENGINE_RETURN_IF_ERROR(message.Encode(slot.first(message.get_serialized_size())));
//
//   // Receiver: the tensor views the received bytes and keeps `buffer` alive.
//   TensorMessage message;
//   ENGINE_RETURN_IF_ERROR(message.Decode(std::move(buffer)));
//   ENGINE_ASSIGN_OR_RETURN(Tensor image, message.ToTensor());
//
// Source: docs/design/wire.md, where every deviation from the upstream message is listed.
#ifndef ENGINE_WIRE_TENSOR_MESSAGE_H_
#define ENGINE_WIRE_TENSOR_MESSAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include "wire/format.h"

namespace engine::wire {

// A container of bytes, not a view of them, that dies with the expression it appears in.
template <typename T>
concept TemporaryBytes = !std::is_lvalue_reference_v<T> && !std::ranges::borrowed_range<T> &&
                         std::is_convertible_v<T, std::span<const std::uint8_t>>;

// Metadata, and a payload that the message owns, shares or borrows.
//
//   owned     allocated by create, deep_copy, Clone or a packing FromTensor; is_owner() is true
//   shared    the Buffer of Decode(buffer), the storage of FromTensor's tensor, or that of
//             shallow_copy's target: kept alive, is_owner() is false
//   borrowed  Decode(span) and shallow_copy(data, size): must outlive the message and every tensor
//             made from it; is_owner() is false
//
// Metadata and payload are independent, as on the wire: setters do not look at the payload, and
// decoding accepts metadata that contradict it. ToTensor is where they must agree.
//
// Names are those of the upstream message. What reported failure by bool, or could fail silently,
// returns a Status, and a failed call changes nothing. Messages move; Clone copies. A moved-from
// message has no payload and every field is zero.
//
// Thread safety: const methods may run concurrently on one message; a Tensor of ToTensor may be
// used on any thread, whatever happens to the message.
class TensorMessage final : private TensorStruct {
 public:
  static constexpr std::uint8_t kMaxRank = 8;  // entries of shape() and strides()

  // Values are the wire's.
  enum DataType : std::uint8_t {
    kDataUnknown = 0,  // not set; ToTensor refuses it
    kBool = 1,         // one byte; zero is false, anything else reads as true
    kInt8 = 2,         // 1 byte
    kUint8 = 3,        // 1 byte
    kInt16 = 4,        // 2 bytes
    kUint16 = 5,       // 2 bytes
    kInt32 = 6,        // 4 bytes
    kUint32 = 7,       // 4 bytes
    kInt64 = 8,        // 8 bytes
    kUint64 = 9,       // 8 bytes
    kFloat16 = 10,     // IEEE 754 binary16
    kBfloat16 = 11,    // the upper half of a binary32
    kFloat32 = 12,     // IEEE 754 binary32
    kFloat64 = 13,     // IEEE 754 binary64
  };

  // Where the payload lives on the sender's side. A hint; ToTensor takes kDeviceCpu only.
  enum Device : std::uint8_t {
    kDeviceCpu = 0,  // host memory
    kDeviceGpu = 1,  // Unimplemented in ToTensor, as the two below
    kDeviceNpu = 2,  // a neural accelerator
    kDeviceDsp = 3,  // a signal processor
  };

  // What FromTensor does with a tensor that is not contiguous.
  enum class Packing : std::uint8_t {
    kKeepStrides,  // borrow everything from its first to its last element
    kPack,         // copy the elements into fresh row-major storage
  };

  // No payload; the header's frame_id is "unknown", everything else zero.
  TensorMessage() noexcept = default;
  TensorMessage(const TensorMessage&) = delete;
  TensorMessage& operator=(const TensorMessage&) = delete;
  TensorMessage(TensorMessage&& target) noexcept;
  // Takes over everything, as move_copy does, and always: `target` may share this message's storage.
  // Moving a message to itself does nothing.
  //   CHECKs   target does not merely borrow bytes of storage that this message alone keeps alive.
  TensorMessage& operator=(TensorMessage&& target) noexcept;
  ~TensorMessage() = default;

  // --- Envelopes ---

  // Whether `bytes` begin and end as an envelope of our major version. Neither the struct nor the
  // payload is looked at.
  //   Errors   InvalidArgument: fewer than kEnvelopeBytes, a wrong magic number, another major
  //            version.
  [[nodiscard]] static core::Status check_valid(std::span<const std::uint8_t> bytes);

  // Takes over the metadata of an envelope and borrows its payload; nothing is copied but the
  // struct, nothing allocated, and nothing outside `bytes` read. The struct's pointer and owner
  // byte are ignored, a rank above kMaxRank becomes kMaxRank, element_size() follows the dtype; all
  // else is kept as it is, contradictions included. Any address.
  //   Errors   those of check_valid; InvalidArgument: the struct's size is not that of the payload;
  //            `bytes` overlap storage that this message owns or shares: all of a Buffer it decoded
  //            or that a tensor brought along, whoever else shares it.
  //   Lifetime `bytes` must outlive the payload: this message, its shallow copies, their tensors.
  [[nodiscard]] core::Status Decode(std::span<const std::uint8_t> bytes);
  // The same, sharing `buffer`, which lives as long as anything that came from it.
  //   CHECKs   buffer is not null and on the cpu.
  [[nodiscard]] core::Status Decode(std::shared_ptr<memory::Buffer> buffer);
  // Bytes that die with the call cannot be borrowed.
  template <TemporaryBytes Bytes>
  core::Status Decode(Bytes&& bytes) = delete;
  // Decode under its upstream name.
  [[nodiscard]] core::Status operator<<(std::span<const std::uint8_t> bytes);
  [[nodiscard]] core::Status operator<<(std::shared_ptr<memory::Buffer> buffer);
  template <TemporaryBytes Bytes>
  core::Status operator<<(Bytes&& bytes) = delete;

  // The size of the envelope in bytes: kEnvelopeBytes + size().
  [[nodiscard]] std::size_t get_serialized_size() const { return kEnvelopeBytes + size(); }

  // Writes the envelope. The pointer is written as 0, the owner byte as is_owner().
  //   Errors   InvalidArgument: out is not exactly get_serialized_size() bytes; it overlaps the
  //            payload other than where the payload goes (which is the envelope that this message
  //            was decoded from).
  [[nodiscard]] core::Status Encode(std::span<std::uint8_t> out) const;
  // The same into the first bytes of a fresh Buffer of `allocator` (null: the default), 64-byte
  // aligned.
  //   Errors   kOutOfMemory.
  //   CHECKs   a given allocator serves the cpu and returns no less than it was asked for.
  [[nodiscard]] core::StatusOr<memory::Buffer> EncodeToBuffer(
      memory::Allocator* allocator = nullptr) const;
  // Encodes into `out` when it has the right size, else replaces it by a fresh Buffer.
  //   Errors   those of Encode; InvalidArgument: out has the right size and is read-only, or is to
  //            be replaced and holds the payload.
  //   CHECKs   out is on the cpu.
  [[nodiscard]] core::Status operator>>(memory::Buffer& out) const;

  // --- Tensors ---

  // The payload as a tensor, without copying. The tensor shares what the message owns or shares;
  // over a borrowed payload it is the caller who keeps the bytes alive. It is read-only when they
  // are: a Decode(span), a read-only Buffer. It may be misaligned for its dtype.
  //   Errors   Unimplemented: a device other than the cpu. InvalidArgument: an unknown device or
  //            dtype; rank 0; num_elements is not the product of the shape, or more elements than
  //            the payload has room for; stride 0 on an axis of several elements; a layout that
  //            leaves the payload (of elements there are none, and strides do not matter, when an
  //            extent is 0). kOutOfMemory.
  [[nodiscard]] core::StatusOr<tensor::Tensor> ToTensor() const;

  // A message about `tensor` that shares its storage. A contiguous tensor is borrowed as it is.
  // With kKeepStrides a strided one keeps its strides, and the payload is everything between its
  // first and last element: bytes that belong to other views of the storage are sent along. With
  // kPack its elements are copied, and nothing else is sent.
  //   Errors   Unimplemented: a CUDA tensor. InvalidArgument: rank 0 (unsqueeze it), an extent or
  //            a stride that matters above 2^32 - 1, or a layout that overlaps itself so that the
  //            payload would be smaller than its elements. kOutOfMemory.
  //   CHECKs   tensor is defined; a given allocator serves the cpu.
  [[nodiscard]] static core::StatusOr<TensorMessage> FromTensor(
      const tensor::Tensor& tensor, Packing packing = Packing::kKeepStrides,
      memory::Allocator* allocator = nullptr);

  // A fresh row-major float32 tensor of the elements of a quantised message:
  // float(int64(q) - quant_zero_point) * quant_scale, each step rounded to nearest even. The same
  // bits on every CPU, whatever floating-point mode the host has set.
  //   Errors   those of ToTensor; InvalidArgument: not int8 or uint8, a scale that is 0 (the
  //            message is not quantised) or not finite. kOutOfMemory.
  //   CHECKs   a given allocator serves the cpu.
  [[nodiscard]] core::StatusOr<tensor::Tensor> Dequantize(
      memory::Allocator* allocator = nullptr) const;

  // --- Payload ---

  // Takes over all of `target`'s metadata and shares its payload (borrows it where target does).
  //   Errors   InvalidArgument: target is this message, or depends on it: its payload lies in
  //            storage that this one owns, or in storage that this one shares and target does not.
  [[nodiscard]] core::Status shallow_copy(const TensorMessage& target);
  // Borrows `size` bytes in place of the payload; metadata stay.
  //   Errors   InvalidArgument: null, 0 bytes, the present payload's address, or bytes that overlap
  //            storage that this message owns or shares, as in Decode(span).
  //   Lifetime as Decode(span).
  [[nodiscard]] core::Status shallow_copy(std::uint8_t* data, std::size_t size);

  // Takes over all of `target`'s metadata and copies its payload into an owned one. Owned storage
  // of the same size is used again unless a tensor or a shallow copy may still view it.
  //   Errors   InvalidArgument: target is this message, or depends on it. kOutOfMemory.
  //   CHECKs   a given allocator serves the cpu and returns no less than it was asked for.
  [[nodiscard]] core::Status deep_copy(const TensorMessage& target,
                                       memory::Allocator* allocator = nullptr);
  // Copies `size` bytes into an owned payload; metadata stay.
  //   Errors   InvalidArgument: null, 0 bytes, or bytes that overlap storage that this message
  //            owns. kOutOfMemory.
  //   CHECKs   as above.
  [[nodiscard]] core::Status deep_copy(const std::uint8_t* data, std::size_t size,
                                       memory::Allocator* allocator = nullptr);
  // deep_copy(data, size) under its older name.
  [[nodiscard]] core::Status fill_data(const std::uint8_t* data, std::size_t size);

  // A message of its own: metadata and, when there is one, an owned payload.
  //   Errors   kOutOfMemory.
  //   CHECKs   as deep_copy.
  [[nodiscard]] core::StatusOr<TensorMessage> Clone(memory::Allocator* allocator = nullptr) const;

  // Takes over everything, reserved fields included; `target` ends as moved-from. Refuses what
  // upstream refuses, of which move assignment takes all that is safe.
  //   Errors   InvalidArgument: target is this message, or depends on it.
  [[nodiscard]] core::Status move_copy(TensorMessage& target);

  // An owned payload of `size` uninitialised bytes; metadata stay. Storage is reused as in
  // deep_copy.
  //   Errors   InvalidArgument: 0 bytes. kOutOfMemory.
  //   CHECKs   as deep_copy.
  [[nodiscard]] core::Status create(std::size_t size, memory::Allocator* allocator = nullptr);

  // Drops the payload and zeroes every field but the three reserved ones. The header's frame_id and
  // reserved word are zeroed too.
  void clear();

  // Whether there is a payload.
  [[nodiscard]] bool is_valid() const { return payload_ != nullptr; }
  // Whether the payload was allocated by this message and may be written through mutable_data().
  [[nodiscard]] bool is_owner() const { return is_owner_ != 0; }
  // Null without a payload, never otherwise.
  [[nodiscard]] const std::uint8_t* data() const { return payload_; }
  // The bytes of an owned payload, to write them; null otherwise. Tensors of ToTensor see the
  // writes.
  [[nodiscard]] std::uint8_t* mutable_data() { return is_owner() ? payload_ : nullptr; }
  // The payload's bytes.
  [[nodiscard]] std::size_t size() const { return size_; }

  // --- Metadata ---

  using TensorStruct::header;  // sequencing and timestamps, to read and to set

  // The producer's timestamp of the tensor in ns, beside those of the header.
  [[nodiscard]] std::uint64_t update_time_ns() const { return update_time_ns_; }
  // As set_shape counted or the sender claimed; ToTensor compares it with the shape.
  [[nodiscard]] std::uint64_t num_elements() const { return num_elements_; }
  // What the tensor is called. Valid until the field changes or the message dies, as are model_id,
  // layout, shape and strides.
  [[nodiscard]] std::string_view name() const { return TextOf(name_, sizeof(name_)); }
  // Which model the tensor belongs to.
  [[nodiscard]] std::string_view model_id() const { return TextOf(model_id_, sizeof(model_id_)); }
  // What the axes mean, e.g. "NCHW". Text for people; nothing interprets it.
  [[nodiscard]] std::string_view layout() const { return TextOf(layout_, sizeof(layout_)); }
  // kMaxRank entries, of which the first rank() count.
  [[nodiscard]] const std::uint32_t* shape() const { return shape_; }
  [[nodiscard]] const std::uint32_t* strides() const { return strides_; }  // elements
  // One extent; 0 when dim is not below kMaxRank.
  [[nodiscard]] std::uint32_t shape_at(std::uint8_t dim) const {
    return dim < kMaxRank ? shape_[dim] : 0;
  }
  // One stride in elements; 0 when dim is not below kMaxRank.
  [[nodiscard]] std::uint32_t stride_at(std::uint8_t dim) const {
    return dim < kMaxRank ? strides_[dim] : 0;
  }
  // The number of the sensor, producer or output port that the tensor belongs to.
  [[nodiscard]] std::uint32_t channel() const { return channel_; }
  [[nodiscard]] std::uint32_t freq() const { return freq_; }  // Hz
  // shape[0], unless it was set to something else: nothing compares the two.
  [[nodiscard]] std::uint32_t batch_size() const { return batch_size_; }
  // The distance of two neighbouring quantised values; 0 when the elements are not quantised.
  [[nodiscard]] float quant_scale() const { return quant_scale_; }
  // The quantised value that stands for 0.
  [[nodiscard]] std::int32_t quant_zero_point() const { return quant_zero_point_; }
  // The type of the elements. May be no enumerator: the sender's byte is kept.
  [[nodiscard]] DataType dtype() const { return static_cast<DataType>(dtype_); }
  // The number of axes, at most kMaxRank.
  [[nodiscard]] std::uint8_t rank() const { return rank_; }
  // Where the elements are on the sender's side. May be no enumerator, as dtype().
  [[nodiscard]] Device device() const { return static_cast<Device>(device_); }
  [[nodiscard]] std::uint8_t element_size() const { return element_size_; }  // bytes

  // Stores the time as it is; the clock is the application's.
  void set_update_time_ns(std::uint64_t update_time_ns) { update_time_ns_ = update_time_ns; }
  // Keeps 31 bytes.
  void set_name(std::string_view name) { SetText(name_, sizeof(name_), name); }
  // Keeps 31 bytes.
  void set_model_id(std::string_view id) { SetText(model_id_, sizeof(model_id_), id); }
  // Keeps 15 bytes.
  void set_layout(std::string_view layout) { SetText(layout_, sizeof(layout_), layout); }

  // Stores `rank` extents (the first kMaxRank of more), row-major strides, num_elements, and
  // shape[0] as batch_size. The strides of an axis before one of extent 0 are 0, as upstream has
  // them. Rank 0 zeroes all of these.
  //   Errors   InvalidArgument: null with a rank above 0; a stride that uint32_t cannot hold.
  [[nodiscard]] core::Status set_shape(const std::uint32_t* shape, std::uint8_t rank);
  // One extent; neither strides nor num_elements follow.
  //   Errors   InvalidArgument: dim is not below kMaxRank.
  [[nodiscard]] core::Status set_shape_at(std::uint8_t dim, std::uint32_t value);
  // One stride, in elements; nothing else changes.
  //   Errors   InvalidArgument: dim is not below kMaxRank.
  [[nodiscard]] core::Status set_stride_at(std::uint8_t dim, std::uint32_t value);

  // Any number; it is sent as it is.
  void set_channel(std::uint32_t channel) { channel_ = channel; }
  // The nominal publishing frequency in Hz; nothing is timed by it.
  void set_freq(std::uint32_t freq) { freq_ = freq; }
  // Replaces what set_shape stored; the shape does not follow.
  void set_batch_size(std::uint32_t batch_size) { batch_size_ = batch_size; }
  // Stores any float; Dequantize refuses 0 and what is not finite.
  void set_quant_scale(float quant_scale) { quant_scale_ = quant_scale; }
  // Any int32, also one that no element can have.
  void set_quant_zero_point(std::int32_t zero_point) { quant_zero_point_ = zero_point; }
  // Stores the element size too.
  void set_dtype(DataType dtype) {
    dtype_ = dtype;
    element_size_ = element_size_of(dtype);
  }
  // A hint for the receiver; the payload stays where it is.
  void set_device(Device device) { device_ = device; }

  // Bytes; 0 for kDataUnknown and for what is no enumerator.
  [[nodiscard]] static std::uint8_t element_size_of(DataType dtype);

  // Fields that later versions of the format may give a meaning: not to be used. The first byte.
  [[nodiscard]] std::uint8_t& get_reserved() { return reserved_buf_; }
  // The two bytes behind it.
  [[nodiscard]] std::uint16_t& get_reserved2() { return reserved_buf2_; }
  // The last four bytes.
  [[nodiscard]] std::uint32_t& get_reserved3() { return reserved_buf3_; }

 private:
  // The payload's bytes, and what keeps them alive.
  struct Payload {
    std::shared_ptr<memory::Buffer> storage;  // null: borrowed, or none
    std::uint8_t* data = nullptr;             // null exactly when size is 0
    std::size_t size = 0;
    bool owned = false;
    bool read_only = false;
    bool handed_out = false;
  };

  // Takes over everything of another message, which ends as moved-from.
  void MoveFrom(TensorMessage& target) noexcept;
  // Takes the payload out and leaves none.
  [[nodiscard]] Payload TakePayload();
  // Another reference to the payload, not owned.
  [[nodiscard]] Payload SharePayload() const;
  void SetPayload(Payload payload);
  // Owned storage for `size` > 0 bytes: the present one where it may be overwritten, else new.
  [[nodiscard]] core::StatusOr<Payload> OwnedPayload(std::size_t size,
                                                     memory::Allocator* allocator) const;
  // Every field of `source` but those that describe its payload.
  void CopyMetadata(const TensorStruct& source);
  // Whether any of these bytes lie in storage that this message owns or shares.
  [[nodiscard]] bool Holds(const std::uint8_t* data, std::size_t size) const;
  // InvalidArgument when `target` is this message or, as upstream judges, would dangle without its
  // storage: sharing what this message owns counts as borrowing it.
  [[nodiscard]] core::Status CheckIndependent(const char* operation,
                                              const TensorMessage& target) const;
  // Decodes; `storage` (null: borrowed) is the Buffer of exactly these bytes.
  [[nodiscard]] core::Status DecodeFrom(std::span<const std::uint8_t> bytes,
                                        std::shared_ptr<memory::Buffer> storage);
  // Stores dtype and shape of a tensor, and the strides that its elements are sent with.
  //   Errors   Unimplemented: a reserved dtype. InvalidArgument: rank 0, an extent or stride that
  //            the message cannot hold.
  [[nodiscard]] core::Status SetLayout(const tensor::Tensor& tensor,
                                       const tensor::Strides& strides);
  // ToTensor without noting that the storage has been handed out.
  [[nodiscard]] core::StatusOr<tensor::Tensor> View() const;

  std::shared_ptr<memory::Buffer> storage_;
  std::uint8_t* payload_ = nullptr;
  bool read_only_ = false;
  // A tensor or a shallow copy has been made of this storage. Never cleared while the storage
  // stays: reference counts do not tell who is still reading. Atomic, since const functions set it.
  mutable std::atomic<bool> handed_out_ = false;
};

// The dtypes correspond one to one, but for kDataUnknown and the reserved ones of tensor::DataType.
//   Errors   InvalidArgument: kDataUnknown, or no enumerator.
[[nodiscard]] core::StatusOr<tensor::DataType> ToTensorDataType(TensorMessage::DataType dtype);
//   Errors   Unimplemented: a reserved dtype.
[[nodiscard]] core::StatusOr<TensorMessage::DataType> ToMessageDataType(tensor::DataType dtype);

}  // namespace engine::wire

#endif  // ENGINE_WIRE_TENSOR_MESSAGE_H_
