// AsTensor, FromTensor and Adopt: how governed tensors and Tensor meet.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::governed {
namespace {

using core::StatusCode;
using tensor::DataType;
using tensor::Shape;
using tensor::Strides;
using tensor::Tensor;
using testing::StatusIs;
using Floats = std::vector<float>;
using Governed = GovernedTensor<float>;

// --- AsTensor ---

TEST(GovernedAsTensorTest, ShowsTheSameElements) {
  const Governed t = Counting({3, 4});
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{1, 3}, {0, 4, 3}}));
  ENGINE_ASSERT_OK(v.Transpose({1, 0}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor shown, v.AsTensor());
  EXPECT_EQ(shown.shape(), Shape({2, 2}));
  EXPECT_EQ(shown.strides(), Strides({3, 4}));
  EXPECT_EQ(shown.dtype(), DataType::kFloat32);
  EXPECT_EQ(shown.data(), v.data());  // no copy
  EXPECT_EQ(testing::ValuesOf<float>(shown), Floats({4, 8, 7, 11}));
}

TEST(GovernedAsTensorTest, CountsAsOneSharerSoThatTheNextSetClones) {
  Governed t = Counting({2, 2});
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor shown, t.AsTensor());
    EXPECT_EQ(t.refcount(), 2);
    const Tensor copy = shown;  // NOLINT(performance-unnecessary-copy-initialization)
    const Tensor row = *shown.slice(0, 1, 2);
    EXPECT_EQ(t.refcount(), 2);
    ENGINE_ASSERT_OK(t.Set({1, 0}, 9));
    EXPECT_EQ(t.refcount(), 1);
    EXPECT_EQ(testing::ValuesOf<float>(shown), Floats({0, 1, 2, 3}));
    EXPECT_EQ(testing::ValuesOf<float>(row), Floats({2, 3}));
  }
  ENGINE_ASSERT_OK_AND_ASSIGN(Tensor shown, t.AsTensor());
  EXPECT_EQ(t.refcount(), 2);
  shown = Tensor();
  EXPECT_EQ(t.refcount(), 1);
  const float* const before = t.data();
  ENGINE_ASSERT_OK(t.Set({0, 0}, 5));  // in place again
  EXPECT_EQ(t.data(), before);
}

TEST(GovernedAsTensorTest, OutlivesTheHandle) {
  Governed t = Counting({3});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor shown, t.AsTensor());
  t.Free();
  EXPECT_EQ(testing::ValuesOf<float>(shown), Floats({0, 1, 2}));
}

