#include "testing/heap.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace engine::testing {
namespace {

constexpr std::int64_t kNeverFail = -1;

struct HeapState {
  std::int64_t allocations = 0;
  std::int64_t remaining = kNeverFail;  // successes left before failing
  bool triggered = false;
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
};

thread_local HeapState heap;

// Notes a block that the heap gave; passes null on.
void* Counted(void* data) {
  heap.live_bytes += static_cast<std::int64_t>(malloc_usable_size(data));
  heap.peak_bytes = std::max(heap.peak_bytes, heap.live_bytes);
  return data;
}

void Free(void* data) {
  heap.live_bytes -= static_cast<std::int64_t>(malloc_usable_size(data));
  std::free(data);
}

// Null when this call is to fail.
void* Allocate(std::size_t bytes, std::size_t alignment) {
  ++heap.allocations;
  if (heap.remaining == 0) {
    heap.triggered = true;
    return nullptr;
  }
  if (heap.remaining > 0) --heap.remaining;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return Counted(std::malloc(bytes));
  void* data = nullptr;
  return posix_memalign(&data, alignment, bytes) == 0 ? Counted(data) : nullptr;
}

void* AllocateOrThrow(std::size_t bytes, std::size_t alignment) {
  void* const data = Allocate(bytes, alignment);
#ifdef __cpp_exceptions
  if (data == nullptr) throw std::bad_alloc();
#else
  if (data == nullptr) std::abort();
#endif
  return data;
}

}  // namespace

std::int64_t HeapAllocationsOnThisThread() { return heap.allocations; }

ScopedHeapFailure::ScopedHeapFailure(std::int64_t successes) {
  heap.remaining = successes;
  heap.triggered = false;
}
ScopedHeapFailure::~ScopedHeapFailure() { heap.remaining = kNeverFail; }
bool ScopedHeapFailure::triggered() const { return heap.triggered; }

ScopedHeapMeter::ScopedHeapMeter() : base_bytes_(heap.live_bytes) {
  heap.peak_bytes = heap.live_bytes;
}
std::int64_t ScopedHeapMeter::peak_bytes() const { return heap.peak_bytes - base_bytes_; }
std::int64_t ScopedHeapMeter::live_bytes() const { return heap.live_bytes - base_bytes_; }

}  // namespace engine::testing

using engine::testing::Allocate;
using engine::testing::AllocateOrThrow;
using engine::testing::Free;

// Every form is replaced: one left to the runtime would pair its memory with our operator delete.
void* operator new(std::size_t bytes) { return AllocateOrThrow(bytes, 0); }
void* operator new[](std::size_t bytes) { return AllocateOrThrow(bytes, 0); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes, 0); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return AllocateOrThrow(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return AllocateOrThrow(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* data) noexcept { Free(data); }
void operator delete[](void* data) noexcept { Free(data); }
void operator delete(void* data, std::size_t) noexcept { Free(data); }
void operator delete[](void* data, std::size_t) noexcept { Free(data); }
void operator delete(void* data, std::align_val_t) noexcept { Free(data); }
void operator delete[](void* data, std::align_val_t) noexcept { Free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { Free(data); }
void operator delete[](void* data, std::size_t, std::align_val_t) noexcept { Free(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { Free(data); }
void operator delete[](void* data, const std::nothrow_t&) noexcept { Free(data); }
void operator delete(void* data, std::align_val_t, const std::nothrow_t&) noexcept { Free(data); }
void operator delete[](void* data, std::align_val_t, const std::nothrow_t&) noexcept { Free(data); }
