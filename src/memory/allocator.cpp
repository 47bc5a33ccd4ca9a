#include "memory/allocator.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "core/check.h"
#include "core/checked_math.h"

namespace engine::memory {
namespace {

void CheckAlignment(std::size_t alignment) {
  ENGINE_CHECK(std::has_single_bit(alignment), "Allocate: alignment {} is not a power of two",
               alignment);
}

void FreeHostMemory(void* data) { std::free(data); }

// bytes + extra, or nullopt when a pointer difference cannot express it: refused before the heap is
// asked, which adds the two itself.
std::optional<std::size_t> PaddedSize(std::size_t bytes, std::size_t extra) {
  const std::optional<std::size_t> padded = core::CheckedAdd(bytes, extra);
  if (!padded.has_value() || *padded > static_cast<std::size_t>(PTRDIFF_MAX)) return std::nullopt;
  return padded;
}

}  // namespace

core::StatusOr<Buffer> Allocator::AllocateZeroed(std::size_t bytes, std::size_t alignment) {
  ENGINE_CHECK(device().is_cpu(), "AllocateZeroed: the allocator for {} has to override it",
               device());
  ENGINE_ASSIGN_OR_RETURN(Buffer buffer, Allocate(bytes, alignment));
  // Callers check what an allocator returned, but the zeros are written before they can.
  ENGINE_CHECK(buffer.size_bytes() >= bytes, "AllocateZeroed: Allocate returned {} bytes for {}",
               buffer.size_bytes(), bytes);
  ENGINE_CHECK(buffer.device().is_cpu(), "AllocateZeroed: Allocate returned a buffer on {}",
               buffer.device());
  if (bytes > 0) std::memset(buffer.data(), 0, bytes);
  return buffer;
}

CpuAllocator::CpuAllocator(std::size_t default_alignment) : default_alignment_(default_alignment) {
  CheckAlignment(default_alignment);
}

core::StatusOr<Buffer> CpuAllocator::Allocate(std::size_t bytes, std::size_t alignment) {
  CheckAlignment(alignment);
  if (bytes == 0) return Buffer(nullptr, 0, device(), FreeHostMemory);
  if (!PaddedSize(bytes, alignment).has_value()) {
    return core::OutOfMemoryError("{} bytes aligned to {}", bytes, alignment);
  }
  void* data = nullptr;
  // posix_memalign refuses alignments below a pointer's size; a wider one satisfies them too.
  const int error = posix_memalign(&data, std::max(alignment, sizeof(void*)), bytes);
  if (error != 0 || data == nullptr) {
    return core::OutOfMemoryError("{} bytes aligned to {}", bytes, alignment);
  }
  return Buffer(data, bytes, device(), FreeHostMemory);
}

core::StatusOr<Buffer> CpuAllocator::AllocateZeroed(std::size_t bytes, std::size_t alignment) {
  CheckAlignment(alignment);
  if (bytes == 0) return Buffer(nullptr, 0, device(), FreeHostMemory);
  // There is no aligned calloc: take enough to move on to the next aligned address, from any. Heaps
  // other than glibc's align blocks of a few bytes to less than alignof(std::max_align_t).
  const std::optional<std::size_t> padded = PaddedSize(bytes, alignment - 1);
  void* const block = padded.has_value() ? std::calloc(1, *padded) : nullptr;
  if (block == nullptr) return core::OutOfMemoryError("{} bytes aligned to {}", bytes, alignment);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(block) & (alignment - 1);
  void* const data =
      static_cast<std::byte*>(block) + (misaligned == 0 ? 0 : alignment - misaligned);
  return Buffer(data, bytes, device(), [block](void*) { std::free(block); });
}

core::StatusOr<Buffer> CpuAllocator::Allocate(std::size_t bytes) {
  return Allocate(bytes, default_alignment_);
}

tensor::Device CpuAllocator::device() const { return tensor::Device::Cpu(); }

Allocator* DefaultCpuAllocator() {
  // Built in place and never destroyed: usable during static destruction like a leaked heap
  // instance, but the first call cannot run out of memory.
  alignas(CpuAllocator) static std::byte storage[sizeof(CpuAllocator)];
  static CpuAllocator* const allocator = new (storage) CpuAllocator();
  return allocator;
}

}  // namespace engine::memory
