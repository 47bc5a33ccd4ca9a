// DenseView: typed views of memory and of Tensors (clauses layout.window, tensor.type, tensor.bool).
#include "dense/dense_view.h"

#include <array>

#include "dense_test_util.h"
#include "tensor/ops.h"
#include "testing/tensors.h"

namespace engine::dense {
namespace {

using ::engine::testing::BorrowStorage;
using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Tensor;

TEST(DenseViewTest, OverASpan) {
  std::array<std::int32_t, 7> memory = {0, 1, 2, 3, 4, 5, 6};
  const auto row = Value(DenseView<std::int32_t, 2>::Create(memory, {2, 3}));
  EXPECT_EQ(row(1, 0), 3);
  row(1, 0) = -3;
  EXPECT_EQ(memory[3], -3);
  EXPECT_EQ(row.span().size(), 6u);
  EXPECT_EQ(row.end() - row.begin(), 6);
  EXPECT_EQ(row.shape(), tensor::Shape({2, 3}));
  EXPECT_EQ(row.extent(1), 3);
  const auto column = Value(DenseView<const std::int32_t, 2, ColumnMajor>::Create(memory, {2, 3}));
  EXPECT_EQ(column(1, 0), 1);
  EXPECT_EQ(column(0, 2), 4);
  const auto strided =
      Value(DenseView<const std::int32_t, 2, Strided>::Create(memory, {2, 2}, {1, 5}));
  EXPECT_EQ(strided(1, 1), 6);
  EXPECT_EQ(strided.numel(), 4);
}

TEST(DenseViewTest, ReadingWhereWritingIsAllowed) {
  std::array<float, 4> memory = {1, 2, 3, 4};
  const auto writable = Value(DenseView<float, 1>::Create(memory, {4}));
  const DenseView<const float, 1> readable = writable;
  EXPECT_EQ(readable.data(), writable.data());
  static_assert(!std::is_constructible_v<DenseView<float, 1>, DenseView<const float, 1>>);
  static_assert(std::is_trivially_copyable_v<DenseView<float, 2>>);
}

TEST(DenseViewTest, DefaultHasNoElements) {
  EXPECT_EQ((DenseView<float, 2>().numel()), 0);
  EXPECT_EQ((DenseView<float, 0>().numel()), 0);
  EXPECT_TRUE((DenseView<float, 0>().empty()));
}

TEST(DenseViewTest, StaysWithinItsSpan) {
  std::array<std::int32_t, 6> memory{};
  using View = DenseView<std::int32_t, 2>;
  using StridedView = DenseView<std::int32_t, 2, Strided>;
  EXPECT_THAT(View::Create(memory, {2, 4}), StatusIs(kInvalid, "reaches 8 elements"));
  EXPECT_THAT(View::Create(memory, {-1, 4}),
              StatusIs(kInvalid, "DenseView: extent -1 of axis 0 in [-1, 4] is negative"));
  EXPECT_THAT(View::Create(memory, {kOne << 32, kOne << 32}), StatusIs(kInvalid, "overflows"));
  EXPECT_THAT(StridedView::Create(memory, {2, 3}, {4, 1}), StatusIs(kInvalid, "(layout.window)"));
  EXPECT_THAT(StridedView::Create(memory, {2, 3}, {0, 1}), StatusIs(kInvalid));
  ENGINE_EXPECT_OK(StridedView::Create(memory, {3, 3}, {1, 1}));  // overlap is the caller's affair
  ENGINE_EXPECT_OK(View::Create(std::span<std::int32_t>(), {0, 3}));
}

// tensor.handle: a view keeps no storage alive, so that a temporary handle is refused.
template <typename View, typename Handle>
constexpr bool kHasViewOf = requires(Handle handle) {
  View::Of(std::forward<Handle>(handle));
};
static_assert(kHasViewOf<DenseView<float, 2>, const Tensor&>);
static_assert(!kHasViewOf<DenseView<float, 2>, Tensor>);
static_assert(!kHasViewOf<DenseView<float, 2>, const Tensor>);

TEST(DenseViewTest, OverATensor) {
  const Tensor base = testing::Counting({3, 4}, DataType::kInt32);
  const auto view = Value(DenseView<std::int32_t, 2>::Of(base));
  EXPECT_EQ(view.data(), base.data());
  EXPECT_EQ(view(2, 1), 9);
  view(2, 1) = -9;
  EXPECT_EQ(base.item<std::int32_t>({2, 1}), -9);
  const Tensor turned = *base.transpose(0, 1);
  const auto column = Value(DenseView<const std::int32_t, 2, ColumnMajor>::Of(turned));
  EXPECT_EQ(column(1, 2), -9);
  const Tensor part = *base.slice(1, 1, 3);
  const auto strided = Value(DenseView<std::int32_t, 2, Strided>::Of(part));
  EXPECT_EQ(strided.strides(), (Extents<2>{4, 1}));
  EXPECT_EQ(strided(2, 0), -9);
}

TEST(DenseViewTest, TensorHasToFitTheType) {
  const Tensor base = testing::Counting({3, 4}, DataType::kInt32);
  const Tensor part = *base.slice(1, 1, 3);
  EXPECT_THAT((DenseView<float, 2>::Of(base)), StatusIs(kInvalid, "dtype int32"));
  EXPECT_THAT((DenseView<std::int32_t, 1>::Of(base)), StatusIs(kInvalid, "expected rank 1"));
  EXPECT_THAT((DenseView<std::int32_t, 2>::Of(part)), StatusIs(kInvalid, "are not row-major"));
  EXPECT_THAT((DenseView<std::int32_t, 2, ColumnMajor>::Of(base)),
              StatusIs(kInvalid, "are not column-major"));
  std::array<std::int32_t, 4> memory{};
  const Tensor read_only =
      *Tensor::from_buffer(BorrowStorage(memory.data(), 16, true), 0, {4}, DataType::kInt32);
  EXPECT_THAT((DenseView<std::int32_t, 1>::Of(read_only)), StatusIs(kInvalid, "read-only"));
  ENGINE_EXPECT_OK((DenseView<const std::int32_t, 1>::Of(read_only)));
  const Tensor device = *Tensor::from_buffer(
      BorrowStorage(memory.data(), 16, false, tensor::Device::Cuda(0)), 0, {4}, DataType::kInt32);
  EXPECT_THAT((DenseView<const std::int32_t, 1>::Of(device)),
              StatusIs(core::StatusCode::kUnimplemented, "cuda:0"));
}

// P75: a typed reference to a misaligned address would be undefined.
TEST(DenseViewTest, MisalignedTensorsAreRefused) {
  alignas(4) std::array<unsigned char, 13> memory{};
  const Tensor odd =
      *Tensor::from_buffer(BorrowStorage(memory.data(), 13), 1, {3}, DataType::kFloat32);
  EXPECT_THAT((DenseView<const float, 1>::Of(odd)), StatusIs(kInvalid, "not aligned to 4 bytes"));
  // As in a checkpoint behind a tensor of one byte: no element, so nothing to be aligned.
  const Tensor none =
      *Tensor::from_buffer(BorrowStorage(memory.data(), 13), 1, {0}, DataType::kFloat32);
  const auto view = Value(DenseView<float, 1>::Of(none));
  EXPECT_TRUE(view.empty());
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_TRUE(Value(DenseVector<float>::Adopt(none)).empty());
}

// P23: a byte that is no bool must not become a bool object.
TEST(DenseViewTest, BytesThatAreNoBoolAreRefused) {
  std::array<unsigned char, 4> memory = {0, 1, 2, 1};
  const Tensor tensor =
      *Tensor::from_buffer(BorrowStorage(memory.data(), 4), 0, {4}, DataType::kBool);
  EXPECT_THAT((DenseView<const bool, 1>::Of(tensor)),
              StatusIs(kInvalid, "element 2 of shape [4] is the byte 2"));
  const Tensor sound = *tensor.slice(0, 0, 2);
  const auto view = Value(DenseView<const bool, 1>::Of(sound));
  EXPECT_FALSE(view(0));
  EXPECT_TRUE(view(1));
}

}  // namespace
}  // namespace engine::dense
