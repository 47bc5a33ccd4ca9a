#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "memory/allocator.h"
#include "tensor/half.h"
#include "tensor_test_support.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::testing::ElementsAre;

// Handles: copies are shallow and cannot fail, a moved-from handle is undefined, nothing compares.

static_assert(std::is_nothrow_default_constructible_v<Tensor>);
static_assert(std::is_nothrow_copy_constructible_v<Tensor>);
static_assert(std::is_nothrow_copy_assignable_v<Tensor>);
static_assert(std::is_nothrow_move_constructible_v<Tensor>);
static_assert(std::is_nothrow_move_assignable_v<Tensor>);
static_assert(std::is_nothrow_destructible_v<Tensor>);
static_assert(!std::equality_comparable<Tensor>);
static_assert(!std::is_polymorphic_v<Tensor>);

TEST(TensorHandleTest, DefaultIsUndefinedWithValidMetadata) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_EQ(tensor.shape(), Shape());
  EXPECT_EQ(tensor.strides(), Strides());
  EXPECT_EQ(tensor.dtype(), DataType::kFloat32);
  EXPECT_EQ(tensor.device(), Device::Cpu());
  EXPECT_EQ(tensor.numel(), 1);  // rank 0 counts one element, here without storage
  EXPECT_EQ(tensor.nbytes(), 4u);
  EXPECT_EQ(tensor.byte_offset(), 0u);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_FALSE(tensor.is_read_only());
  EXPECT_EQ(tensor.buffer(), nullptr);
}

TEST(TensorHandleTest, CopyAliasesStorageAndMetadata) {
  const Tensor tensor = Value(Iota({3, 4}).slice(1, 1, 3));
  const Tensor copy = tensor;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.buffer(), tensor.buffer());
  EXPECT_EQ(copy.shape(), Shape({3, 2}));
  EXPECT_EQ(copy.strides(), Strides({4, 1}));
  EXPECT_EQ(copy.byte_offset(), 4u);
  EXPECT_EQ(copy.dtype(), DataType::kInt32);
  EXPECT_EQ(copy.data(), tensor.data());
  EXPECT_EQ(tensor.buffer().use_count(), 2);

  copy.data_ptr<std::int32_t>()[0] = 77;
  EXPECT_EQ(tensor.item<std::int32_t>({0, 0}), 77);
}

TEST(TensorHandleTest, CopyAssignmentReleasesTheOldStorage) {
  int deletions = 0;
  Tensor tensor = Value(Tensor::from_buffer(MakeBuffer(4, &deletions), 0, {1}, DataType::kInt32));
  const Tensor other = Iota({2});
  tensor = other;
  EXPECT_EQ(deletions, 1);
  EXPECT_EQ(tensor.data(), other.data());
  EXPECT_EQ(tensor.shape(), Shape({2}));
}

