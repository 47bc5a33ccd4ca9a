#include "testing/redzone_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <new>
#include <optional>

#include "core/check.h"
#include "core/checked_math.h"

// Present when the program, not necessarily this file, was built with AddressSanitizer.
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizer's names
extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* begin, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace engine::testing {
namespace {

using Byte = unsigned char;

void Poison(const Byte* begin, const Byte* end) {
  if (__asan_poison_memory_region != nullptr) {
    __asan_poison_memory_region(begin, static_cast<std::size_t>(end - begin));
  }
}

void Unpoison(const Byte* begin, const Byte* end) {
  if (__asan_unpoison_memory_region != nullptr) {
    __asan_unpoison_memory_region(begin, static_cast<std::size_t>(end - begin));
  }
}

// The first byte that lost the pattern; `end` when none did.
const Byte* FirstChanged(const Byte* begin, const Byte* end, Byte pattern) {
  return std::find_if(begin, end, [pattern](Byte byte) { return byte != pattern; });
}

// The start of one piece of memory: the block, a margin, the data, and a margin up to `end`.
struct Block {
  Block* previous;
  Block* next;
  std::int64_t number;
  std::size_t bytes;
  Byte* data;
  Byte* end;

  [[nodiscard]] Byte* margin() { return reinterpret_cast<Byte*>(this + 1); }
  [[nodiscard]] Byte* data_end() { return data + bytes; }
  [[nodiscard]] std::size_t total_bytes() {
    return static_cast<std::size_t>(end - reinterpret_cast<Byte*>(this));
  }

  void PoisonMargins() {
    Poison(margin(), data);
    Poison(data_end(), end);
  }
  void UnpoisonMargins() {
    Unpoison(margin(), data);
    Unpoison(data_end(), end);
  }

  // Margins must not be poisoned.
  void CheckMargins() {
    const Byte* const behind = FirstChanged(data_end(), end, RedzoneAllocator::kMargin);
    ENGINE_CHECK(behind == end,
                 "RedzoneAllocator: byte {} past the end of buffer #{} ({} bytes) was overwritten "
                 "with {:#04x}",
                 behind - data_end(), number, bytes, *behind);
    // From the data outwards: the nearest byte tells most.
    const Byte* before = data;
    while (before != margin() && before[-1] == RedzoneAllocator::kMargin) --before;
    ENGINE_CHECK(before == margin(),
                 "RedzoneAllocator: byte {} before buffer #{} ({} bytes) was overwritten with "
                 "{:#04x}",
                 data - before + 1, number, bytes, before[-1]);
  }
};

// Blocks in the order of their arrival. The links are in the blocks, so that nothing can fail.
struct BlockList {
  Block* first = nullptr;
  Block* last = nullptr;

  void Append(Block* block) {
    block->previous = last;
    block->next = nullptr;
    (last != nullptr ? last->next : first) = block;
    last = block;
  }
  void Remove(Block* block) {
    (block->previous != nullptr ? block->previous->next : first) = block->next;
    (block->next != nullptr ? block->next->previous : last) = block->previous;
  }
};

}  // namespace

class RedzoneAllocator::Pool {
 public:
  explicit Pool(const RedzoneOptions& options) : options_(options) {}

  // Null when there is no memory.
  Block* Take(std::size_t bytes, std::size_t alignment);
  // Each user, the allocator and every live block, leaves once; the last one destroys the pool.
  void Give(Block* block);
  void Leave();

  void CheckIntact();
  std::int64_t live_buffers() {
    const std::scoped_lock lock(mutex_);
    return live_count_;
  }

 private:
  void CheckFreed(Block* block);
  void DropOldest();

  const RedzoneOptions options_;
  std::mutex mutex_;
  BlockList live_;
  BlockList quarantine_;
  std::size_t quarantine_bytes_ = 0;
  std::int64_t live_count_ = 0;
  std::int64_t allocations_ = 0;
  bool has_allocator_ = true;
};

Block* RedzoneAllocator::Pool::Take(std::size_t bytes, std::size_t alignment) {
  // Up to three alignments are skipped to reach an address that is aligned no better than asked.
  std::optional<std::size_t> total = core::CheckedMul(alignment, std::size_t{3});
  for (const std::size_t part :
       {sizeof(Block), options_.margin_bytes, bytes, options_.margin_bytes}) {
    if (total.has_value()) total = core::CheckedAdd(*total, part);
  }
  if (!total.has_value() || *total > static_cast<std::size_t>(PTRDIFF_MAX)) return nullptr;
  auto* const memory = static_cast<Byte*>(std::malloc(*total));
  if (memory == nullptr) return nullptr;
  auto* const block = new (memory) Block{};
  const auto earliest = reinterpret_cast<std::uintptr_t>(block->margin()) + options_.margin_bytes;
  const std::uintptr_t coarse = 2 * alignment;
  const std::uintptr_t address = (earliest + coarse - 1) / coarse * coarse + alignment;
  block->bytes = bytes;
  block->data = memory + (address - reinterpret_cast<std::uintptr_t>(memory));
  block->end = memory + *total;
  std::memset(block->margin(), kMargin, static_cast<std::size_t>(block->end - block->margin()));
  std::memset(block->data, kFresh, bytes);
  block->PoisonMargins();
  const std::scoped_lock lock(mutex_);
  block->number = ++allocations_;
  ++live_count_;
  live_.Append(block);
  return block;
}

void RedzoneAllocator::Pool::Give(Block* block) {
  {
    const std::scoped_lock lock(mutex_);
    block->UnpoisonMargins();
    block->CheckMargins();
    std::memset(block->data, kFreed, block->bytes);
    Poison(block->margin(), block->end);
    live_.Remove(block);
    quarantine_.Append(block);
    quarantine_bytes_ += block->total_bytes();
    while (quarantine_bytes_ > options_.quarantine_bytes) DropOldest();
    --live_count_;
    if (has_allocator_ || live_count_ > 0) return;
  }
  while (quarantine_.first != nullptr) DropOldest();
  delete this;
}

void RedzoneAllocator::Pool::Leave() {
  {
    const std::scoped_lock lock(mutex_);
    while (quarantine_.first != nullptr) DropOldest();
    has_allocator_ = false;
    if (live_count_ > 0) return;
  }
  delete this;
}

void RedzoneAllocator::Pool::CheckFreed(Block* block) {
  Unpoison(block->margin(), block->end);
  const Byte* const changed = FirstChanged(block->data, block->data_end(), kFreed);
  ENGINE_CHECK(changed == block->data_end(),
               "RedzoneAllocator: byte {} of buffer #{} ({} bytes) was overwritten with {:#04x} "
               "after it had been freed",
               changed - block->data, block->number, block->bytes, *changed);
  block->CheckMargins();
}

void RedzoneAllocator::Pool::DropOldest() {
  Block* const block = quarantine_.first;
  CheckFreed(block);
  quarantine_.Remove(block);
  quarantine_bytes_ -= block->total_bytes();
  std::free(block);
}

void RedzoneAllocator::Pool::CheckIntact() {
  const std::scoped_lock lock(mutex_);
  for (Block* block = live_.first; block != nullptr; block = block->next) {
    block->UnpoisonMargins();
    block->CheckMargins();
    block->PoisonMargins();
  }
  for (Block* block = quarantine_.first; block != nullptr; block = block->next) {
    CheckFreed(block);
    Poison(block->margin(), block->end);
  }
}

RedzoneAllocator::RedzoneAllocator(const RedzoneOptions& options)
    : pool_(new (std::nothrow) Pool(options)) {
  ENGINE_CHECK(pool_ != nullptr, "RedzoneAllocator: no memory for its books");
}

RedzoneAllocator::~RedzoneAllocator() { pool_->Leave(); }

core::StatusOr<memory::Buffer> RedzoneAllocator::Allocate(std::size_t bytes,
                                                          std::size_t alignment) {
  ENGINE_CHECK(std::has_single_bit(alignment), "Allocate: alignment {} is not a power of two",
               alignment);
  Block* const block = pool_->Take(bytes, alignment);
  if (block == nullptr) return core::OutOfMemoryError("{} bytes aligned to {}", bytes, alignment);
  // Two pointers: what a std::function holds without asking the heap.
  return memory::Buffer(bytes == 0 ? nullptr : block->data, bytes, device(),
                        [pool = pool_, block](void*) { pool->Give(block); });
}

tensor::Device RedzoneAllocator::device() const { return tensor::Device::Cpu(); }

void RedzoneAllocator::CheckIntact() const { pool_->CheckIntact(); }

std::int64_t RedzoneAllocator::live_buffers() const { return pool_->live_buffers(); }

}  // namespace engine::testing
