// Shared memory in slots, and a socket that says which of them are whose.
//
// The memory is an anonymous file that both processes map: the sender to write, the receiver to
// read. A slot belongs to the sender until it announces a message in it, and to the receiver until
// that releases it. Both announcements are small packets on a Unix socket pair, which also orders
// the memory accesses around them and tells when the other process has gone. The file is sealed at
// its size, so that neither process can make the other's accesses fail.
#ifndef ENGINE_EXAMPLES_TENSOR_CHANNEL_CHANNEL_H_
#define ENGINE_EXAMPLES_TENSOR_CHANNEL_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/status.h"

namespace tensor_channel {

// One announcement, in either direction.
struct Packet {
  std::uint32_t slot = 0;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;  // of the message; 0 when the slot is released
};

// An open file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// A mapping of the shared memory, cut into slots of whole pages.
class SharedSlots {
 public:
  SharedSlots(SharedSlots&& other) noexcept;
  SharedSlots& operator=(SharedSlots&&) = delete;
  ~SharedSlots();

  // Refuses memory that is too short or that somebody could shorten.
  [[nodiscard]] static engine::core::StatusOr<SharedSlots> Map(const Descriptor& memory,
                                                               std::uint32_t slots,
                                                               std::size_t slot_bytes,
                                                               bool writable);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::span<std::uint8_t> slot(std::uint32_t index) const {
    return {base_ + index * slot_bytes_, slot_bytes_};
  }

 private:
  SharedSlots(std::uint8_t* base, std::uint32_t count, std::size_t slot_bytes)
      : base_(base), count_(count), slot_bytes_(slot_bytes) {}

  std::uint8_t* base_;
  std::uint32_t count_;
  std::size_t slot_bytes_;
};

// The file for `slots` slots of `slot_bytes` bytes, which is rounded up to whole pages; sealed.
[[nodiscard]] engine::core::StatusOr<Descriptor> MakeSharedMemory(std::uint32_t slots,
                                                                  std::size_t& slot_bytes);

struct SocketPair {
  Descriptor sender;
  Descriptor receiver;
};
[[nodiscard]] engine::core::StatusOr<SocketPair> MakeSocketPair();

[[nodiscard]] engine::core::Status SendPacket(const Descriptor& socket, const Packet& packet);
// The next packet; none when the other side has closed.
[[nodiscard]] engine::core::StatusOr<std::optional<Packet>> ReceivePacket(const Descriptor& socket);

// Nanoseconds of a clock that all processes of the machine share.
[[nodiscard]] std::uint64_t NowNs();

}  // namespace tensor_channel

#endif  // ENGINE_EXAMPLES_TENSOR_CHANNEL_CHANNEL_H_
