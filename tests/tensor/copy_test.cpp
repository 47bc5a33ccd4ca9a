#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "testing/fp_mode.h"
#include "testing/guarded_memory.h"
#include "testing/random_layout.h"
#include "testing/reference.h"
#include "testing/samples.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

using enum DataType;
using core::StatusCode;
using ::testing::AllOf;
using testing::BitsOf;
using testing::BorrowStorage;
using testing::BytesOf;
using testing::Counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeStorage;
using testing::StatusIs;
using testing::TensorOf;
using testing::TensorOfBits;
using testing::ValuesOf;

// ops::copy moves elements by logical index, bit for bit, and writes nothing else.

// P23: bytes of a bool other than 0 and 1 are copied, too; and so are signalling NaNs.
TEST(CopyTest, EveryPatternOfEveryDTypeSurvives) {
  for (const DataType dtype : kAllDataTypes) {
    if (is_reserved(dtype)) continue;
    const std::vector<std::uint64_t> bits = testing::SampleBits(dtype);
    const Shape shape = *Shape::FromDims({static_cast<std::int64_t>(bits.size())});
    const Tensor src = TensorOfBits(shape, dtype, bits);
    const Tensor dst = TensorOfBits(shape, dtype, std::vector<std::uint64_t>(bits.size()));
    ENGINE_ASSERT_OK(ops::copy(dst, src));
    EXPECT_TRUE(BitsOf(dst) == bits) << to_string(dtype);
  }
}

// P37: exactly numel elements move, whatever the storage holds behind them.
TEST(CopyTest, SlicesCopyTheirElementsOnly) {
  const Tensor dst = TensorOf<std::int32_t>({10}, std::vector<std::int32_t>(10, -1));
  const Tensor src = Counting({10}, kInt32);
  ENGINE_ASSERT_OK(ops::copy(*dst.slice(0, 2, 4), *src.slice(0, 5, 7)));
  EXPECT_THAT(ValuesOf<std::int32_t>(dst), ElementsAre(-1, -1, 5, 6, -1, -1, -1, -1, -1, -1));
}

// P38: views of one buffer that interleave without sharing a byte.
TEST(CopyTest, InterleavedViewsOfOneBuffer) {
  const Tensor b = Counting({5, 5}, kInt32);
  const Tensor rows = *b.slice(0, 3, 5);
  ENGINE_ASSERT_OK(ops::copy(*rows.slice(1, 0, 2), *rows.slice(1, 2, 4)));
  EXPECT_THAT(ValuesOf<std::int32_t>(rows), ElementsAre(17, 18, 17, 18, 19, 22, 23, 22, 23, 24));
  EXPECT_THAT(ValuesOf<std::int32_t>(*b.slice(0, 2, 3)), ElementsAre(10, 11, 12, 13, 14));
}

// P38: adjacent ranges.
TEST(CopyTest, AdjacentRangesOfOneBuffer) {
  const Tensor b = Counting({8}, kInt32);
  ENGINE_ASSERT_OK(ops::copy(*b.slice(0, 0, 4), *b.slice(0, 4, 8)));
  EXPECT_THAT(ValuesOf<std::int32_t>(b), ElementsAre(4, 5, 6, 7, 4, 5, 6, 7));
}

// P39: the same view on both sides, by one handle or by several.
TEST(CopyTest, TheSameViewIsANoOp) {
  const Tensor t = Counting({4, 6}, kFloat32);
  const std::vector<std::uint64_t> before = BitsOf(t);
  ENGINE_EXPECT_OK(ops::copy(t, t));
  const Tensor handle = t;
  ENGINE_EXPECT_OK(ops::copy(t, handle));
  ENGINE_EXPECT_OK(ops::copy(*t.slice(1, 1, 4), *handle.slice(1, 1, 4)));
  ENGINE_EXPECT_OK(ops::copy(*t.transpose(0, 1), *handle.transpose(0, 1)));
  EXPECT_EQ(BitsOf(t), before);
}

// P39: strides of axes of extent 1 do not tell views apart.
TEST(CopyTest, TheSameViewMayDifferInStridesThatDoNotMatter) {
  const auto storage = MakeStorage(24);
  const Tensor a = *Tensor::from_strided_buffer(storage, 4, {1, 3}, {77, 1}, kInt32);
  const Tensor b = *Tensor::from_strided_buffer(storage, 4, {1, 3}, {3, 1}, kInt32);
  testing::SetBits(a, {1, 2, 3});
  ENGINE_EXPECT_OK(ops::copy(a, b));
  EXPECT_THAT(ValuesOf<std::int32_t>(a), ElementsAre(1, 2, 3));
}

