#include "memory/allocator.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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

}  // namespace

CpuAllocator::CpuAllocator(std::size_t default_alignment) : default_alignment_(default_alignment) {
  CheckAlignment(default_alignment);
}

core::StatusOr<Buffer> CpuAllocator::Allocate(std::size_t bytes, std::size_t alignment) {
  CheckAlignment(alignment);
  if (bytes == 0) return Buffer(nullptr, 0, device(), FreeHostMemory);
  // posix_memalign adds the two itself; refuse what would wrap, or exceed what a pointer difference
  // can express, before it is asked.
  const std::optional<std::size_t> padded = core::CheckedAdd(bytes, alignment);
  if (!padded.has_value() || *padded > static_cast<std::size_t>(PTRDIFF_MAX)) {
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
