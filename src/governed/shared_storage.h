// governed/shared_storage.h: elements together with the number of those who can read them.
// Layer 4. The part of governed tensors on which freedom from races rests.
// Source: docs/design/governed.md, "Races".
#ifndef ENGINE_GOVERNED_SHARED_STORAGE_H_
#define ENGINE_GOVERNED_SHARED_STORAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/status.h"
#include "memory/buffer.h"

namespace engine::governed::internal {

// A counted reference to one Buffer. Its memory may be written only through a reference for which
// IsExclusive() has just been true; see Note [Exclusivity].
//
// Note [Exclusivity]
// ~~~~~~~~~~~~~~~~~~
// `sharers` counts references. Every decrement releases and the load that decides to write
// acquires. When that load gives 1, every other reference has ended: what it read is the last
// decrement or a modification after it. Read-modify-writes continue release sequences, so it
// synchronises with every decrement. All that the former sharers did to the memory, their reads
// above all, thus happened before the write. Nobody can join meanwhile: new references come from
// existing ones, and the only one left is busy here. With a relaxed load or decrement nothing
// orders a sharer's last read before the write: it may return the value written after it let go.
// (So may a read guarded by shared_ptr::use_count(), which is relaxed.) Increments need no order:
// whoever makes one holds a reference already, and hands the new one on by means that synchronise.
//
// Always atomic, even while the process has one thread: what libstdc++ saves there is not worth a
// second protocol (figures in the design document). No fences, which ThreadSanitizer does not see.
//
// Thread safety: as shared_ptr. Distinct references may be used concurrently; one reference only
// through const functions.
class SharedStorage {
 public:
  SharedStorage() = default;  // refers to nothing
  SharedStorage(const SharedStorage& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->sharers.fetch_add(1, std::memory_order_relaxed);
  }
  SharedStorage(SharedStorage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  // Takes the new reference before it drops the old one.
  SharedStorage& operator=(SharedStorage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedStorage() {
    if (block_ != nullptr) Release(block_);
  }

  // Takes over `buffer`, which is left alone on an error. Memory that is read-only belongs to a
  // lender: that counts as one more sharer for as long as it lives, so that it is never written.
  //   Errors   kOutOfMemory: the count could not be allocated.
  [[nodiscard]] static core::StatusOr<SharedStorage> Adopt(memory::Buffer&& buffer);

  // A read-only Buffer over the same memory, which counts as a sharer until it dies.
  //   Errors   kOutOfMemory: its control block could not be allocated.
  //   CHECKs   refers to something.
  [[nodiscard]] core::StatusOr<std::shared_ptr<memory::Buffer>> Lend() const;

  [[nodiscard]] bool defined() const { return block_ != nullptr; }
  // 0 for a reference to nothing. Exact when no other reference changes meanwhile.
  [[nodiscard]] std::int64_t count() const {
    if (block_ == nullptr) return 0;
    return block_->sharers.load(std::memory_order_acquire) +
           (block_->buffer.is_read_only() ? 1 : 0);
  }
  // True when this is the only reference: what was done to the memory through others happened
  // before, and it may be written.
  [[nodiscard]] bool IsExclusive() const { return count() == 1; }

  // These require defined().
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(block_->buffer.data()); }
  [[nodiscard]] std::size_t size_bytes() const { return block_->buffer.size_bytes(); }

 private:
  struct Block {
    explicit Block(memory::Buffer&& from) noexcept : buffer(std::move(from)) {}

    std::atomic<std::int64_t> sharers{1};
    memory::Buffer buffer;
  };

  explicit SharedStorage(Block* block) : block_(block) {}

  static void Release(Block* block) noexcept {
    // Releases what was done through this reference; who brings the count to 0 acquires it all
    // before freeing.
    if (block->sharers.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block;
  }

  Block* block_ = nullptr;
};

}  // namespace engine::governed::internal

#endif  // ENGINE_GOVERNED_SHARED_STORAGE_H_
