// Tensor::empty, from_buffer and from_strided_buffer.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.h"
#include "tensor_test_support.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::IsOk;
using ::engine::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = core::StatusCode::kUnimplemented;
constexpr std::int64_t kOne = 1;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr DataType kReserved[] = {DataType::kFP8E4M3, DataType::kInt4};

// empty: uninitialised contiguous storage at 64 bytes, or the Status that says why not.

TEST(TensorEmptyTest, EveryDtypeGetsExactlyItsBytes) {
  for (const DataType dtype : kAllDataTypes) {
    if (is_reserved(dtype)) continue;
    CountingAllocator allocator;
    const Tensor tensor = Value(Tensor::empty({3, 5}, dtype, Device::Cpu(), &allocator));
    EXPECT_TRUE(tensor.defined());
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(tensor.shape(), Shape({3, 5}));
    EXPECT_EQ(tensor.strides(), Strides({5, 1}));
    EXPECT_EQ(tensor.device(), Device::Cpu());
    EXPECT_EQ(tensor.byte_offset(), 0u);
    EXPECT_TRUE(tensor.is_contiguous());
    EXPECT_TRUE(tensor.is_aligned());
    EXPECT_FALSE(tensor.is_read_only());
    const std::size_t bytes = 15u * static_cast<std::size_t>(itemsize_bits(dtype)) / 8u;
    EXPECT_EQ(tensor.nbytes(), bytes);
    EXPECT_EQ(tensor.buffer()->size_bytes(), bytes);
    EXPECT_EQ(allocator.counts()->last_bytes, bytes);
    EXPECT_EQ(allocator.counts()->last_alignment, 64u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  }
}

TEST(TensorEmptyTest, AllocatesOnceAndReleasesOnce) {
  CountingAllocator allocator;
  {
    const Tensor tensor = Value(Tensor::empty({7}, DataType::kInt64, Device::Cpu(), &allocator));
    const Tensor view = Value(tensor.slice(0, 1, 3));
    EXPECT_EQ(allocator.counts()->allocations, 1);
    EXPECT_EQ(allocator.counts()->deletions, 0);
  }
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

TEST(TensorEmptyTest, DefaultAllocatorServesTheCpu) {
  const Tensor tensor = Value(Tensor::empty({100}, DataType::kUInt8, Device::Cpu()));
  EXPECT_EQ(tensor.buffer()->size_bytes(), 100u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
}

TEST(TensorEmptyTest, NoElementsHaveNullDataAndStillADeleter) {
  CountingAllocator allocator;
  {
    const Tensor tensor =
        Value(Tensor::empty({2, 0, 3}, DataType::kFloat32, Device::Cpu(), &allocator));
    EXPECT_TRUE(tensor.defined());
    EXPECT_EQ(tensor.data(), nullptr);
    EXPECT_EQ(tensor.data_ptr<float>(), nullptr);
    EXPECT_TRUE(tensor.is_aligned());
    EXPECT_EQ(tensor.strides(), Strides({3, 3, 1}));  // P31: 0 counts as 1
    EXPECT_EQ(allocator.counts()->last_bytes, 0u);
  }
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

TEST(TensorEmptyTest, ScalarHasOneElement) {
  const Tensor tensor = Value(Tensor::empty({}, DataType::kFloat64, Device::Cpu()));
  EXPECT_EQ(tensor.nbytes(), 8u);
  EXPECT_EQ(tensor.strides(), Strides());
}

TEST(TensorEmptyTest, ReservedDtypesAreUnimplemented) {
  CountingAllocator allocator;
  for (const DataType dtype : kReserved) {
    EXPECT_THAT(Tensor::empty({2, 4}, dtype, Device::Cpu(), &allocator),
                StatusIs(kUnimplemented, AllOf(HasSubstr("empty: "), HasSubstr("[2, 4]"),
                                               HasSubstr(std::string(to_string(dtype))))));
  }
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

class FakeCudaAllocator final : public memory::Allocator {
 public:
  core::StatusOr<memory::Buffer> Allocate(std::size_t, std::size_t) override {
    ADD_FAILURE() << "nothing may be asked of a device without a backend";
    return core::OutOfMemoryError();
  }
  Device device() const override { return Device::Cuda(1); }
};

TEST(TensorEmptyTest, CudaIsUnimplementedWithAndWithoutAllocator) {
  EXPECT_THAT(Tensor::empty({2}, DataType::kFloat32, Device::Cuda(0)),
              StatusIs(kUnimplemented, AllOf(HasSubstr("empty: "), HasSubstr("cuda:0"))));
  FakeCudaAllocator allocator;
  EXPECT_THAT(Tensor::empty({2}, DataType::kFloat32, Device::Cuda(1), &allocator),
              StatusIs(kUnimplemented, "cuda:1"));
  // Also ahead of a byte count that would overflow.
  EXPECT_THAT(Tensor::empty({kOne << 62}, DataType::kFloat32, Device::Cuda(0)),
              StatusIs(kUnimplemented));
}

// P27: bytes overflow though numel fits.
TEST(TensorEmptyTest, ByteSizeOverflowIsInvalid) {
  CountingAllocator allocator;
  EXPECT_THAT(
      Tensor::empty({4, 1073741823, 1073741825}, DataType::kFloat32, Device::Cpu(), &allocator),
      StatusIs(kInvalid, AllOf(HasSubstr("empty: "), HasSubstr("[4, 1073741823, 1073741825]"),
                               HasSubstr("float32"))));
  EXPECT_THAT(Tensor::empty({kOne << 61}, DataType::kFloat32, Device::Cpu(), &allocator),
              StatusIs(kInvalid));
  EXPECT_THAT(Tensor::empty({kOne << 62}, DataType::kInt16, Device::Cpu(), &allocator),
              StatusIs(kInvalid));
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

// P27: a size that fits but that no machine has.
TEST(TensorEmptyTest, AbsurdSizeIsOutOfMemory) {
  EXPECT_THAT(Tensor::empty({kOne << 62}, DataType::kInt8, Device::Cpu()),
              StatusIs(core::kOutOfMemory));
}

TEST(TensorEmptyTest, AllocatorFailurePasses) {
  CountingAllocator allocator(/*successes=*/1);
  ENGINE_EXPECT_OK(Tensor::empty({2}, DataType::kInt8, Device::Cpu(), &allocator));
  EXPECT_THAT(Tensor::empty({2}, DataType::kInt8, Device::Cpu(), &allocator),
              StatusIs(core::kOutOfMemory));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

// from_buffer: the window must lie within the buffer, in arithmetic that cannot wrap.

// P72: offsets and sizes that wrap.
TEST(TensorFromBufferTest, WindowIsCheckedWithoutWrapping) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(16);
  constexpr auto kF32 = DataType::kFloat32;
  EXPECT_THAT(Tensor::from_buffer(buffer, SIZE_MAX - 3, {1}, kF32), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::from_buffer(buffer, SIZE_MAX, {0}, kF32), StatusIs(kInvalid));
  ENGINE_EXPECT_OK(Tensor::from_buffer(buffer, 12, {1}, kF32));
  EXPECT_THAT(Tensor::from_buffer(buffer, 13, {1}, kF32), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::from_buffer(buffer, 0, {kOne << 62}, kF32), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::from_buffer(buffer, 0, {kInt64Max}, DataType::kFloat64), StatusIs(kInvalid));
}

// P73: empty tensors at the end of the buffer.
TEST(TensorFromBufferTest, NoElementsAtTheEnd) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(16);
  const Tensor at_end = Value(Tensor::from_buffer(buffer, 16, {0}, DataType::kFloat32));
  EXPECT_NE(at_end.data(), nullptr);
  EXPECT_EQ(BytesIntoBuffer(at_end), 16);
  EXPECT_THAT(Tensor::from_buffer(buffer, 17, {0}, DataType::kFloat32), StatusIs(kInvalid));

  const std::shared_ptr<memory::Buffer> nothing = MakeBuffer(0);
  EXPECT_EQ(Value(Tensor::from_buffer(nothing, 0, {0}, DataType::kFloat32)).data(), nullptr);
  EXPECT_THAT(Tensor::from_buffer(nothing, 0, {}, DataType::kFloat32), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::from_buffer(nothing, 1, {0}, DataType::kFloat32), StatusIs(kInvalid));
}

// A self-overlapping layout reaches few bytes, yet nbytes() must be countable.
TEST(TensorFromStridedBufferTest, ElementsWhoseBytesOverflow) {
  const Shape shape = {234, 234, 234, 234, 234, 234, 234, 234};
  EXPECT_THAT(Tensor::from_strided_buffer(MakeBuffer(16384), 0, shape, {1, 1, 1, 1, 1, 1, 1, 1},
                                          DataType::kFloat64),
              StatusIs(kInvalid, AllOf(HasSubstr("from_strided_buffer: "), HasSubstr("overflow"))));
  EXPECT_THAT(Tensor::from_strided_buffer(MakeBuffer(16384), 0, shape, {1, 1, 1, 1, 1, 1, 1, 1},
                                          DataType::kInt8),
              IsOk());
}

// P74: less payload than the shape says, through both front doors.
TEST(TensorFromBufferTest, PayloadTooSmall) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(16);
  EXPECT_THAT(Tensor::from_buffer(buffer, 0, {3, 100}, DataType::kInt64),
              StatusIs(kInvalid, AllOf(HasSubstr("from_buffer: "), HasSubstr("[3, 100]"),
                                       HasSubstr("int64"), HasSubstr("16 bytes"))));
  EXPECT_THAT(Tensor::from_strided_buffer(buffer, 0, {3, 100}, {100, 1}, DataType::kInt64),
              StatusIs(kInvalid, AllOf(HasSubstr("from_strided_buffer: "), HasSubstr("[3, 100]"),
                                       HasSubstr("[100, 1]"), HasSubstr("16 bytes"))));
  EXPECT_EQ(buffer.use_count(), 1);  // a refusal keeps nothing
}

TEST(TensorFromBufferTest, ReservedDtypesAreUnimplementedBeforeBounds) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(4);
  for (const DataType dtype : kReserved) {
    EXPECT_THAT(Tensor::from_buffer(buffer, 0, {2}, dtype),
                StatusIs(kUnimplemented, AllOf(HasSubstr("from_buffer: "),
                                               HasSubstr(std::string(to_string(dtype))))));
    EXPECT_THAT(Tensor::from_buffer(buffer, 99, {2}, dtype), StatusIs(kUnimplemented));
    EXPECT_THAT(Tensor::from_strided_buffer(buffer, 0, {2}, {1}, dtype),
                StatusIs(kUnimplemented, "from_strided_buffer: "));
    EXPECT_THAT(Tensor::from_strided_buffer(buffer, 99, {2}, {-1, 0}, dtype),
                StatusIs(kUnimplemented));
  }
}

// P76: the offset is part of the address at every step, and the buffer lives as long as any view.
TEST(TensorFromBufferTest, OffsetsComposeAndStorageIsShared) {
  int deletions = 0;
  std::shared_ptr<memory::Buffer> buffer = MakeBuffer(56, &deletions);
  auto* const base = static_cast<std::byte*>(buffer->data());
  Tensor tensor = Value(Tensor::from_buffer(std::move(buffer), 8, {3, 4}, DataType::kFloat32));
  EXPECT_EQ(tensor.data(), base + 8);
  Tensor sliced = Value(tensor.slice(0, 1, 3));
  EXPECT_EQ(sliced.data(), base + 8 + 16);
  Tensor inner = Value(sliced.slice(1, 3, 4));
  EXPECT_EQ(inner.data(), base + 8 + 16 + 12);
  Tensor ints = Value(inner.view_as_dtype(DataType::kInt32));
  EXPECT_EQ(ints.data(), base + 8 + 16 + 12);
  EXPECT_EQ(ints.byte_offset(), 36u);
  tensor = Tensor();
  sliced = Tensor();
  inner = Tensor();
  EXPECT_EQ(deletions, 0);
  EXPECT_EQ(ints.item<std::int32_t>({1, 0}), 0);
  ints = Tensor();
  EXPECT_EQ(deletions, 1);
}

// from_strided_buffer: strides of at least 1 where they matter, and the reached window inside.

TEST(TensorFromStridedBufferTest, ReadsThroughGivenStrides) {
  const Tensor iota = Iota({12});
  const Tensor columns =
      Value(Tensor::from_strided_buffer(iota.buffer(), 4, {2, 3}, {1, 4}, DataType::kInt32));
  EXPECT_THAT(Elements(columns), ElementsAre(1, 5, 9, 2, 6, 10));
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_EQ(columns.byte_offset(), 4u);
  // A layout that overlaps itself can be read.
  const Tensor windows =
      Value(Tensor::from_strided_buffer(iota.buffer(), 0, {3, 3}, {1, 1}, DataType::kInt32));
  EXPECT_THAT(Elements(windows), ElementsAre(0, 1, 2, 1, 2, 3, 2, 3, 4));
}

TEST(TensorFromStridedBufferTest, WindowEndsWithTheLastElement) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(48);
  // Last element index (2-1)*6 + (3-1)*2 = 10: 44 bytes, so an offset of 4 is the last that fits.
  ENGINE_EXPECT_OK(Tensor::from_strided_buffer(buffer, 4, {2, 3}, {6, 2}, DataType::kInt32));
  EXPECT_THAT(Tensor::from_strided_buffer(buffer, 5, {2, 3}, {6, 2}, DataType::kInt32),
              StatusIs(kInvalid, AllOf(HasSubstr("[2, 3]"), HasSubstr("[6, 2]"),
                                       HasSubstr("offset 5"), HasSubstr("48 bytes"))));
  EXPECT_THAT(Tensor::from_strided_buffer(buffer, 0, {2, 3}, {8, 2}, DataType::kInt32),
              StatusIs(kInvalid));
}

TEST(TensorFromStridedBufferTest, WindowsThatOverflowAreInvalid) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(16);
  const auto make = [&](const Shape& shape, const Strides& strides, DataType dtype) {
    return Tensor::from_strided_buffer(buffer, 0, shape, strides, dtype);
  };
  // (extent - 1) * stride overflows 64 bits; their sum does; times the item size it does; each
  // wraps to something small.
  EXPECT_THAT(make({5}, {kOne << 62}, DataType::kInt8), StatusIs(kInvalid));
  EXPECT_THAT(make({3, 3}, {kOne << 62, kOne << 62}, DataType::kInt8), StatusIs(kInvalid));
  EXPECT_THAT(make({2}, {kOne << 61}, DataType::kFloat64), StatusIs(kInvalid));
  EXPECT_THAT(make({2, 2}, {kInt64Max, kInt64Max}, DataType::kInt8), StatusIs(kInvalid));
}

TEST(TensorFromStridedBufferTest, StridesAreValidated) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(64);
  const auto make = [&](const Shape& shape, const Strides& strides) {
    return Tensor::from_strided_buffer(buffer, 0, shape, strides, DataType::kInt32);
  };
  EXPECT_THAT(make({2, 3}, {3}),
              StatusIs(kInvalid, AllOf(HasSubstr("1 strides [3]"), HasSubstr("[2, 3]"))));
  EXPECT_THAT(make({}, {1}), StatusIs(kInvalid, "1 strides [1] for shape []"));
  EXPECT_THAT(make({2, 3}, {3, 0}),
              StatusIs(kInvalid, AllOf(HasSubstr("stride 0 of axis 1"), HasSubstr("[2, 3]"),
                                       HasSubstr("[3, 0]"))));
  EXPECT_THAT(make({2, 3}, {-3, 1}), StatusIs(kInvalid, "stride -3 of axis 0"));
  EXPECT_THAT(make({1, 3}, {-1, 1}), StatusIs(kInvalid, "stride -1 of axis 0"));
  EXPECT_THAT(make({0, 3}, {3, -1}), StatusIs(kInvalid, "stride -1 of axis 1"));
}