// P40: a transposed square.
TEST(CopyTest, TransposedSquare) {
  const Tensor t = Counting({8, 8}, kInt32);
  const Tensor dst = Counting({8, 8}, kInt32);
  ENGINE_ASSERT_OK(ops::copy(dst, *t.transpose(0, 1)));
  const std::vector<std::int32_t> values = ValuesOf<std::int32_t>(dst);
  EXPECT_THAT(std::vector<std::int32_t>(values.begin(), values.begin() + 9),
              ElementsAre(0, 8, 16, 24, 32, 40, 48, 56, 1));
}

// P40: permuted axes of small prime extents.
TEST(CopyTest, PermutedAxesOfPrimeExtents) {
  const Tensor src = *Counting({7, 5, 3}, kInt32).permute({0, 2, 1});
  const Tensor dst = Counting({7, 3, 5}, kInt32);
  ENGINE_ASSERT_OK(ops::copy(dst, src));
  const std::vector<std::int32_t> values = ValuesOf<std::int32_t>(dst);
  EXPECT_THAT(std::vector<std::int32_t>(values.begin(), values.begin() + 12),
              ElementsAre(0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5));
  std::int64_t weighted = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    weighted += values[i] * static_cast<std::int64_t>(i);
  }
  EXPECT_EQ(weighted, 379400);
}

// P41: all extents 1, alone and out of a larger tensor.
TEST(CopyTest, AxesOfExtentOneStillHoldAnElement) {
  const Tensor dst = TensorOf<std::int32_t>({1, 1, 1}, {0});
  ENGINE_ASSERT_OK(ops::copy(dst, TensorOf<std::int32_t>({1, 1, 1}, {42})));
  EXPECT_THAT(ValuesOf<std::int32_t>(dst), ElementsAre(42));
  const Tensor from = *(*Counting({4, 4}, kInt32).slice(0, 2, 3)).slice(1, 3, 4);
  const Tensor corner = *(*Counting({4, 4}, kInt32).slice(0, 0, 1)).slice(1, 1, 2);
  ENGINE_ASSERT_OK(ops::copy(corner, from));
  EXPECT_THAT(ValuesOf<std::int32_t>(corner), ElementsAre(11));
}

TEST(CopyTest, AScalarIsOneElement) {
  const Tensor dst = TensorOf<double>({}, {0.0});
  ENGINE_ASSERT_OK(ops::copy(dst, TensorOf<double>({}, {2.5})));
  EXPECT_THAT(ValuesOf<double>(dst), ElementsAre(2.5));
}

// P29: rank 8.
TEST(CopyTest, RankEight) {
  const Shape shape{2, 1, 3, 1, 2, 1, 2, 3};
  const Tensor src = Counting(shape, kInt32);
  const Tensor dst = TensorOf<std::int32_t>(shape, std::vector<std::int32_t>(72, -1));
  ENGINE_ASSERT_OK(ops::copy(dst, src));
  EXPECT_EQ(BitsOf(dst), BitsOf(src));
  const Tensor reversed = Counting({3, 2, 1, 2, 1, 3, 1, 2}, kInt32);
  ENGINE_ASSERT_OK(ops::copy(reversed, *src.permute({7, 6, 5, 4, 3, 2, 1, 0})));
  EXPECT_EQ(reversed.item<std::int32_t>({2, 1, 0, 0, 0, 1, 0, 1}),
            src.item<std::int32_t>({1, 0, 1, 0, 0, 0, 1, 2}));
  EXPECT_EQ(src.item<std::int32_t>({1, 0, 1, 0, 0, 0, 1, 2}), 36 + 12 + 3 + 2);
}

// P36: offset and every stride of a view count.
TEST(CopyTest, AViewOfAViewOfAView) {
  const Tensor t = Counting({3, 4, 5}, kInt32);
  const Tensor view = *(*(*t.slice(0, 1, 3)).slice(1, 2, 4)).slice(2, 3, 4);
  const Tensor dst = Counting({2, 2, 1}, kInt32);
  ENGINE_ASSERT_OK(ops::copy(dst, view));
  EXPECT_THAT(ValuesOf<std::int32_t>(dst), ElementsAre(33, 38, 53, 58));
}

