// memory/byte_sink.h: where a writer of a file format puts its bytes.
// Layer 2.
#ifndef ENGINE_MEMORY_BYTE_SINK_H_
#define ENGINE_MEMORY_BYTE_SINK_H_

#include <cstddef>
#include <cstring>

#include "core/check.h"
#include "core/status.h"

namespace engine::memory {

// Takes bytes in order, front to back. Thread safety: none of its own.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  // Appends `size_bytes` bytes; `data` may be null when there are none. After an error the sink
  // takes no more.
  //   Errors   those of what is behind the sink.
  [[nodiscard]] virtual core::Status Append(const void* data, std::size_t size_bytes) = 0;
};

// Writes into memory that the caller owns and keeps.
class MemorySink final : public ByteSink {
 public:
  // `begin` may be null when capacity_bytes is 0.
  MemorySink(void* begin, std::size_t capacity_bytes)
      : next_(static_cast<std::byte*>(begin)), left_bytes_(capacity_bytes) {}

  // Never fails.
  //   CHECKs   the bytes fit.
  [[nodiscard]] core::Status Append(const void* data, std::size_t size_bytes) override {
    ENGINE_CHECK(size_bytes <= left_bytes_, "MemorySink: {} bytes into {}", size_bytes,
                 left_bytes_);
    if (size_bytes == 0) return core::OkStatus();
    std::memcpy(next_, data, size_bytes);
    next_ += size_bytes;
    left_bytes_ -= size_bytes;
    return core::OkStatus();
  }

 private:
  std::byte* next_;
  std::size_t left_bytes_;
};

}  // namespace engine::memory

#endif  // ENGINE_MEMORY_BYTE_SINK_H_
