// ENGINE_FILL_UNINITIALIZED_SNAN: what storage without values reads as. ENGINE_TEST_SNAN_FILL says
// how the code under test was compiled; three executables cover the configured way, on and off.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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

}  // namespace
}  // namespace engine::tensor
