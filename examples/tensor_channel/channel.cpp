#include "channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "core/errno_status.h"

namespace tensor_channel {

namespace core = engine::core;

namespace {

// What keeps the file at its size for good: nobody can cut it off under a mapping, whose next access
// would kill the process, nor take the seals away.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// That every page of `bytes` bytes is there and will stay.
core::Status CheckSealed(const Descriptor& memory, std::size_t bytes) {
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0) return core::ErrnoError(errno, "F_GET_SEALS of the shared memory");
  if ((seals & kSeals) != kSeals) {
    return core::InvalidArgumentError("the shared memory has seals {:#x}, expected {:#x}", seals,
                                      kSeals);
  }
  struct stat file {};
  if (fstat(memory.get(), &file) != 0) return core::ErrnoError(errno, "fstat of the shared memory");
  if (static_cast<std::size_t>(file.st_size) < bytes) {
    return core::InvalidArgumentError("the shared memory has {} bytes, expected {}", file.st_size,
                                      bytes);
  }
  return core::OkStatus();
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

SharedSlots::SharedSlots(SharedSlots&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      count_(other.count_),
      slot_bytes_(other.slot_bytes_) {}

SharedSlots::~SharedSlots() {
  if (base_ != nullptr) munmap(base_, count_ * slot_bytes_);
}

core::StatusOr<SharedSlots> SharedSlots::Map(const Descriptor& memory, std::uint32_t slots,
                                             std::size_t slot_bytes, bool writable) {
  ENGINE_RETURN_IF_ERROR(CheckSealed(memory, slots * slot_bytes));
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const base =
      mmap(nullptr, slots * slot_bytes, protection, MAP_SHARED | MAP_POPULATE, memory.get(), 0);
  if (base == MAP_FAILED) return core::ErrnoError(errno, "mmap of the shared memory");
  return SharedSlots(static_cast<std::uint8_t*>(base), slots, slot_bytes);
}

core::StatusOr<Descriptor> MakeSharedMemory(std::uint32_t slots, std::size_t& slot_bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  slot_bytes = (slot_bytes + page - 1) / page * page;
  Descriptor memory(memfd_create("tensor_channel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) return core::ErrnoError(errno, "memfd_create");
  if (ftruncate(memory.get(), static_cast<off_t>(slots * slot_bytes)) != 0) {
    return core::ErrnoError(errno, "ftruncate of the shared memory");
  }
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return core::ErrnoError(errno, "F_ADD_SEALS of the shared memory");
  }
  return memory;
}

core::StatusOr<SocketPair> MakeSocketPair() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return core::ErrnoError(errno, "socketpair");
  }
  return SocketPair{Descriptor(ends[0]), Descriptor(ends[1])};
}

core::Status SendPacket(const Descriptor& socket, const Packet& packet) {
  for (;;) {
    // No SIGPIPE: that the other process has gone is an error like others.
    if (send(socket.get(), &packet, sizeof(packet), MSG_NOSIGNAL) == sizeof(packet)) {
      return core::OkStatus();
    }
    if (errno != EINTR) return core::ErrnoError(errno, "send");
  }
}

core::StatusOr<std::optional<Packet>> ReceivePacket(const Descriptor& socket) {
  for (;;) {
    Packet packet;
    const ssize_t received = recv(socket.get(), &packet, sizeof(packet), 0);
    if (received == sizeof(packet)) return std::optional<Packet>(packet);
    if (received == 0) return std::optional<Packet>();
    if (received > 0) return core::InvalidArgumentError("a packet of {} bytes", received);
    // Whoever closes with packets unread resets the connection.
    if (errno == ECONNRESET) return std::optional<Packet>();
    if (errno != EINTR) return core::ErrnoError(errno, "recv");
  }
}

std::uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace tensor_channel
