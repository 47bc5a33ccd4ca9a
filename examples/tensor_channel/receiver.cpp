#include "receiver.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "memory/buffer.h"
#include "wire/tensor_message.h"

namespace tensor_channel {

namespace core = engine::core;
namespace memory = engine::memory;
using engine::tensor::Device;
using engine::tensor::Tensor;
using engine::wire::TensorMessage;

namespace {

class Receiver {
 public:
  Receiver(const Options& options, const Stream& stream, const SharedSlots& slots,
           const Descriptor& socket)
      : options_(options), stream_(stream), slots_(slots), socket_(socket) {
    report_.latencies_ns.reserve(options.messages);
  }

  core::StatusOr<Report> Run() {
    std::uint64_t first_ns = 0;
    for (std::uint32_t seq = 0; seq < options_.messages; ++seq) {
      ENGINE_ASSIGN_OR_RETURN(const std::optional<Packet> packet, ReceivePacket(socket_));
      if (!packet.has_value()) break;
      if (seq == 0) first_ns = NowNs();
      ENGINE_RETURN_IF_ERROR(CheckAnnouncement(*packet));
      const core::Status status = Take(*packet, seq);
      if (!status.ok() && report_.first_failure.empty()) {
        report_.first_failure = fmt::format("message {}: {}", seq, std::string(status.message()));
      }
    }
    report_.seconds = static_cast<double>(NowNs() - first_ns) * 1e-9;
    held_.clear();
    return std::move(report_);
  }

 private:
  // A message that makes no sense is refused and its slot given back. An announcement that makes
  // none ends the stream: nobody knows which slot the sender is waiting for.
  core::Status CheckAnnouncement(const Packet& packet) const {
    if (packet.slot < slots_.count() && packet.bytes > 0 &&
        packet.bytes <= slots_.slot(packet.slot).size()) {
      return core::OkStatus();
    }
    return core::InvalidArgumentError("{} bytes announced in slot {}", packet.bytes, packet.slot);
  }

  // The announced bytes as a Buffer that gives its slot back when the last tensor over it dies.
  core::StatusOr<std::shared_ptr<memory::Buffer>> Open(const Packet& packet) {
    const Descriptor* const socket = &socket_;
    const std::uint32_t slot = packet.slot;
    return memory::ShareBuffer(memory::Buffer(
        slots_.slot(slot).data(), packet.bytes, Device::Cpu(),
        // A sender that has gone needs no slots.
        [socket, slot](void*) {
          static_cast<void>(SendPacket(*socket, {slot, 0, 0}));
        },
        /*read_only=*/true));
  }

  core::Status Take(const Packet& packet, std::uint32_t seq) {
    ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<memory::Buffer> buffer, Open(packet));
    // Decoding copies the struct and checks the copy, so a sender that goes on writing can change
    // values, but not where the tensor lies.
    TensorMessage message;
    const core::Status decoded = message.Decode(std::move(buffer));
    core::StatusOr<Tensor> tensor = decoded.ok() ? message.ToTensor() : decoded;
    if (!tensor.ok()) {
      ++report_.refused;
      return tensor.status();
    }
    report_.latencies_ns.push_back(NowNs() - message.header.time_pub);
    ENGINE_RETURN_IF_ERROR(Verify(message, *tensor, packet, seq));
    report_.bytes += packet.bytes;
    ++(Stream::IsImage(seq) ? report_.images : report_.features);
    held_.push_back(*std::move(tensor));
    if (held_.size() > options_.hold) held_.pop_front();
    return core::OkStatus();
  }

  // That this is message `seq`, that every value is the sender's, and that it lies where the sender
  // put it.
  core::Status Verify(const TensorMessage& message, const Tensor& tensor, const Packet& packet,
                      std::uint32_t seq) {
    if (tensor.data() != slots_.slot(packet.slot).data() + engine::wire::kPayloadOffset) {
      ++report_.copied;
    }
    const Tensor& sent = stream_.at(seq);
    if (message.header.seq != seq ||
        message.name() != (Stream::IsImage(seq) ? kImage : kFeatures) ||
        tensor.shape() != sent.shape() || tensor.dtype() != sent.dtype() ||
        !tensor.is_contiguous()) {
      return core::InvalidArgumentError("another message, of shape {}", tensor.shape());
    }
    if (std::memcmp(tensor.data(), sent.data(), sent.nbytes()) != 0) {
      return core::InvalidArgumentError("values changed on the way");
    }
    if (Stream::IsImage(seq)) return core::OkStatus();
    ENGINE_ASSIGN_OR_RETURN(const Tensor values, message.Dequantize());
    const auto quantised = sent.item<std::int8_t>({0, 0, 0, 1});
    const float expected = static_cast<float>(quantised - kFeatureZeroPoint) * kFeatureScale;
    if (values.item<float>({0, 0, 0, 1}) != expected) {
      return core::InvalidArgumentError("{} dequantised to {}, expected {}", quantised,
                                        values.item<float>({0, 0, 0, 1}), expected);
    }
    return core::OkStatus();
  }

  const Options& options_;
  const Stream& stream_;
  const SharedSlots& slots_;
  const Descriptor& socket_;
  Report report_;
  std::deque<Tensor> held_;
};

}  // namespace

core::StatusOr<Report> RunReceiver(const Options& options, const Stream& stream,
                                   const SharedSlots& slots, const Descriptor& socket) {
  return Receiver(options, stream, slots, socket).Run();
}

}  // namespace tensor_channel