TEST(GovernedAsTensorTest, IsReadOnly) {
  const Governed t = Counting({2, 2});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor shown, t.AsTensor());
  EXPECT_TRUE(shown.is_read_only());
  EXPECT_TRUE(shown.select(0, 1)->is_read_only());
  const Tensor ones = *tensor::ops::ones({2, 2}, DataType::kFloat32);
  EXPECT_THAT(tensor::ops::fill(shown, 1), StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_THAT(tensor::ops::copy(shown, ones), StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_THAT(tensor::ops::cast_into(shown, ones),
              StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_THAT(tensor::ops::fill_uniform(shown, 1),
              StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_EQ(ValuesOf(t), Floats({0, 1, 2, 3}));
}

// --- FromTensor ---

TEST(GovernedFromTensorTest, CopiesAnyLayout) {
  const Tensor base = testing::Counting({3, 4}, DataType::kFloat32);
  const Tensor source = *base.strided_slice({{0, 3, 2}, {1, 4, 2}})->transpose(0, 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed t, Governed::FromTensor(source));
  EXPECT_EQ(t.shape(), Shape({2, 2}));
  EXPECT_EQ(t.strides(), Strides({2, 1}));
  EXPECT_EQ(t.offset(), 0);
  EXPECT_EQ(t.refcount(), 1);
  EXPECT_EQ(t.storage_size(), 4);
  EXPECT_EQ(ValuesOf(t), Floats({1, 9, 3, 11}));
  // Neither sees the other's writes.
  ENGINE_ASSERT_OK(tensor::ops::fill(base, 0));
  EXPECT_EQ(ValuesOf(t), Floats({1, 9, 3, 11}));
  ENGINE_ASSERT_OK(t.Set({0, 0}, 7));
  EXPECT_EQ(base.item<float>({0, 1}), 0.0f);
}

TEST(GovernedFromTensorTest, MisalignedAndReadOnlySources) {
  std::vector<std::byte> bytes(13);
  const float values[] = {1.5f, -2.0f, 3.25f};
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  const auto storage = testing::BorrowStorage(bytes.data(), bytes.size(), /*read_only=*/true);
  const Tensor source = *Tensor::from_buffer(storage, 1, {3}, DataType::kFloat32);
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed t, Governed::FromTensor(source));
  ENGINE_ASSERT_OK(t.Set({1}, 4));
  EXPECT_EQ(ValuesOf(t), Floats({1.5f, 4, 3.25f}));
}

TEST(GovernedFromTensorTest, Failures) {
  const auto make = [](const Tensor& source) { return Governed::FromTensor(source); };
  EXPECT_THAT(make(testing::Counting({2}, DataType::kInt32)),
              StatusIs(StatusCode::kInvalidArgument, "dtype int32, expected float32"));
  EXPECT_EQ(FailureOf(make(testing::Counting({2}, DataType::kInt32)).status()), std::nullopt);
  EXPECT_THAT(make(testing::Counting({}, DataType::kFloat32)), FailsWith(Failure::kEmptyTensor));
  EXPECT_THAT(make(testing::Counting({2, 0}, DataType::kFloat32)),
              FailsWith(Failure::kEmptyTensor));
  float elsewhere = 0;
  const Tensor cuda =
      *Tensor::from_buffer(testing::BorrowStorage(&elsewhere, 4, false, tensor::Device::Cuda(0)), 0,
                           {1}, DataType::kFloat32);
  EXPECT_THAT(make(cuda), StatusIs(StatusCode::kUnimplemented, "cuda:0"));
  testing::CountingAllocator none(0);
  EXPECT_THAT(Governed::FromTensor(testing::Counting({2}, DataType::kFloat32), &none),
              FailsWith(Failure::kOutOfMemory));
}

// --- Adopt ---

// A Buffer over `data` that counts how often it is given back.
template <typename T>
memory::Buffer Lend(std::vector<T>& data, int& returned, bool read_only = false,
                    tensor::Device device = tensor::Device::Cpu()) {
  return memory::Buffer(
      data.data(), data.size() * sizeof(T), device, [&returned](void*) { ++returned; }, read_only);
}

TEST(GovernedAdoptTest, TakesOverWithoutACopy) {
  Floats data = {0, 1, 2, 3, 4, 5, 6};
  int returned = 0;
  {
    memory::Buffer buffer = Lend(data, returned);
    ENGINE_ASSERT_OK_AND_ASSIGN(Governed t, Governed::Adopt(std::move(buffer), {2, 3}));
    EXPECT_FALSE(buffer.engaged());  // NOLINT(bugprone-use-after-move): it was taken
    EXPECT_EQ(t.data(), data.data());
    EXPECT_EQ(t.refcount(), 1);
    EXPECT_EQ(t.storage_size(), 7);
    EXPECT_EQ(ValuesOf(t), Floats({0, 1, 2, 3, 4, 5}));
    ENGINE_ASSERT_OK(t.Set({1, 2}, 50));
    EXPECT_EQ(data[5], 50.0f);  // exclusive, so in place
    ENGINE_ASSERT_OK_AND_ASSIGN(const Governed v, t.View({{0, 1}, {0, 3}}));
    t.Free();
    EXPECT_EQ(returned, 0);
  }
  EXPECT_EQ(returned, 1);
}

// The lender of read-only memory is a sharer: it is read in place and never written.
TEST(GovernedAdoptTest, ReadOnlyMemoryIsShared) {
  Floats data = {0, 1, 2, 3};
  int returned = 0;
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed t,
                              Governed::Adopt(Lend(data, returned, /*read_only=*/true), {2, 2}));
  EXPECT_EQ(t.data(), data.data());
  EXPECT_EQ(t.refcount(), 2);
  EXPECT_FALSE(t.owns_storage());
  EXPECT_THAT(t.Reshape({4}), FailsWith(Failure::kNotExclusive));
  Governed other = t;
  ENGINE_ASSERT_OK(t.Set({0, 0}, 9));
  EXPECT_EQ(data, Floats({0, 1, 2, 3}));
  EXPECT_EQ(ValuesOf(t), Floats({9, 1, 2, 3}));
  EXPECT_EQ(returned, 0);
  ENGINE_ASSERT_OK(other.Materialize());
  EXPECT_NE(other.data(), data.data());
  EXPECT_EQ(returned, 1);
  EXPECT_EQ(ValuesOf(other), Floats({0, 1, 2, 3}));
}

// Elements at an address that is no multiple of their size are read, cloned and written.
TEST(GovernedAdoptTest, MisalignedMemory) {
  std::vector<std::byte> bytes(20);
  const float values[] = {1.5f, -2.0f, 3.25f, 4.0f};
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  ENGINE_ASSERT_OK_AND_ASSIGN(
      Governed t,
      Governed::Adopt(memory::Buffer(bytes.data() + 1, 16, tensor::Device::Cpu(), [](void*) {}),
                      {2, 2}));
  ENGINE_ASSERT_OK(t.Set({0, 1}, -7));
  EXPECT_EQ(ValuesOf(t), Floats({1.5f, -7, 3.25f, 4}));
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{0, 2}, {1, 2}}));
  ENGINE_ASSERT_OK(v.Set({1, 0}, 8));
  EXPECT_EQ(ValuesOf(v), Floats({-7, 8}));
  EXPECT_EQ(v.data()[0], -7.0f);  // the clone is aligned
  EXPECT_EQ(ValuesOf(t), Floats({1.5f, -7, 3.25f, 4}));
}

