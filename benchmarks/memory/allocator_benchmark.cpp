// What the allocators cost, and what their pages are worth: allocation with the first write to every
// page, then reads that jump about (one cache line each, a new page almost every time).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "memory/allocator.h"
#include "memory/page_allocator.h"

namespace engine::memory {
namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;

Buffer AllocateOrDie(Allocator& allocator) {
  core::StatusOr<Buffer> buffer = allocator.Allocate(kBytes, 64);
  ENGINE_CHECK(buffer.ok());
  return *std::move(buffer);
}

void BM_AllocateAndFill(benchmark::State& state, Allocator* allocator) {
  for (auto _ : state) {
    const Buffer buffer = AllocateOrDie(*allocator);
    std::memset(buffer.data(), 1, kBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
}

void BM_RandomReads(benchmark::State& state, Allocator* allocator) {
  const Buffer buffer = AllocateOrDie(*allocator);
  std::memset(buffer.data(), 1, kBytes);
  const auto* const bytes = static_cast<const unsigned char*>(buffer.data());
  std::uint64_t at = 1;
  std::uint64_t sum = 0;
  for (auto _ : state) {
    // Knuth's MMIX generator; each address depends on the value before, as a table look-up would.
    at = at * 6364136223846793005U + 1442695040888963407U + (sum & 1);
    sum += bytes[(at >> 20) % kBytes];
    benchmark::DoNotOptimize(sum);
  }
}

CpuAllocator heap;
PageAllocator pages;
PageAllocator huge_pages({.huge_pages = true});
PageAllocator huge_pages_now({.huge_pages = true, .touch_now = true});

BENCHMARK_CAPTURE(BM_AllocateAndFill, heap, &heap)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_AllocateAndFill, pages, &pages)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_AllocateAndFill, huge_pages, &huge_pages)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_AllocateAndFill, huge_pages_now, &huge_pages_now)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RandomReads, heap, &heap);
BENCHMARK_CAPTURE(BM_RandomReads, pages, &pages);
BENCHMARK_CAPTURE(BM_RandomReads, huge_pages, &huge_pages);

}  // namespace
}  // namespace engine::memory

BENCHMARK_MAIN();