TEST(CopyTest, SteppedSlicesOnBothSides) {
  const Tensor src = Counting({6, 9}, kInt16);
  const Tensor dst = TensorOf<std::int16_t>({4, 6}, std::vector<std::int16_t>(24, -1));
  ENGINE_ASSERT_OK(ops::copy(*dst.strided_slice({{1, 4, 2}, {0, 6, 2}}),
                             *src.strided_slice({{0, 6, 3}, {2, 9, 3}})));
  EXPECT_THAT(ValuesOf<std::int16_t>(dst),
              ElementsAre(-1, -1, -1, -1, -1, -1, 2, -1, 5, -1, 8, -1, -1, -1, -1, -1, -1, -1, 29,
                          -1, 32, -1, 35, -1));
}

// P42: element offsets beyond 2^31. The region is 3 GiB of reserved addresses; three pages are
// used.
TEST(CopyTest, OffsetsBeyondTwoToTheThirtyOne) {
  constexpr std::int64_t kRow = std::int64_t{1} << 30;
  constexpr auto kBytes = static_cast<std::size_t>(3 * kRow);
  void* const region = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(region, MAP_FAILED);
  auto storage = memory::ShareBuffer(
      memory::Buffer(region, kBytes, Device::Cpu(), [](void* data) { munmap(data, kBytes); }));
  ENGINE_ASSERT_OK(storage);
  const Tensor t = *Tensor::from_buffer(*std::move(storage), 0, {3, kRow}, kInt8);
  const Tensor column = *t.slice(1, kRow - 1, kRow);
  ENGINE_ASSERT_OK(ops::copy(column, TensorOf<std::int8_t>({3, 1}, {1, 2, 3})));
  const auto* const bytes = static_cast<const std::int8_t*>(region);
  EXPECT_EQ(bytes[1073741823], 1);
  EXPECT_EQ(bytes[2147483647], 2);
  EXPECT_EQ(bytes[3221225471], 3);
  EXPECT_EQ(bytes[2147483646], 0);
  const Tensor fresh = TensorOf<std::int8_t>({3, 1}, {0, 0, 0});
  ENGINE_ASSERT_OK(ops::copy(fresh, column));
  EXPECT_THAT(ValuesOf<std::int8_t>(fresh), ElementsAre(1, 2, 3));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor converted, ops::cast(column, kFloat32));
  EXPECT_THAT(ValuesOf<float>(converted), ElementsAre(1, 2, 3));
}

// P43, P44: flush against an inaccessible page, every length through a vector and more.
TEST(CopyTest, StaysInsideGuardPages) {
  const testing::GuardedMemory src_memory(4096);
  const testing::GuardedMemory dst_memory(4096);
  const auto src_storage = BorrowStorage(src_memory.begin(), src_memory.size_bytes());
  const auto dst_storage = BorrowStorage(dst_memory.begin(), dst_memory.size_bytes());
  for (const DataType dtype : {kUInt8, kFloat16, kFloat32, kInt64}) {
    const auto item = static_cast<std::size_t>(itemsize(dtype));
    for (std::int64_t count = 0; count <= 70; ++count) {
      for (std::size_t shift = 0; shift < 64; shift += item) {
        const std::size_t start =
            src_memory.size_bytes() - shift - static_cast<std::size_t>(count) * item;
        const Shape shape = *Shape::FromDims({count});
        const Tensor src = *Tensor::from_buffer(src_storage, start, shape, dtype);
        const Tensor dst = *Tensor::from_buffer(dst_storage, start, shape, dtype);
        std::memset(src_memory.begin(), static_cast<int>(count + 1), src_memory.size_bytes());
        std::memset(dst_memory.begin(), 0xEE, dst_memory.size_bytes());
        ENGINE_ASSERT_OK(ops::copy(dst, src));
        ASSERT_EQ(BitsOf(dst), BitsOf(src));
        ASSERT_EQ(dst_memory.begin()[start - 1], std::byte{0xEE});
        if (shift > 0) {
          ASSERT_EQ(dst_memory.end()[-static_cast<std::ptrdiff_t>(shift)], std::byte{0xEE});
        }
      }
    }
  }
}