TEST(TensorHandleTest, MovedFromIsUndefinedAndCanBeAssigned) {
  Tensor source = Iota({2, 3});
  void* const data = source.data();
  Tensor moved(std::move(source));
  EXPECT_FALSE(source.defined());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved.defined());
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(moved.shape(), Shape({2, 3}));
  EXPECT_EQ(moved.buffer().use_count(), 1);

  Tensor target = Iota({1});
  target = std::move(moved);
  EXPECT_FALSE(moved.defined());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(target.data(), data);
  EXPECT_EQ(target.dtype(), DataType::kInt32);

  moved = target;
  EXPECT_TRUE(moved.defined());
  EXPECT_THAT(Elements(moved), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TensorHandleTest, SelfAssignmentKeepsEverything) {
  Tensor tensor = Iota({2, 2});
  Tensor& alias = tensor;
  tensor = alias;
  EXPECT_THAT(Elements(tensor), ElementsAre(0, 1, 2, 3));
  tensor = std::move(alias);
  EXPECT_THAT(Elements(tensor), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(tensor.buffer().use_count(), 1);
}

TEST(TensorHandleTest, StorageLivesUntilTheLastViewDies) {
  int deletions = 0;
  Tensor view;
  {
    const Tensor base =
        Value(Tensor::from_buffer(MakeBuffer(24, &deletions), 0, {2, 3}, DataType::kInt32));
    view = Value(Value(base.slice(0, 1, 2)).reshape({3}));
  }
  EXPECT_EQ(deletions, 0);
  view.data_ptr<std::int32_t>()[2] = 5;
  view = Tensor();
  EXPECT_EQ(deletions, 1);
}

TEST(TensorHandleTest, ReadOnlyStorageIsReadOnlyThroughEveryView) {
  const Tensor base = Value(Tensor::from_buffer(MakeBuffer(24, nullptr, /*read_only=*/true), 0,
                                                {2, 1, 3}, DataType::kInt32));
  EXPECT_TRUE(base.is_read_only());
  EXPECT_TRUE(Value(base.slice(0, 0, 1)).is_read_only());
  EXPECT_TRUE(Value(base.strided_slice({{0, 2}, {0, 1}, {0, 3, 2}})).is_read_only());
  EXPECT_TRUE(Value(base.select(0, 1)).is_read_only());
  EXPECT_TRUE(Value(base.permute({2, 0, 1})).is_read_only());
  EXPECT_TRUE(Value(base.transpose(0, 2)).is_read_only());
  EXPECT_TRUE(Value(base.squeeze(1)).is_read_only());
  EXPECT_TRUE(Value(base.unsqueeze(0)).is_read_only());
  EXPECT_TRUE(Value(base.reshape({6})).is_read_only());
  EXPECT_TRUE(Value(base.view_as_dtype(DataType::kFloat32)).is_read_only());
  EXPECT_TRUE(Tensor(base).is_read_only());
  EXPECT_FALSE(Iota({2}).is_read_only());
}

// Threads: handles to one storage are independent, and the last one may die anywhere.

// P52: allocated in one thread, dropped in another.
TEST(TensorThreadTest, LastHandleMayDieInAnotherThread) {
  testing::CountingAllocator allocator;
  Tensor tensor;
  std::thread([&] {
    tensor = Value(Tensor::empty({64}, DataType::kInt32, Device::Cpu(), &allocator));
    tensor.data_ptr<std::int32_t>()[63] = 9;
  }).join();
  std::thread([moved = std::move(tensor)]() mutable {
    EXPECT_EQ(moved.item<std::int32_t>({63}), 9);
    moved = Tensor();
  }).join();
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

// P52: the buffer needs nothing of a local allocator.
TEST(TensorThreadTest, StorageOutlivesItsAllocator) {
  Tensor tensor;
  {
    memory::CpuAllocator allocator;
    tensor = Value(Tensor::empty({4}, DataType::kInt32, Device::Cpu(), &allocator));
  }
  tensor.data_ptr<std::int32_t>()[3] = 4;
  EXPECT_EQ(tensor.item<std::int32_t>({3}), 4);
}

TEST(TensorThreadTest, ViewsOfOneHandleCanBeMadeConcurrently) {
  const Tensor base = Iota({8, 8});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&base, t] {
      for (int i = 0; i < 500; ++i) {
        const Tensor row = Value(Value(base.permute({1, 0})).select(1, (t + i) % 8));
        EXPECT_EQ(row.item<std::int32_t>({3}), (t + i) % 8 * 8 + 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(base.buffer().use_count(), 1);
}

// Element access: item applies strides at any alignment, data() is base plus offset.

TEST(TensorItemTest, ScalarHasNoIndices) {
  const Tensor scalar = Iota({});
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.item<std::int32_t>({}), 0);
  EXPECT_EQ(scalar.item<std::int32_t>(std::span<const std::int64_t>()), 0);
}

// P29: eight axes, eight indices; strides computed by hand.
TEST(TensorItemTest, RankEight) {
  const Tensor tensor = Iota({2, 1, 3, 1, 2, 1, 2, 3});
  EXPECT_EQ(tensor.strides(), Strides({36, 36, 12, 12, 6, 6, 3, 1}));
  EXPECT_EQ(tensor.item<std::int32_t>({1, 0, 2, 0, 1, 0, 1, 2}), 36 + 24 + 6 + 3 + 2);
  EXPECT_EQ(tensor.item<std::int32_t>({0, 0, 1, 0, 0, 0, 1, 1}), 12 + 3 + 1);
}

template <typename T>
void ExpectRoundTrip(const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  // One byte in: every dtype but the one-byte ones is misaligned.
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(1 + values.size() * sizeof(T));
  std::memcpy(static_cast<std::byte*>(buffer->data()) + 1, values.data(),
              values.size() * sizeof(T));
  core::StatusOr<Shape> shape = Shape::FromDims({count});
  ENGINE_ASSERT_OK(shape);
  const Tensor tensor = Value(Tensor::from_buffer(buffer, 1, *shape, dtype_of<T>));
  EXPECT_EQ(tensor.is_aligned(), sizeof(T) == 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const T item = tensor.item<T>({i});
    EXPECT_EQ(std::memcmp(&item, &values[static_cast<std::size_t>(i)], sizeof(T)), 0)
        << to_string(dtype_of<T>) << " " << i;
  }
}

// P75 (item): a misaligned offset reads right values for every dtype.
TEST(TensorItemTest, EveryDtypeAtAnOddAddress) {
  ExpectRoundTrip<float>({1.5f, -0.0f, std::nanf("3")});
  ExpectRoundTrip<double>({1e300, -2.5, 0.0});
  ExpectRoundTrip<float16>({float16(0.5f), float16::from_bits(0x7D00)});
  ExpectRoundTrip<bfloat16>({bfloat16(3.0f), bfloat16::from_bits(0xFF81)});
  ExpectRoundTrip<std::int8_t>({-128, 127, 0});
  ExpectRoundTrip<std::uint8_t>({0, 255});
  ExpectRoundTrip<std::int16_t>({-32768, 32767});
  ExpectRoundTrip<std::uint16_t>({65535, 1});
  ExpectRoundTrip<std::int32_t>({INT32_MIN, INT32_MAX});
  ExpectRoundTrip<std::uint32_t>({UINT32_MAX, 2});
  ExpectRoundTrip<std::int64_t>({INT64_MIN, INT64_MAX});
  ExpectRoundTrip<std::uint64_t>({UINT64_MAX, 3});
}

// P75: twelve bytes at offset 1 of a 13-byte buffer are accepted; is_aligned() tells.
TEST(TensorItemTest, MisalignedFloats) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(13);
  const float values[] = {1.0f, -2.0f, 3.5f};
  std::memcpy(static_cast<std::byte*>(buffer->data()) + 1, values, sizeof(values));
  const Tensor tensor = Value(Tensor::from_buffer(buffer, 1, {3}, DataType::kFloat32));
  EXPECT_FALSE(tensor.is_aligned());
  EXPECT_EQ(tensor.item<float>({0}), 1.0f);
  EXPECT_EQ(tensor.item<float>({1}), -2.0f);
  EXPECT_EQ(tensor.item<float>({2}), 3.5f);
  // Alignment is of the address, not of the offset alone, and is asked of the present dtype.
  EXPECT_TRUE(Value(Tensor::from_buffer(buffer, 4, {2}, DataType::kFloat32)).is_aligned());
  EXPECT_FALSE(Value(Tensor::from_buffer(buffer, 2, {2}, DataType::kFloat32)).is_aligned());
  EXPECT_TRUE(Value(Tensor::from_buffer(buffer, 2, {2}, DataType::kFloat16)).is_aligned());
  EXPECT_TRUE(Value(Tensor::from_buffer(buffer, 13, {0}, DataType::kUInt8)).is_aligned());
}

// P23 (item): any byte but zero reads as true, without ever becoming a bool object itself.
TEST(TensorItemTest, BoolBytes) {
  const std::shared_ptr<memory::Buffer> buffer = MakeBuffer(4);
  const unsigned char bytes[] = {0, 1, 2, 255};
  std::memcpy(buffer->data(), bytes, sizeof(bytes));
  const Tensor raw = Value(Tensor::from_buffer(buffer, 0, {4}, DataType::kUInt8));
  const Tensor flags = Value(raw.view_as_dtype(DataType::kBool));
  EXPECT_FALSE(flags.item<bool>({0}));
  EXPECT_TRUE(flags.item<bool>({1}));
  EXPECT_TRUE(flags.item<bool>({2}));
  EXPECT_TRUE(flags.item<bool>({3}));
  EXPECT_EQ(std::memcmp(buffer->data(), bytes, sizeof(bytes)), 0);
}

TEST(TensorDataTest, TypedPointerIsTheUntypedOne) {
  const Tensor tensor = Value(Iota({4}).slice(0, 2, 4));
  EXPECT_EQ(BytesIntoBuffer(tensor), 8);
  EXPECT_EQ(tensor.data_ptr<std::int32_t>(), tensor.data());
  const std::int32_t* const read = tensor.data_ptr<const std::int32_t>();
  EXPECT_EQ(*read, 2);
  static_assert(
      std::is_same_v<decltype(tensor.data_ptr<const std::int32_t>()), const std::int32_t*>);
}

TEST(TensorDataTest, NbytesCountsElementsNotTheSpanOfTheView) {
  EXPECT_EQ(Iota({3, 4}).nbytes(), 48u);
  EXPECT_EQ(Value(Iota({3, 4}).slice(1, 0, 1)).nbytes(), 12u);
  EXPECT_EQ(Value(Iota({3, 4}).slice(0, 1, 1)).nbytes(), 0u);
}

// A CUDA buffer gives metadata: views and addresses, never elements.
TEST(TensorCudaTest, BufferOnADeviceIsMetadataOnly) {
  const Tensor tensor =
      Value(Tensor::from_buffer(MakeCudaBuffer(64), 16, {3, 4}, DataType::kFloat32));
  EXPECT_EQ(tensor.device(), Device::Cuda(0));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()), 0x1010u);
  const Tensor view = Value(Value(tensor.slice(1, 1, 3)).permute({1, 0}));
  EXPECT_EQ(view.device(), Device::Cuda(0));
  EXPECT_EQ(view.shape(), Shape({2, 3}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data_ptr<float>()), 0x1014u);
}

}  // namespace
}  // namespace engine::tensor