// P30: strides of axes with at most one element, and of empty shapes, do not matter.
TEST(TensorFromStridedBufferTest, StridesThatDoNotMatter) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(48);
  const auto make = [&](const Shape& shape, const Strides& strides) {
    return Value(Tensor::from_strided_buffer(buffer, 0, shape, strides, DataType::kInt32));
  };
  EXPECT_TRUE(make({1}, {3}).is_contiguous());
  EXPECT_TRUE(make({1, 3, 1, 4, 1}, {0, 4, 0, 1, 0}).is_contiguous());
  EXPECT_TRUE(make({0, 0, 0}, {9, 9, 9}).is_contiguous());
  EXPECT_TRUE(make({2, 1, 3}, {3, 99, 1}).is_contiguous());
  EXPECT_FALSE(make({2, 1, 3}, {6, 3, 1}).is_contiguous());
  EXPECT_TRUE(make({}, {}).is_contiguous());
  EXPECT_TRUE(make({1, 2}, {kInt64Max, 1}).is_contiguous());
  EXPECT_TRUE(make({0, 5}, {0, 0}).is_contiguous());
}

TEST(TensorFromStridedBufferTest, NoElementsFitAnywhereUpToTheEnd) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(16);
  const Strides huge = {kInt64Max, kInt64Max};
  ENGINE_EXPECT_OK(Tensor::from_strided_buffer(buffer, 16, {0, 4}, huge, DataType::kInt32));
  EXPECT_THAT(Tensor::from_strided_buffer(buffer, 17, {0, 4}, huge, DataType::kInt32),
              StatusIs(kInvalid));
}

}  // namespace
}  // namespace engine::tensor