// P45: no element on either side; null addresses are not passed to memcpy (UBSan).
TEST(CopyTest, EmptyTensorsAreANoOp) {
  const Tensor a = *Tensor::empty({0, 3}, kFloat32, Device::Cpu());
  const Tensor b = *Tensor::empty({0, 3}, kFloat32, Device::Cpu());
  ENGINE_EXPECT_OK(ops::copy(a, b));
  ENGINE_EXPECT_OK(ops::copy(a, a));
  const Tensor full = Counting({4, 3}, kFloat32);
  ENGINE_EXPECT_OK(ops::copy(*full.slice(0, 4, 4), a));
  EXPECT_EQ(BitsOf(full), BitsOf(Counting({4, 3}, kFloat32)));
}

// P75: addresses that are no multiple of the item size.
TEST(CopyTest, MisalignedTensors) {
  const auto storage = MakeStorage(13);
  const Tensor odd = *Tensor::from_buffer(storage, 1, {3}, kFloat32);
  ASSERT_FALSE(odd.is_aligned());
  ENGINE_ASSERT_OK(ops::copy(odd, TensorOf<float>({3}, {1.5f, -2.0f, 3.25f})));
  EXPECT_EQ(BytesOf(*storage)[0], std::byte{0});
  const Tensor aligned = TensorOf<float>({3}, {0, 0, 0});
  ENGINE_ASSERT_OK(ops::copy(aligned, odd));
  EXPECT_THAT(ValuesOf<float>(aligned), ElementsAre(1.5f, -2.0f, 3.25f));
}

// Rank 0 to 8, permuted, gappy, offset, misaligned; sources may overlap themselves.
TEST(CopyTest, RandomLayoutsEqualTheReferenceAndLeaveTheRestAlone) {
  for (const DataType dtype : kAllDataTypes) {
    if (is_reserved(dtype)) continue;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE(::testing::Message() << to_string(dtype) << " seed " << seed);
      testing::RandomDraw draw(seed);
      const Shape shape = testing::DrawShape(draw, 120);
      const testing::DrawnLayout to = testing::DrawLayout(draw, shape, false);
      const testing::DrawnLayout from = testing::DrawLayout(draw, shape, seed % 4 == 0);
      const int item = itemsize(dtype);
      const auto to_start = static_cast<std::size_t>(to.first * item + draw(0, 7));
      const auto from_start = static_cast<std::size_t>(from.first * item + draw(0, 7));
      const auto dst_storage = MakeStorage(static_cast<std::size_t>(to.storage_size * item) + 7);
      const auto src_storage = MakeStorage(static_cast<std::size_t>(from.storage_size * item) + 7);
      for (const auto& storage : {dst_storage, src_storage}) {
        auto* const bytes = static_cast<unsigned char*>(storage->data());
        for (std::size_t i = 0; i < storage->size_bytes(); ++i) {
          bytes[i] = static_cast<unsigned char>(draw(0, 255));
        }
      }
      ENGINE_ASSERT_OK_AND_ASSIGN(
          const Tensor dst,
          Tensor::from_strided_buffer(dst_storage, to_start, shape, to.strides, dtype));
      ENGINE_ASSERT_OK_AND_ASSIGN(
          const Tensor src,
          Tensor::from_strided_buffer(src_storage, from_start, shape, from.strides, dtype));
      std::vector<std::byte> expected = BytesOf(*dst_storage);
      testing::reference::ConvertStrided(shape, dtype, expected.data() + to_start, to.strides,
                                         dtype, src.data(), from.strides);
      ENGINE_ASSERT_OK(ops::copy(dst, src));
      ASSERT_TRUE(BytesOf(*dst_storage) == expected);
    }
  }
}

// The mode could only harm: a copy moves bytes in any mode, and leaves it and its flags alone.
TEST(CopyTest, TheFloatingPointModeIsNotTouched) {
  const Tensor src = TensorOfBits({4}, kFloat32, {0x7F800001, 0x00000001, 0x80400000, 0xFFC12345});
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    const Tensor dst = TensorOfBits({4}, kFloat32, {0, 0, 0, 0});
    std::uint64_t control = 0;
    core::Status status;
    {
      const testing::ScopedFpControl host(mode.control);
      status = ops::copy(dst, src);
      control = testing::ReadFpControl();
    }
    ENGINE_EXPECT_OK(status);
    EXPECT_EQ(control, mode.control) << mode.name;
    EXPECT_EQ(BitsOf(dst), BitsOf(src)) << mode.name;
  }
}

