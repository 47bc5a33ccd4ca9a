// testing/heap.h: counts global operator new and makes chosen calls fail.
// Test support; a binary that links engine_testing_heap has its operator new replaced.
#ifndef ENGINE_TESTING_HEAP_H_
#define ENGINE_TESTING_HEAP_H_

#include <cstdint>

namespace engine::testing {

// How often any form of operator new has been called on this thread.
[[nodiscard]] std::int64_t HeapAllocationsOnThisThread();

// While it lives, calls of operator new on this thread fail after the first `successes` ones: the
// throwing forms throw std::bad_alloc (abort where exceptions are disabled), the nothrow forms
// return null. Not nestable. malloc, and with it CpuAllocator, is not affected.
class ScopedHeapFailure {
 public:
  explicit ScopedHeapFailure(std::int64_t successes = 0);
  ~ScopedHeapFailure();
  ScopedHeapFailure(const ScopedHeapFailure&) = delete;
  ScopedHeapFailure& operator=(const ScopedHeapFailure&) = delete;

  // Whether any call has failed yet.
  [[nodiscard]] bool triggered() const;
};

// Measures, while it lives, the most bytes this thread held at one time through operator new beyond
// those it held before, the heap's own rounding included. For memory that is freed on the thread
// that took it; one meter at a time.
class ScopedHeapMeter {
 public:
  ScopedHeapMeter();
  ScopedHeapMeter(const ScopedHeapMeter&) = delete;
  ScopedHeapMeter& operator=(const ScopedHeapMeter&) = delete;

  [[nodiscard]] std::int64_t peak_bytes() const;
  // What is held now.
  [[nodiscard]] std::int64_t live_bytes() const;

 private:
  std::int64_t base_bytes_;
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_HEAP_H_
