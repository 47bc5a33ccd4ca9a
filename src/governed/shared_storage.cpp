#include "governed/shared_storage.h"

#include <new>

#include "core/check.h"

namespace engine::governed::internal {

core::StatusOr<SharedStorage> SharedStorage::Adopt(memory::Buffer&& buffer) {
  auto* const block = new (std::nothrow) Block(std::move(buffer));
  if (block == nullptr) return core::OutOfMemoryError("the count of sharers");
  return SharedStorage(block);
}

core::StatusOr<std::shared_ptr<memory::Buffer>> SharedStorage::Lend() const {
  ENGINE_CHECK(defined());
  Block* const block = block_;
  block->sharers.fetch_add(1, std::memory_order_relaxed);
  // Its deleter gives the share back, also when ShareBuffer fails. A captured pointer fits
  // std::function's own space; a captured SharedStorage would need the heap, which may throw.
  memory::Buffer buffer(
      data(), size_bytes(), block->buffer.device(), [block](void*) { Release(block); },
      /*read_only=*/true);
  return memory::ShareBuffer(std::move(buffer));
}

}  // namespace engine::governed::internal
