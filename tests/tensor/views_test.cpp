// slice, reshape and view_as_dtype: new handles on the same bytes.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "tensor/tensor.h"
#include "tensor_test_support.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;
constexpr std::int64_t kOne = 1;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

// slice: [start, end) of one axis, the same strides, the offset moved by start * stride * itemsize.

TEST(TensorSliceTest, OuterAxisKeepsContiguity) {
  const Tensor base = Iota({4, 3, 2});
  const Tensor view = Value(base.slice(0, 1, 3));
  EXPECT_EQ(view.shape(), Shape({2, 3, 2}));
  EXPECT_EQ(view.strides(), Strides({6, 2, 1}));
  EXPECT_EQ(view.byte_offset(), 24u);
  EXPECT_EQ(view.numel(), 12);
  EXPECT_EQ(view.dtype(), DataType::kInt32);
  EXPECT_EQ(view.buffer(), base.buffer());
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_THAT(Elements(view), ElementsAre(6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17));
}

TEST(TensorSliceTest, InnerAxisGivesAStridedView) {
  const Tensor view = Value(Iota({3, 4}).slice(1, 1, 3));
  EXPECT_EQ(view.shape(), Shape({3, 2}));
  EXPECT_EQ(view.strides(), Strides({4, 1}));
  EXPECT_EQ(view.byte_offset(), 4u);
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_THAT(Elements(view), ElementsAre(1, 2, 5, 6, 9, 10));
}

TEST(TensorSliceTest, WholeAxisIsTheSameLayout) {
  const Tensor view = Value(Iota({3, 4}).slice(1, 0, 4));
  EXPECT_EQ(view.shape(), Shape({3, 4}));
  EXPECT_EQ(view.byte_offset(), 0u);
  EXPECT_TRUE(view.is_contiguous());
}

TEST(TensorSliceTest, WritesShowThroughEveryAlias) {
  const Tensor base = Iota({3, 4});
  const Tensor rows = Value(base.slice(0, 1, 3));
  const Tensor cell = Value(rows.slice(1, 2, 3));
  cell.data_ptr<std::int32_t>()[0] = -1;
  cell.data_ptr<std::int32_t>()[4] = -2;  // its row stride
  EXPECT_EQ(base.item<std::int32_t>({1, 2}), -1);
  EXPECT_EQ(rows.item<std::int32_t>({1, 2}), -2);
  base.data_ptr<std::int32_t>()[6] = 100;
  EXPECT_EQ(cell.item<std::int32_t>({0, 0}), 100);
  EXPECT_THAT(Elements(base), ElementsAre(0, 1, 2, 3, 4, 5, 100, 7, 8, 9, -2, 11));
}

// P36: slices of slices compose offset and strides.
TEST(TensorSliceTest, ThreeSlicesDeep) {
  const Tensor base = Iota({3, 4, 5});
  const Tensor view = Value(Value(Value(base.slice(0, 1, 3)).slice(1, 2, 4)).slice(2, 3, 4));
  EXPECT_EQ(view.shape(), Shape({2, 2, 1}));
  EXPECT_EQ(view.strides(), Strides({20, 5, 1}));
  EXPECT_EQ(view.item<std::int32_t>({1, 0, 0}), 2 * 20 + 2 * 5 + 3);
  EXPECT_THAT(Elements(view), ElementsAre(33, 38, 53, 58));
}

// P33: an empty range at the end, and another one whose formula passes the buffer's end.
TEST(TensorSliceTest, EmptyRangeAtTheEnd) {
  const Tensor base = Value(Tensor::from_buffer(MakeBuffer(48), 0, {3, 4}, DataType::kFloat32));
  const Tensor rows = Value(base.slice(0, 3, 3));
  EXPECT_EQ(rows.shape(), Shape({0, 4}));
  EXPECT_EQ(rows.numel(), 0);
  EXPECT_EQ(rows.byte_offset(), 48u);
  EXPECT_EQ(BytesIntoBuffer(rows), 48);
  EXPECT_NE(rows.data(), nullptr);
  const Tensor corner = Value(rows.slice(1, 4, 4));
  EXPECT_EQ(corner.shape(), Shape({0, 0}));
  EXPECT_EQ(corner.byte_offset(), 48u);
  EXPECT_EQ(BytesIntoBuffer(corner), 48);
  // An empty range elsewhere takes the formula as it is.
  EXPECT_EQ(Value(base.slice(0, 1, 1)).byte_offset(), 16u);
  EXPECT_EQ(Value(base.slice(1, 2, 2)).byte_offset(), 8u);
}

