#include "sender.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "wire/tensor_message.h"

namespace tensor_channel {

namespace core = engine::core;
namespace wire = engine::wire;
using wire::TensorMessage;

namespace {

core::StatusOr<TensorMessage> MakeMessage(const Stream& stream, std::uint32_t seq) {
  // Nothing is copied: the message views the tensor.
  ENGINE_ASSIGN_OR_RETURN(TensorMessage message, TensorMessage::FromTensor(stream.at(seq)));
  message.header.seq = seq;
  message.header.set_frame_id("camera_front");
  if (Stream::IsImage(seq)) {
    message.set_name(kImage);
    message.set_layout("NCHW");
  } else {
    message.set_name(kFeatures);
    message.set_layout("NHWC");
    message.set_quant_scale(kFeatureScale);
    message.set_quant_zero_point(kFeatureZeroPoint);
  }
  return message;
}

// The slots that may be written.
class FreeSlots {
 public:
  FreeSlots(std::uint32_t count, const Descriptor& socket)
      : socket_(socket), count_(count), is_free_(count, true) {
    for (std::uint32_t i = 0; i < count; ++i) free_.push_back(i);
  }

  // Waits for one; none when the receiver has gone.
  core::StatusOr<std::optional<std::uint32_t>> Take() {
    while (free_.empty()) {
      ENGINE_ASSIGN_OR_RETURN(const bool connected, AwaitRelease());
      if (!connected) return std::optional<std::uint32_t>();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    is_free_[slot] = false;
    return std::optional<std::uint32_t>(slot);
  }

  // Waits for all of them, or for the receiver's end.
  core::Status AwaitAll() {
    while (free_.size() < count_) {
      ENGINE_ASSIGN_OR_RETURN(const bool connected, AwaitRelease());
      if (!connected) break;
    }
    return core::OkStatus();
  }

 private:
  core::StatusOr<bool> AwaitRelease() {
    ENGINE_ASSIGN_OR_RETURN(const std::optional<Packet> packet, ReceivePacket(socket_));
    if (!packet.has_value()) return false;
    // One released twice would be written while the receiver still reads it.
    if (packet->slot >= count_ || is_free_[packet->slot]) {
      return core::InvalidArgumentError("a release of slot {}, which is free or none",
                                        packet->slot);
    }
    is_free_[packet->slot] = true;
    free_.push_back(packet->slot);
    return true;
  }

  const Descriptor& socket_;
  std::uint32_t count_;
  std::vector<std::uint32_t> free_;
  std::vector<bool> is_free_;  // by slot
};

}  // namespace

core::Status RunSender(const Options& options, const Stream& stream, const SharedSlots& slots,
                       const Descriptor& socket) {
  FreeSlots free(slots.count(), socket);
  for (std::uint32_t seq = 0; seq < options.messages; ++seq) {
    ENGINE_ASSIGN_OR_RETURN(TensorMessage message, MakeMessage(stream, seq));
    ENGINE_ASSIGN_OR_RETURN(const std::optional<std::uint32_t> slot, free.Take());
    if (!slot.has_value()) return core::OkStatus();  // the receiver reports what it is missing
    const std::size_t bytes = message.get_serialized_size();
    message.header.time_pub = NowNs();
    ENGINE_RETURN_IF_ERROR(message.Encode(slots.slot(*slot).first(bytes)));
    if (options.corrupt == seq) {
      // The struct now claims one payload byte more than the envelope has.
      ++slots.slot(*slot)[wire::kStructOffset + offsetof(wire::TensorStruct, size_)];
    }
    ENGINE_RETURN_IF_ERROR(SendPacket(socket, {*slot, 0, bytes}));
  }
  return free.AwaitAll();
}

}  // namespace tensor_channel
