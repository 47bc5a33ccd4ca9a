// memory/page_allocator.h: large Buffers as mappings of their own, on huge pages where there are any.
// Layer 2.
//
//   memory::PageAllocator weights({.huge_pages = true});
//   ENGINE_ASSIGN_OR_RETURN(Tensor t, Tensor::empty({n, n}, kFloat32, Device::Cpu(), &weights));
//
// Opt-in: whether it pays depends on the machine (benchmarks/memory measures; docs/design/memory.md
// has figures).
#ifndef ENGINE_MEMORY_PAGE_ALLOCATOR_H_
#define ENGINE_MEMORY_PAGE_ALLOCATOR_H_

#include <cstddef>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/device.h"

namespace engine::memory {

// Each Buffer is an anonymous private mapping of whole pages, zeroed by the kernel and given back by
// munmap(2): nothing is recycled. For tensors of megabytes; a small one wastes most of its pages.
//
// Its Buffers may outlive it. Thread safety: everything may run concurrently.
class PageAllocator final : public Allocator {
 public:
  // What is done with each mapping; nothing special unless asked for.
  struct Options {
    // Asks for transparent huge pages (madvise(2), MADV_HUGEPAGE) and begins at a multiple of
    // their size, 2 MiB; smaller Buffers are not affected. Advice: a kernel that has none, or none
    // free, gives ordinary pages.
    bool huge_pages = false;
    // When pages are brought in. false: by the first write to each, by whatever thread, which on a
    // machine of several memory nodes places the page beside that thread. Fresh mappings make
    // that certain; malloc may hand out pages that were placed long ago. true: here, by the
    // calling thread, so that later writes do not fault.
    bool touch_now = false;
  };

  PageAllocator() = default;
  // With these options, for every Buffer.
  explicit PageAllocator(Options options) : options_(options) {}

  // As Allocator; the memory is zero.
  [[nodiscard]] core::StatusOr<Buffer> Allocate(std::size_t bytes, std::size_t alignment) override;
  // The same: fresh pages are zero, and stay untouched unless touch_now asks for them.
  [[nodiscard]] core::StatusOr<Buffer> AllocateZeroed(std::size_t bytes,
                                                      std::size_t alignment) override;

  [[nodiscard]] tensor::Device device() const override;
  // As given to the constructor.
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace engine::memory

#endif  // ENGINE_MEMORY_PAGE_ALLOCATOR_H_
