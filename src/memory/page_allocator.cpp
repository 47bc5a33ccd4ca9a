#include "memory/page_allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "core/check.h"
#include "core/checked_math.h"

namespace engine::memory {
namespace {

// Of x86-64, and of aarch64 with pages of 4 KiB. Larger ones are used where the alignment suits.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

std::size_t PageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// The least multiple of a power of two, or nullopt.
std::optional<std::size_t> RoundUp(std::size_t bytes, std::size_t multiple) {
  const std::optional<std::size_t> padded = core::CheckedAdd(bytes, multiple - 1);
  if (!padded.has_value()) return std::nullopt;
  return *padded & ~(multiple - 1);
}

// Whole pages of a mapping that begins at a multiple of `alignment`; null when there is no room.
std::byte* MapAligned(std::size_t mapping_bytes, std::size_t alignment) {
  // Addresses come at multiples of a page; what is before and behind the multiple is given back.
  const std::size_t spare = alignment > PageBytes() ? alignment - PageBytes() : 0;
  const std::optional<std::size_t> asked = core::CheckedAdd(mapping_bytes, spare);
  if (!asked.has_value() || *asked > static_cast<std::size_t>(PTRDIFF_MAX)) return nullptr;
  void* const mapping =
      mmap(nullptr, *asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapping);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(mapping) & (alignment - 1);
  const std::size_t behind = spare - std::min(before, spare);
  if (before > 0) munmap(first, before);
  if (behind > 0) munmap(first + before + mapping_bytes, behind);
  return first + before;
}

}  // namespace

core::StatusOr<Buffer> PageAllocator::Allocate(std::size_t bytes, std::size_t alignment) {
  ENGINE_CHECK(std::has_single_bit(alignment), "Allocate: alignment {} is not a power of two",
               alignment);
  if (bytes == 0) return Buffer(nullptr, 0, device(), [](void*) {});
  const bool huge = options_.huge_pages && bytes >= kHugePageBytes;
  const std::size_t unit = huge ? kHugePageBytes : PageBytes();
  const std::optional<std::size_t> rounded = RoundUp(bytes, unit);
  const std::size_t mapping_bytes = rounded.value_or(0);
  std::byte* const data =
      rounded.has_value() ? MapAligned(mapping_bytes, std::max(alignment, unit)) : nullptr;
  if (data == nullptr) return core::OutOfMemoryError("{} bytes aligned to {}", bytes, alignment);
  if (huge) static_cast<void>(madvise(data, mapping_bytes, MADV_HUGEPAGE));  // advice
  if (options_.touch_now) {
    // Reads would leave every page the kernel's one page of zeros.
    for (std::size_t i = 0; i < mapping_bytes; i += PageBytes()) {
      *static_cast<volatile std::byte*>(data + i) = std::byte{0};
    }
  }
  // Small enough for std::function to hold without the heap.
  return Buffer(data, bytes, device(),
                [mapping_bytes](void* mapped) { munmap(mapped, mapping_bytes); });
}

core::StatusOr<Buffer> PageAllocator::AllocateZeroed(std::size_t bytes, std::size_t alignment) {
  return Allocate(bytes, alignment);
}

tensor::Device PageAllocator::device() const { return tensor::Device::Cpu(); }

}  // namespace engine::memory