// Disjoint views of one storage from two threads. Meant for TSan.
TEST(CopyTest, ThreadsCopyIntoDisjointViews) {
  const Tensor src = Counting({64, 10}, kInt32);
  const Tensor dst = TensorOf<std::int32_t>({64, 10}, std::vector<std::int32_t>(640, -1));
  core::Status left;
  core::Status right;
  std::thread first([&] { left = ops::copy(*dst.slice(1, 0, 5), *src.slice(1, 0, 5)); });
  std::thread second([&] { right = ops::copy(*dst.slice(1, 5, 10), *src.slice(1, 5, 10)); });
  first.join();
  second.join();
  ENGINE_EXPECT_OK(left);
  ENGINE_EXPECT_OK(right);
  EXPECT_EQ(BitsOf(dst), BitsOf(src));
}

// Refusals, in their order: device, shape, dtype, read-only; the destination stays as it was.

TEST(CopyErrorTest, ShapesAndDTypesMustBeEqual) {
  const Tensor dst = Counting({2, 3}, kFloat32);
  const std::vector<std::uint64_t> before = BitsOf(dst);
  EXPECT_THAT(ops::copy(dst, Counting({3, 2}, kInt8)),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("copy"), HasSubstr("[2, 3]"), HasSubstr("[3, 2]"),
                             HasSubstr("float32"), HasSubstr("int8"))));
  EXPECT_THAT(ops::copy(dst, Counting({1, 2, 3}, kFloat32)),
              StatusIs(StatusCode::kInvalidArgument, "[1, 2, 3]"));
  EXPECT_THAT(
      ops::copy(dst, Counting({2, 3}, kInt32)),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("copy"), HasSubstr("[2, 3]"),
                                                   HasSubstr("float32"), HasSubstr("int32"))));
  // The widths alone do not count.
  EXPECT_THAT(ops::copy(Counting({2}, kFloat16), Counting({2}, kBFloat16)),
              StatusIs(StatusCode::kInvalidArgument, "bfloat16"));
  EXPECT_EQ(BitsOf(dst), before);
  // Without elements, too.
  EXPECT_THAT(ops::copy(*Tensor::empty({0, 3}, kInt8, Device::Cpu()),
                        *Tensor::empty({3, 0}, kInt8, Device::Cpu())),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST(CopyErrorTest, ReadOnlyDestinationsAreRefused) {
  std::int32_t values[4] = {1, 2, 3, 4};
  const auto storage = BorrowStorage(values, sizeof(values), /*read_only=*/true);
  const Tensor locked = *Tensor::from_buffer(storage, 0, {4}, kInt32);
  EXPECT_THAT(ops::copy(locked, Counting({4}, kInt32)),
              StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_THAT(ops::copy(*locked.slice(0, 1, 3), Counting({2}, kInt32)),
              StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_THAT(ops::copy(locked, locked), StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_EQ(values[1], 2);
  // The shape is judged first; reading is fine.
  EXPECT_THAT(ops::copy(locked, Counting({3}, kInt32)),
              StatusIs(StatusCode::kInvalidArgument, "[3]"));
  const Tensor dst = Counting({4}, kInt32);
  ENGINE_EXPECT_OK(ops::copy(dst, locked));
  EXPECT_THAT(ValuesOf<std::int32_t>(dst), ElementsAre(1, 2, 3, 4));
}

TEST(CopyErrorTest, CudaTensorsAreUnimplementedBeforeAnythingElse) {
  std::byte bytes[8] = {};
  const auto storage = BorrowStorage(bytes, sizeof(bytes), false, Device::Cuda(1));
  const Tensor remote = *Tensor::from_buffer(storage, 0, {2}, kFloat32);
  const Tensor local = Counting({3}, kInt8);
  EXPECT_THAT(ops::copy(local, remote), StatusIs(StatusCode::kUnimplemented, "cuda:1"));
  EXPECT_THAT(ops::copy(remote, local), StatusIs(StatusCode::kUnimplemented, "cuda:1"));
  EXPECT_THAT(ops::copy(remote, remote), StatusIs(StatusCode::kUnimplemented, "cuda:1"));
}

}  // namespace
}  // namespace engine::tensor
