#include "memory/pmr_allocator.h"

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/check.h"
#include "core/no_throw.h"

namespace engine::memory {
namespace {

// Gives memory back. Size and alignment share a word, so that std::function holds the closure
// without the heap: once the resource has served a request, nothing can fail.
class GiveBack {
 public:
  // Sizes from here on are refused: six bits of the word hold the alignment's exponent.
  static constexpr std::size_t kMaxBytes = (std::size_t{1} << 58) - 1;

  GiveBack(std::pmr::memory_resource* resource, std::size_t bytes, std::size_t alignment)
      : resource_(resource),
        packed_(bytes << 6 | static_cast<std::size_t>(std::countr_zero(alignment))) {}
  void operator()(void* data) const {
    if (data != nullptr)
      resource_->deallocate(data, packed_ >> 6, std::size_t{1} << (packed_ & 63));
  }

 private:
  std::pmr::memory_resource* resource_;
  std::size_t packed_;
};
static_assert(sizeof(GiveBack) <= 2 * sizeof(void*) && std::is_trivially_copyable_v<GiveBack>);

}  // namespace

PmrAllocator::PmrAllocator(std::pmr::memory_resource* resource) : resource_(resource) {
  ENGINE_CHECK(resource != nullptr, "PmrAllocator: the resource is null");
}

core::StatusOr<Buffer> PmrAllocator::Allocate(std::size_t bytes, std::size_t alignment) {
  ENGINE_CHECK(std::has_single_bit(alignment), "Allocate: alignment {} is not a power of two",
               alignment);
  const GiveBack give_back(resource_, bytes, alignment);
  if (bytes == 0) return Buffer(nullptr, 0, device(), give_back);
  // Some resources add the two unchecked.
  if (bytes > GiveBack::kMaxBytes || alignment > GiveBack::kMaxBytes) {
    return core::OutOfMemoryError("{} bytes aligned to {}", bytes, alignment);
  }
  return core::WithoutBadAlloc([&]() -> core::StatusOr<Buffer> {
    return Buffer(resource_->allocate(bytes, alignment), bytes, device(), give_back);
  });
}

tensor::Device PmrAllocator::device() const { return tensor::Device::Cpu(); }

}  // namespace engine::memory