// P33: every way a slice can be wrong; the message has the range and the shape.
TEST(TensorSliceTest, BadArguments) {
  const Tensor base = Iota({3, 4});
  const auto bad_range = [&](int dim, std::int64_t start, std::int64_t end, const char* text) {
    EXPECT_THAT(base.slice(dim, start, end),
                StatusIs(kInvalid, AllOf(HasSubstr("slice: range "), HasSubstr(text),
                                         HasSubstr("shape [3, 4]"))));
  };
  bad_range(0, 2, 1, "[2, 1) of axis 0");
  bad_range(0, 0, 4, "[0, 4) of axis 0");
  bad_range(0, -1, 2, "[-1, 2) of axis 0");
  bad_range(1, 5, 5, "[5, 5) of axis 1");
  bad_range(1, kInt64Min, kInt64Max, "of axis 1");
  for (const int dim : {2, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    EXPECT_THAT(base.slice(dim, 0, 1),
                StatusIs(kInvalid, AllOf(HasSubstr("slice: axis " + std::to_string(dim)),
                                         HasSubstr("[0, 2)"), HasSubstr("shape [3, 4]"))));
  }
  EXPECT_THAT(Iota({}).slice(0, 0, 0), StatusIs(kInvalid, "shape []"));
  // Nothing has changed, and no failed call kept a reference.
  EXPECT_EQ(base.shape(), Shape({3, 4}));
  EXPECT_EQ(base.byte_offset(), 0u);
  EXPECT_EQ(base.buffer().use_count(), 1);
}

// P34: the offset of an empty view overflows int64_t in bytes.
TEST(TensorSliceTest, OffsetOfNoElementsCannotOverflow) {
  const Tensor base = Value(Tensor::empty({0, kOne << 62}, DataType::kFloat32, Device::Cpu()));
  const Tensor view = Value(base.slice(1, kOne << 61, kOne << 61));
  EXPECT_EQ(view.shape(), Shape({0, 0}));
  EXPECT_EQ(view.byte_offset(), 0u);  // the buffer has no bytes
  EXPECT_EQ(view.data(), nullptr);

  // The same over 16 bytes: the formula saturates, then ends at the buffer's end.
  const Tensor backed =
      Value(Tensor::from_buffer(MakeBuffer(16), 8, {0, kOne << 62}, DataType::kFloat32));
  EXPECT_EQ(BytesIntoBuffer(Value(backed.slice(1, kOne << 61, kOne << 61))), 16);
  EXPECT_EQ(BytesIntoBuffer(Value(backed.slice(1, 1, 5))), 12);
  EXPECT_EQ(BytesIntoBuffer(Value(backed.select(1, kOne << 61))), 16);
  EXPECT_EQ(BytesIntoBuffer(Value(backed.select(1, 1))), 12);
  EXPECT_EQ(BytesIntoBuffer(Value(backed.strided_slice({{0, 0}, {kOne << 61, kOne << 61}}))), 16);
  // start * stride itself overflows, before any item size.
  const Tensor strided = Value(
      Tensor::from_strided_buffer(MakeBuffer(16), 4, {0, 4}, {1, kInt64Max}, DataType::kInt8));
  EXPECT_EQ(BytesIntoBuffer(Value(strided.slice(1, 3, 4))), 16);
  EXPECT_EQ(BytesIntoBuffer(Value(strided.select(1, 2))), 16);
  // Elements times the item size saturates, and the offset still comes on top.
  const Tensor doubles = Value(
      Tensor::from_strided_buffer(MakeBuffer(16), 8, {0, 4}, {1, kInt64Max}, DataType::kFloat64));
  EXPECT_EQ(BytesIntoBuffer(Value(doubles.slice(1, 3, 4))), 16);
}

// P42: offsets beyond 2^31, in a region of which only the touched pages exist.
TEST(TensorSliceTest, OffsetsBeyondTwoGibibytes) {
  constexpr std::size_t kBytes = std::size_t{3} << 30;
  void* const region = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(region, MAP_FAILED);
  const Tensor base = Value(Tensor::from_buffer(
      std::make_shared<memory::Buffer>(region, kBytes, Device::Cpu(),
                                       [](void* data) { munmap(data, kBytes); }),
      0, {3, kOne << 30}, DataType::kInt8));
  const Tensor column = Value(base.slice(1, (kOne << 30) - 1, kOne << 30));
  EXPECT_EQ(column.shape(), Shape({3, 1}));
  EXPECT_EQ(column.byte_offset(), 1073741823u);
  auto* const bytes = static_cast<std::int8_t*>(region);
  bytes[1073741823u] = 1;
  bytes[2147483647u] = 2;
  bytes[3221225471u] = 3;
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(column.item<std::int8_t>({i, 0}), i + 1);
  const Tensor last = Value(base.select(0, 2));
  EXPECT_EQ(last.byte_offset(), 2147483648u);
  EXPECT_EQ(last.item<std::int8_t>({(kOne << 30) - 1}), 3);
  EXPECT_EQ(Value(base.reshape({3 * (kOne << 30)})).item<std::int8_t>({3221225471}), 3);
}

// reshape: contiguous tensors only, the same count, never a copy.

TEST(TensorReshapeTest, GivesRowMajorStridesAtTheSameOffset) {
  const Tensor base = Value(Iota({4, 6}).slice(0, 1, 3));
  const Tensor view = Value(base.reshape({3, 2, 2}));
  EXPECT_EQ(view.strides(), Strides({4, 2, 1}));
  EXPECT_EQ(view.byte_offset(), 24u);
  EXPECT_EQ(view.data(), base.data());
  EXPECT_THAT(Elements(view), ElementsAre(6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17));
  view.data_ptr<std::int32_t>()[0] = -5;
  EXPECT_EQ(base.item<std::int32_t>({0, 0}), -5);
}

TEST(TensorReshapeTest, ScalarsAndAllOnes) {
  EXPECT_EQ(Value(Iota({}).reshape({1, 1})).strides(), Strides({1, 1}));
  EXPECT_EQ(Value(Iota({1, 1, 1}).reshape({})).item<std::int32_t>({}), 0);
  EXPECT_EQ(Value(Iota({1}).reshape({1, 1, 1, 1, 1, 1, 1, 1})).shape().rank(), 8);
}

// P32: a slice that is contiguous although a stride looks strange.
TEST(TensorReshapeTest, StrideOfASizeOneAxisDoesNotMatter) {
  const Tensor base = Value(Tensor::empty({1, 8, 2048}, DataType::kFloat32, Device::Cpu()));
  const Tensor view = Value(base.slice(1, 7, 8));
  EXPECT_EQ(view.shape(), Shape({1, 1, 2048}));
  EXPECT_EQ(view.strides(), Strides({16384, 2048, 1}));
  EXPECT_EQ(view.byte_offset(), 57344u);
  EXPECT_TRUE(view.is_contiguous());
  const Tensor flat = Value(view.reshape({2048}));
  EXPECT_EQ(flat.strides(), Strides({1}));
  EXPECT_EQ(flat.byte_offset(), 57344u);
  const Tensor row = Value(view.reshape({1, 2048}));
  EXPECT_EQ(row.strides(), Strides({2048, 1}));
  EXPECT_EQ(row.byte_offset(), 57344u);
}

// P35: no elements fit any shape without elements, and no other.
TEST(TensorReshapeTest, NoElements) {
  const Tensor base = Value(Tensor::empty({4, 0}, DataType::kFloat32, Device::Cpu()));
  EXPECT_EQ(Value(base.reshape({37, 0})).shape(), Shape({37, 0}));
  EXPECT_EQ(Value(base.reshape({0})).shape(), Shape({0}));
  const Tensor view = Value(base.reshape({0, 5}));
  EXPECT_EQ(view.shape(), Shape({0, 5}));
  EXPECT_EQ(view.strides(), Strides({5, 1}));
  EXPECT_THAT(base.reshape({4}), StatusIs(kInvalid, AllOf(HasSubstr("[4, 0]"), HasSubstr("[4]"))));
  EXPECT_THAT(base.reshape({}), StatusIs(kInvalid));
}

TEST(TensorReshapeTest, WrongCountNamesBothShapes) {
  const Tensor base = Iota({3, 4});
  EXPECT_THAT(base.reshape({5, 2}),
              StatusIs(kInvalid, AllOf(HasSubstr("reshape: "), HasSubstr("12 elements of [3, 4]"),
                                       HasSubstr("10 of [5, 2]"))));
  EXPECT_THAT(base.reshape({0}), StatusIs(kInvalid));
  EXPECT_EQ(base.buffer().use_count(), 1);
}

TEST(TensorReshapeTest, NotContiguousSaysToCopy) {
  const Tensor columns = Value(Iota({3, 4}).slice(1, 0, 2));
  EXPECT_THAT(columns.reshape({6}),
              StatusIs(kInvalid, AllOf(HasSubstr("reshape: "), HasSubstr("[3, 2]"),
                                       HasSubstr("[4, 1]"), HasSubstr("[6]"), HasSubstr("copy"))));
  // The same shape is no exception: the result would have to be row-major.
  EXPECT_THAT(columns.reshape({3, 2}), StatusIs(kInvalid, "not contiguous"));
  EXPECT_THAT(Value(Iota({3, 4}).transpose(0, 1)).reshape({12}), StatusIs(kInvalid));
}

// view_as_dtype: the same bytes under a dtype of the same width.

TEST(TensorViewAsDtypeTest, EveryPairOfDtypes) {
  for (const DataType from : kAllDataTypes) {
    if (is_reserved(from)) continue;
    const Tensor whole = Value(Tensor::empty({2, 3}, from, Device::Cpu()));
    const Tensor base = Value(whole.slice(1, 1, 3));
    for (const DataType to : kAllDataTypes) {
      const core::StatusOr<Tensor> view = base.view_as_dtype(to);
      const std::string from_name(to_string(from));
      const std::string to_name(to_string(to));
      if (is_reserved(to)) {
        EXPECT_THAT(view, StatusIs(core::StatusCode::kUnimplemented,
                                   AllOf(HasSubstr("view_as_dtype: "), HasSubstr(to_name),
                                         HasSubstr(from_name), HasSubstr("[2, 2]"))));
      } else if (itemsize_bits(from) != itemsize_bits(to)) {
        EXPECT_THAT(view, StatusIs(kInvalid, AllOf(HasSubstr("view_as_dtype: "), HasSubstr(to_name),
                                                   HasSubstr(from_name), HasSubstr("[2, 2]"))));
      } else {
        ENGINE_ASSERT_OK(view);
        EXPECT_EQ(view->dtype(), to);
        EXPECT_EQ(view->shape(), base.shape());
        EXPECT_EQ(view->strides(), base.strides());
        EXPECT_EQ(view->data(), base.data());
      }
    }
  }
}

// Width alone would let these through: one byte each.
TEST(TensorViewAsDtypeTest, ReservedOfTheSameWidthIsUnimplemented) {
  const Tensor bytes = Value(Tensor::empty({4}, DataType::kInt8, Device::Cpu()));
  EXPECT_THAT(bytes.view_as_dtype(DataType::kFP8E4M3), StatusIs(core::StatusCode::kUnimplemented));
}

TEST(TensorViewAsDtypeTest, BitsAreReinterpreted) {
  const Tensor ints = Iota({2});
  ints.data_ptr<std::int32_t>()[1] = 0x40490FDB;
  const Tensor floats = Value(ints.view_as_dtype(DataType::kFloat32));
  EXPECT_EQ(floats.item<float>({1}), 3.14159274f);
  floats.data_ptr<float>()[0] = 1.0f;
  EXPECT_EQ(ints.item<std::int32_t>({0}), 0x3F800000);
}

}  // namespace
}  // namespace engine::tensor
