// ENGINE_FILL_UNINITIALIZED_SNAN: what storage without values reads as. ENGINE_TEST_SNAN_FILL says
// how the code under test was compiled; three executables cover the configured way, on and off.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define ENGINE_TEST_HAS_MEMCHECK 1
#endif

#include "tensor/internal/uninitialized.h"
#include "tensor/tensor.h"
#include "testing/allocators.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

using testing::BitsOf;
using testing::CountingAllocator;

// IEEE 754: exponent all ones, quiet bit clear, payload not zero; 0 for dtypes without NaN.
std::uint64_t SignallingBits(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32:
      return 0x7FA00000u;
    case DataType::kFloat16:
      return 0x7D00u;
    case DataType::kBFloat16:
      return 0x7FA0u;
    case DataType::kFloat64:
      return 0x7FF4000000000000u;
    default:
      return 0;
  }
}

std::uint64_t PoisonBits(DataType dtype) {
  std::uint64_t bits = 0;
  for (int i = 0; i < itemsize(dtype); ++i) bits = bits << 8 | CountingAllocator::kPoison;
  return bits;
}

// Counts around the eight bytes that are written at a time.
TEST(UninitializedTest, EmptyOfEveryDtypeAndCount) {
  for (const DataType dtype : kAllDataTypes) {
    if (is_reserved(dtype)) continue;
    const bool filled = ENGINE_TEST_SNAN_FILL && SignallingBits(dtype) != 0;
    const std::uint64_t expected = filled ? SignallingBits(dtype) : PoisonBits(dtype);
    for (std::int64_t count = 0; count <= 19; ++count) {
      CountingAllocator allocator;
      const auto tensor = Tensor::empty({count}, dtype, Device::Cpu(), &allocator);
      ASSERT_TRUE(tensor.ok());
      EXPECT_EQ(BitsOf(*tensor),
                std::vector<std::uint64_t>(static_cast<std::size_t>(count), expected))
          << to_string(dtype) << " " << count;
    }
  }
}

// Only the bytes given are written.
TEST(UninitializedTest, StaysWithinItsBytes) {
  for (const DataType dtype : {DataType::kFloat16, DataType::kFloat32, DataType::kFloat64}) {
    std::vector<unsigned char> bytes(40, 0x11);
    internal::MarkUninitialized(bytes.data() + 8, 24, dtype);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(bytes[i], 0x11);
      EXPECT_EQ(bytes[32 + i], 0x11);
    }
    EXPECT_EQ(bytes[8] != 0x11 || bytes[15] != 0x11, ENGINE_TEST_SNAN_FILL != 0);
  }
  internal::MarkUninitialized(nullptr, 0, DataType::kFloat32);
}

// Filled bytes have a value as far as the machine is concerned; valgrind is told that they have none.
// Runs under valgrind by the ctest entry of that name.
TEST(UninitializedTest, ValgrindKnowsThatThereIsNoValue) {
#if ENGINE_TEST_HAS_MEMCHECK
  if (RUNNING_ON_VALGRIND == 0) GTEST_SKIP() << "not under valgrind";
  // One that has just been written, so that it is not the heap that valgrind knows about.
  std::vector<unsigned char> bytes(32, 0);
  internal::MarkUninitialized(bytes.data() + 8, 16, DataType::kInt32);
  std::vector<unsigned char> undefined(32);  // a set bit for each bit without a value
  ASSERT_EQ(VALGRIND_GET_VBITS(bytes.data(), undefined.data(), 32), 1u);
  for (std::size_t i = 0; i < 32; ++i) {
    const bool marked = ENGINE_TEST_SNAN_FILL && i >= 8 && i < 24;
    EXPECT_EQ(undefined[i], marked ? 0xFF : 0) << i;
  }
#else
  GTEST_SKIP() << "built without valgrind's header";
#endif
}

}  // namespace
}  // namespace engine::tensor
