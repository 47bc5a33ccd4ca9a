// testing/guarded_memory.h: memory between two inaccessible pages.
// Test support; never installed.
#ifndef ENGINE_TESTING_GUARDED_MEMORY_H_
#define ENGINE_TESTING_GUARDED_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "core/check.h"

namespace engine::testing {

// At least `min_bytes` accessible bytes, a whole number of pages, with a PROT_NONE page on each
// side: any access outside faults at once. Place data so that it ends at end() to catch reads past
// it, or starts at begin() to catch reads before it.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t min_bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (min_bytes + page - 1) / page * page;
    mapping_bytes_ = bytes_ + 2 * page;
    mapping_ = mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ENGINE_CHECK(mapping_ != MAP_FAILED, "GuardedMemory: mmap of {} bytes failed", mapping_bytes_);
    begin_ = static_cast<std::byte*>(mapping_) + page;
    ENGINE_CHECK(mprotect(begin_, bytes_, PROT_READ | PROT_WRITE) == 0);
  }
  ~GuardedMemory() { munmap(mapping_, mapping_bytes_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  [[nodiscard]] std::byte* begin() const { return begin_; }
  [[nodiscard]] std::byte* end() const { return begin_ + bytes_; }
  [[nodiscard]] std::size_t size_bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_GUARDED_MEMORY_H_