// A pointer for writing needs aligned elements: they move to storage of their own, once, as they
// would have if the memory were shared.
TEST(GovernedAdoptTest, MisalignedMemoryMovesBeforeItIsWrittenThroughAPointer) {
  alignas(float) std::byte bytes[20] = {};
  const float values[] = {1.5f, -2.0f, 3.25f, 4.0f};
  std::memcpy(bytes + 1, values, sizeof(values));
  int returned = 0;
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed t,
                              Governed::Adopt(memory::Buffer(bytes + 1, 16, tensor::Device::Cpu(),
                                                             [&returned](void*) { ++returned; }),
                                              {2, 2}));
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  const Snapshot<float> before(t);
  testing::CountingAllocator none(0);
  EXPECT_THAT(t.mutable_data(&none), FailsWith(Failure::kOutOfMemory));
  EXPECT_EQ(Snapshot<float>(t), before);
  EXPECT_EQ(returned, 0);

  testing::CountingAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(float* const elements, t.mutable_data(&allocator));
  EXPECT_EQ(returned, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(elements) % 64, 0u);
  EXPECT_EQ(ValuesOf(t), Floats({1.5f, 3.25f, -2.0f, 4}));
  elements[1] = -7;
  EXPECT_EQ(ValuesOf(t), Floats({1.5f, 3.25f, -7, 4}));
  EXPECT_EQ(t.data(), elements);
  ENGINE_ASSERT_OK_AND_ASSIGN(const float* const again, t.mutable_data(&allocator));
  EXPECT_EQ(again, elements);
  EXPECT_EQ(allocator.counts()->allocations, 1);
}

TEST(GovernedAdoptTest, FailuresLeaveTheBufferAlone) {
  Floats data(6);
  int returned = 0;
  {
    memory::Buffer buffer = Lend(data, returned);
    const auto adopt = [&](std::vector<std::int64_t> dims) {
      return Governed::Adopt(std::move(buffer), dims);
    };
    EXPECT_THAT(adopt({}), FailsWith(Failure::kEmptyTensor));
    EXPECT_THAT(adopt({3, 0}), FailsWith(Failure::kEmptyTensor));
    EXPECT_THAT(adopt({1, 1, 1, 1, 1, 1, 1, 1, 1}), FailsWith(Failure::kDimensionMismatch));
    EXPECT_THAT(adopt({7}), FailsWith(Failure::kShapeMismatch));
    EXPECT_THAT(adopt({std::int64_t{1} << 32, std::int64_t{1} << 32}),
                FailsWith(Failure::kShapeMismatch));
    // 2^62 floats are 2^64 bytes, which wrap to none.
    EXPECT_THAT(adopt({std::int64_t{1} << 62}), FailsWith(Failure::kShapeMismatch));
    ASSERT_TRUE(buffer.engaged());
    EXPECT_EQ(buffer.data(), data.data());
    EXPECT_EQ(returned, 0);
    ENGINE_EXPECT_OK(adopt({6}));
  }
  EXPECT_EQ(returned, 1);

  memory::Buffer cuda = Lend(data, returned, false, tensor::Device::Cuda(0));
  EXPECT_THAT(Governed::Adopt(std::move(cuda), {6}), StatusIs(StatusCode::kUnimplemented));
  EXPECT_TRUE(cuda.engaged());  // NOLINT(bugprone-use-after-move): the promise
  memory::Buffer none(nullptr, 0, tensor::Device::Cpu(), [](void*) {});
  EXPECT_THAT(Governed::Adopt(std::move(none), {1}), FailsWith(Failure::kShapeMismatch));
}

// Each clone comes from the allocator of that call.
TEST(GovernedAllocatorTest, ServesTheCallItIsGivenTo) {
  testing::CountingAllocator allocator;
  const auto counts = allocator.counts();
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(Governed t, Governed::Alloc({4, 4}, &allocator));
    EXPECT_EQ(counts->allocations, 1);
    EXPECT_EQ(counts->last_bytes, 64u);
    EXPECT_EQ(counts->last_alignment, 64u);
    EXPECT_EQ(counts->zeroed, 1);
    EXPECT_EQ(ValuesOf(t), Floats(16, 0.0f));
    ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{0, 2}, {1, 3}}));
    ENGINE_ASSERT_OK(v.Set({0, 0}, 1, &allocator));
    EXPECT_EQ(counts->allocations, 2);
    EXPECT_EQ(counts->last_bytes, 24u);  // 1 + 4 + 1 elements
    ENGINE_ASSERT_OK(v.Set({0, 0}, 1, &allocator));
    EXPECT_EQ(counts->allocations, 2);  // exclusive: nothing to allocate
    ENGINE_ASSERT_OK(v.Materialize(&allocator));
    EXPECT_EQ(counts->last_bytes, 16u);
    Governed copy = v;
    ENGINE_ASSERT_OK(copy.mutable_data(&allocator));
    EXPECT_EQ(counts->allocations, 4);
    EXPECT_EQ(counts->deletions, 1);  // the clone that Materialize left
    EXPECT_EQ(counts->zeroed, 1);     // no clone is filled before it is written
  }
  EXPECT_EQ(counts->deletions, 4);
}

}  // namespace
}  // namespace engine::governed
