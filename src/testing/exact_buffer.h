// testing/exact_buffer.h: bytes in an allocation of their own, for readers of hostile input.
#ifndef ENGINE_TESTING_EXACT_BUFFER_H_
#define ENGINE_TESTING_EXACT_BUFFER_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "memory/buffer.h"
#include "tensor/device.h"

namespace engine::testing {

// A copy in an allocation of exactly these bytes (none for an empty span), so that a sanitizer sees
// its end.
inline std::shared_ptr<memory::Buffer> ExactBufferOf(std::span<const std::uint8_t> bytes) {
  auto* const data = bytes.empty() ? nullptr : new std::uint8_t[bytes.size()];
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  return std::make_shared<memory::Buffer>(
      data, bytes.size(), tensor::Device::Cpu(),
      [](void* pointer) { delete[] static_cast<std::uint8_t*>(pointer); });
}

}  // namespace engine::testing

#endif  // ENGINE_TESTING_EXACT_BUFFER_H_
