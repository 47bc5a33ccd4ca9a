// Compiled with ENGINE_FILL_UNINITIALIZED_SNAN as 0 or 1 (see cmake/EngineOptions.cmake).
#include "tensor/internal/uninitialized.h"

#if ENGINE_FILL_UNINITIALIZED_SNAN

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "strided/convert.h"
#include "strided/dtype_visit.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define ENGINE_HAS_MEMCHECK 1
#endif
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define ENGINE_HAS_MSAN 1
#endif
#endif

namespace engine::tensor::internal {
namespace {

// Eight bytes of signalling NaNs; 0 for a dtype that has none. All by integers: a floating register
// may quiet the pattern.
std::uint64_t SignallingPattern(DataType dtype) {
  return strided::VisitDType(
      dtype,
      []<typename T>(strided::TypeTag<T>) -> std::uint64_t {
        if constexpr (std::is_same_v<T, double>) {
          return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::signaling_NaN());
        } else if constexpr (std::is_same_v<T, float>) {
          constexpr auto kBits =
              std::bit_cast<std::uint32_t>(std::numeric_limits<float>::signaling_NaN());
          return std::uint64_t{kBits} * 0x0000000100000001u;
        } else if constexpr (strided::kIsHalf<T>) {
          constexpr auto kBits =
              std::bit_cast<std::uint16_t>(std::numeric_limits<T>::signaling_NaN());
          return std::uint64_t{kBits} * 0x0001000100010001u;
        } else {
          return 0;
        }
      },
      [](DataType) -> std::uint64_t { return 0; });
}

}  // namespace

void MarkUninitialized(void* data, std::size_t size_bytes, DataType dtype) {
  if (size_bytes == 0) return;
  if (const std::uint64_t pattern = SignallingPattern(dtype); pattern != 0) {
    auto* const bytes = static_cast<std::byte*>(data);
    for (std::size_t i = 0; i < size_bytes; i += sizeof(pattern)) {
      std::memcpy(bytes + i, &pattern, std::min(sizeof(pattern), size_bytes - i));
    }
  }
#ifdef ENGINE_HAS_MEMCHECK
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(data, size_bytes));
#endif
#ifdef ENGINE_HAS_MSAN
  __msan_allocated_memory(data, size_bytes);
#endif
}

}  // namespace engine::tensor::internal

#else

namespace engine::tensor::internal {

void MarkUninitialized(void* /*data*/, std::size_t /*size_bytes*/, DataType /*dtype*/) {}

}  // namespace engine::tensor::internal

#endif
