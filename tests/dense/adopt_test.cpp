// Storage from elsewhere, and Tensors in both directions (clauses tensor.adopt, tensor.type,
// tensor.handle, tensor.bool).
#include <cstdlib>

#include "dense_test_util.h"
#include "tensor/ops.h"
#include "testing/tensors.h"

namespace engine::dense {
namespace {

using ::engine::testing::BorrowStorage;
using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using memory::Buffer;
using tensor::DataType;
using tensor::Tensor;
using ::testing::ElementsAre;

// `bytes` of memory whose release is counted.
Buffer CountedBuffer(std::size_t bytes, int* deletions, bool read_only = false) {
  void* const data = bytes == 0 ? nullptr : std::calloc(bytes, 1);
  return Buffer(
      data, bytes, tensor::Device::Cpu(),
      [deletions](void* memory) {
        ++*deletions;
        std::free(memory);
      },
      read_only);
}

TEST(AdoptBufferTest, TakesOverStorageAndValues) {
  int deletions = 0;
  {
    Buffer buffer = CountedBuffer(24, &deletions);
    auto* const values = static_cast<std::int32_t*>(buffer.data());
    for (int i = 0; i < 6; ++i) values[i] = i;
    auto matrix = Value(DenseMatrix<std::int32_t>::Adopt(std::move(buffer), {2, 3}));
    EXPECT_EQ(matrix.data(), values);
    EXPECT_THAT(matrix, ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_FALSE(buffer.engaged());  // NOLINT(bugprone-use-after-move): what this is about
    EXPECT_EQ(deletions, 0);
  }
  EXPECT_EQ(deletions, 1);
}

TEST(AdoptBufferTest, WithStridesAndRoomToSpare) {
  int deletions = 0;
  Buffer buffer = CountedBuffer(100, &deletions);
  auto* const values = static_cast<std::int32_t*>(buffer.data());
  values[9] = 7;
  const auto matrix =
      Value(DenseMatrix<std::int32_t, Strided>::Adopt(std::move(buffer), {2, 3}, {1, 4}));
  EXPECT_EQ(matrix(1, 2), 7);
  EXPECT_EQ(matrix.data(), values);
}

// The reach of the layout has to fit, not just the number of elements: 7 against 6.
TEST(AdoptBufferTest, GapsNeedRoomToo) {
  int deletions = 0;
  using Matrix = DenseMatrix<std::int32_t, Strided>;
  Buffer tight = CountedBuffer(24, &deletions);
  EXPECT_THAT(Matrix::Adopt(std::move(tight), {2, 3}, {4, 1}),
              StatusIs(kInvalid, "does not fit the buffer of 24 bytes (tensor.adopt)"));
  Buffer exact = CountedBuffer(28, &deletions);
  ENGINE_EXPECT_OK(Matrix::Adopt(std::move(exact), {2, 3}, {4, 1}));
}

TEST(AdoptBufferTest, RefusedBuffersStayWithTheCaller) {
  int deletions = 0;
  using Matrix = DenseMatrix<std::int32_t>;
  Buffer buffer = CountedBuffer(24, &deletions);
  EXPECT_THAT(Matrix::Adopt(std::move(buffer), {2, 4}),
              StatusIs(kInvalid, "does not fit the buffer of 24 bytes (tensor.adopt)"));
  EXPECT_THAT(Matrix::Adopt(std::move(buffer), {-1, 4}), StatusIs(kInvalid));
  EXPECT_THAT((DenseVector<std::int32_t>::Adopt(std::move(buffer), {kOne << 62})),
              StatusIs(kInvalid));
  EXPECT_THAT((DenseMatrix<std::int32_t, Strided>::Adopt(std::move(buffer), {2, 3}, {1, 1})),
              StatusIs(kInvalid, "(layout.strided)"));
  EXPECT_TRUE(buffer.engaged());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(deletions, 0);

  Buffer read_only = CountedBuffer(24, &deletions, /*read_only=*/true);
  EXPECT_THAT(Matrix::Adopt(std::move(read_only), {2, 3}), StatusIs(kInvalid, "read-only"));
  Buffer device(reinterpret_cast<void*>(std::uintptr_t{64}), 24, tensor::Device::Cuda(0),
                [](void*) {});
  EXPECT_THAT(Matrix::Adopt(std::move(device), {2, 3}),
              StatusIs(core::StatusCode::kUnimplemented, "cuda:0"));
  alignas(8) std::array<unsigned char, 32> bytes{};
  Buffer odd(bytes.data() + 2, 24, tensor::Device::Cpu(), [](void*) {});
  EXPECT_THAT(Matrix::Adopt(std::move(odd), {2, 3}), StatusIs(kInvalid, "not aligned to 4"));
  ENGINE_EXPECT_OK(Matrix::Adopt(std::move(odd), {0, 3}));  // nothing to be aligned
  bytes[3] = 9;
  Buffer no_bools(bytes.data(), 8, tensor::Device::Cpu(), [](void*) {});
  EXPECT_THAT(DenseVector<bool>::Adopt(std::move(no_bools), {8}),
              StatusIs(kInvalid, "the byte 9, which is no bool (tensor.bool)"));
}

TEST(AdoptTensorTest, SharesTheStorage) {
  const Tensor base = testing::Counting({3, 4}, DataType::kInt32);
  const Tensor rows = *base.slice(0, 1, 3);
  auto matrix = Value(DenseMatrix<std::int32_t>::Adopt(rows));
  EXPECT_EQ(matrix.data(), rows.data());
  matrix(0, 0) = -4;
  EXPECT_EQ(base.item<std::int32_t>({1, 0}), -4);
  const Tensor turned = *base.transpose(0, 1);
  const auto column = Value(DenseMatrix<std::int32_t, ColumnMajor>::Adopt(turned));
  EXPECT_EQ(column.data(), base.data());
  EXPECT_EQ(column(0, 1), -4);
  const auto strided = Value(DenseMatrix<std::int32_t, Strided>::Adopt(*base.slice(1, 1, 3)));
  EXPECT_EQ(strided(2, 1), 10);
  EXPECT_EQ(strided.strides(), (Extents<2>{4, 1}));
}

TEST(AdoptTensorTest, KeepsTheStorageAlive) {
  CountingAllocator allocator;
  DenseVector<std::int32_t> vector;
  {
    const Tensor tensor =
        *tensor::ops::full({5}, 3, DataType::kInt32, tensor::Device::Cpu(), &allocator);
    vector = Value(DenseVector<std::int32_t>::Adopt(tensor));
  }
  EXPECT_EQ(allocator.counts()->deletions, 0);
  EXPECT_THAT(vector, ElementsAre(3, 3, 3, 3, 3));
  vector = {};
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

TEST(AdoptTensorTest, RefusesWhatItWouldHaveToCopy) {
  const Tensor base = testing::Counting({3, 4}, DataType::kInt32);
  EXPECT_THAT(DenseMatrix<std::int32_t>::Adopt(*base.transpose(0, 1)),
              StatusIs(kInvalid, "are not row-major (tensor.type)"));
  EXPECT_THAT(DenseMatrix<float>::Adopt(base), StatusIs(kInvalid, "dtype int32"));
  EXPECT_THAT(DenseVector<std::int32_t>::Adopt(base), StatusIs(kInvalid, "expected rank 1"));
  const Tensor overlapping =
      *Tensor::from_strided_buffer(base.buffer(), 0, {3, 3}, {1, 1}, DataType::kInt32);
  EXPECT_THAT((DenseMatrix<std::int32_t, Strided>::Adopt(overlapping)),
              StatusIs(kInvalid, "(layout.strided)"));
}

// Any strides, any alignment, read-only or not.
TEST(FromTensorTest, CopiesWhateverLiesThere) {
  const Tensor base = testing::Counting({3, 4}, DataType::kInt32);
  CountingAllocator allocator;
  const auto copy = Value(DenseMatrix<std::int32_t>::FromTensor(*base.transpose(0, 1), &allocator));
  EXPECT_THAT(copy, ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_NE(copy.data(), base.data());
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
  const auto column = Value(DenseMatrix<std::int32_t, ColumnMajor>::FromTensor(base));
  EXPECT_THAT(column, ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));

  std::array<unsigned char, 13> bytes{};
  const float values[3] = {1.5f, -2, 0.25f};
  std::memcpy(bytes.data() + 1, values, 12);
  const Tensor odd = *Tensor::from_buffer(BorrowStorage(bytes.data(), 13, /*read_only=*/true), 1,
                                          {3}, DataType::kFloat32);
  EXPECT_THAT(Value(DenseVector<float>::FromTensor(odd)), ElementsAre(1.5f, -2, 0.25f));
  EXPECT_THAT(DenseVector<double>::FromTensor(odd), StatusIs(kInvalid, "dtype float32"));
  EXPECT_THAT(DenseMatrix<float>::FromTensor(odd), StatusIs(kInvalid, "expected rank 2"));
}

// P23: every byte but 0 reads as true, and 1 is what true is stored as.
TEST(FromTensorTest, BytesBecomeBools) {
  std::array<unsigned char, 4> bytes = {0, 1, 2, 255};
  const Tensor tensor =
      *Tensor::from_buffer(BorrowStorage(bytes.data(), 4), 0, {4}, DataType::kBool);
  const auto copy = Value(DenseVector<bool>::FromTensor(tensor));
  EXPECT_THAT(InMemory(reinterpret_cast<const unsigned char*>(copy.data()), 4),
              ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(bytes[2], 2);
}

TEST(AsTensorTest, SharesTheStorageInEveryLayout) {
  DenseMatrix<std::int32_t> row = Coordinates(2, 3);
  const Tensor handle = Value(row.AsTensor());
  EXPECT_EQ(handle.data(), row.data());
  EXPECT_EQ(handle.shape(), tensor::Shape({2, 3}));
  EXPECT_EQ(handle.dtype(), DataType::kInt32);
  EXPECT_TRUE(handle.is_contiguous());
  EXPECT_FALSE(handle.is_read_only());
  handle.data_ptr<std::int32_t>()[4] = -11;
  EXPECT_EQ(row(1, 1), -11);

  auto column = Coordinates<std::int32_t, ColumnMajor>(2, 3);
  const Tensor turned = Value(column.AsTensor());
  EXPECT_EQ(turned.data(), column.data());
  EXPECT_EQ(turned.strides(), tensor::Strides({1, 2}));
  EXPECT_EQ(turned.item<std::int32_t>({1, 2}), 12);

  DenseMatrix<std::int32_t, Strided> strided(Extents<2>{2, 2}, Extents<2>{5, 2});
  strided(1, 1) = 8;
  EXPECT_EQ(Value(strided.AsTensor()).item<std::int32_t>({1, 1}), 8);
}

TEST(AsTensorTest, OfAConstTensorIsReadOnly) {
  CountingAllocator allocator;
  Tensor handle;
  {
    const auto matrix = Value(DenseMatrix<float>::Create({2, 3}, &allocator));
    handle = Value(matrix.AsTensor());
    EXPECT_EQ(handle.data(), matrix.data());
  }
  EXPECT_TRUE(handle.is_read_only());
  EXPECT_THAT(tensor::ops::fill(handle, 1), StatusIs(kInvalid, "read-only"));
  EXPECT_EQ(allocator.counts()->deletions, 0);  // the handle keeps it alive
  EXPECT_EQ(handle.item<float>({1, 2}), 0);
  handle = Tensor();
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

TEST(AsTensorTest, OfAnRvalueTakesTheStorage) {
  CountingAllocator allocator;
  auto matrix = Value(DenseMatrix<float>::Create({2, 3}, &allocator));
  const float* const storage = matrix.data();
  Tensor handle = Value(std::move(matrix).AsTensor());
  EXPECT_EQ(handle.data(), storage);
  EXPECT_FALSE(handle.is_read_only());
  EXPECT_EQ(matrix.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  handle = Tensor();
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

TEST(AsTensorTest, WithoutElements) {
  DenseMatrix<float> matrix(0, 3);
  const Tensor handle = Value(matrix.AsTensor());
  EXPECT_TRUE(handle.defined());
  EXPECT_EQ(handle.shape(), tensor::Shape({0, 3}));
  EXPECT_EQ(Value(std::as_const(matrix).AsTensor()).numel(), 0);
  const auto back = Value(DenseMatrix<float>::Adopt(handle));
  EXPECT_EQ(back.extents(), (Extents<2>{0, 3}));
}

// There and back is the same memory.
TEST(AsTensorTest, RoundTripKeepsTheAddress) {
  DenseTensor<std::int64_t, 3> tensor = Counting<std::int64_t, 3>({2, 3, 4});
  const std::int64_t* const storage = tensor.data();
  const auto back = Value(DenseTensor<std::int64_t, 3>::Adopt(Value(std::move(tensor).AsTensor())));
  EXPECT_EQ(back.data(), storage);
  EXPECT_EQ(back(1, 2, 3), 23);
}

}  // namespace
}  // namespace engine::dense
