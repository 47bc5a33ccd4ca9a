// Element types, layouts and values for the suites of src/dense.
#ifndef ENGINE_TESTS_DENSE_DENSE_TEST_UTIL_H_
#define ENGINE_TESTS_DENSE_DENSE_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/status.h"
#include "dense/dense_tensor.h"
#include "dense/dense_view.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"

namespace engine::dense {

using ElementTypes = ::testing::Types<float, double, tensor::float16, tensor::bfloat16, std::int8_t,
                                      std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                                      std::uint32_t, std::int64_t, std::uint64_t, bool>;

inline constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
inline constexpr std::int64_t kOne = 1;
inline constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

// The value of an expected result.
template <typename T>
[[nodiscard]] T Value(core::StatusOr<T> result) {
  ENGINE_CHECK(result.ok(), "{}", result.status().ToString());
  return *std::move(result);
}

// Bit patterns, since NaN equals nothing and -0 equals 0.
template <typename T>
[[nodiscard]] std::uint64_t BitsOf(const T& value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// `count` elements from `data` on, in memory order.
template <typename T>
[[nodiscard]] std::vector<T> InMemory(const T* data, std::int64_t count) {
  return count == 0 ? std::vector<T>() : std::vector<T>(data, data + count);
}

// Every byte of memory is the poison of CountingAllocator.
[[nodiscard]] inline bool IsPoison(const void* data, std::size_t bytes) {
  const auto* const begin = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (begin[i] != testing::CountingAllocator::kPoison) return false;
  }
  return true;
}

// The matrix whose element (i, j) is 10 * i + j.
template <typename T = std::int32_t, DenseLayout Layout = RowMajor>
[[nodiscard]] DenseMatrix<T, Layout> Coordinates(std::int64_t rows, std::int64_t columns) {
  DenseMatrix<T, Layout> matrix(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) matrix(i, j) = static_cast<T>(10 * i + j);
  }
  return matrix;
}

// 0, 1, 2, ... in memory order.
template <typename T, std::size_t Rank, CanonicalLayout Layout = RowMajor>
[[nodiscard]] DenseTensor<T, Rank, Layout> Counting(const Extents<Rank>& extents) {
  DenseTensor<T, Rank, Layout> tensor(extents);
  int next = 0;
  for (T& element : tensor) element = static_cast<T>(next++);
  return tensor;
}

}  // namespace engine::dense

#endif  // ENGINE_TESTS_DENSE_DENSE_TEST_UTIL_H_
