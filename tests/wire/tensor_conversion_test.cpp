// Messages as tensors and tensors as messages: no copy where none was asked for, nothing outside
// the payload, and agreement of all that the struct says twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tensor/ops.h"
#include "testing/allocators.h"
#include "testing/fp_mode.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"
#include "wire/tensor_message.h"
#include "wire_test_util.h"

namespace engine::wire {
namespace {

using core::StatusCode;
using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Shape;
using tensor::Strides;
using tensor::Tensor;
using Packing = TensorMessage::Packing;

// A float32 [2, 3] of 24 bytes, to be contradicted.
TensorMessage SmallMessage() {
  TensorMessage message;
  message.set_dtype(TensorMessage::kFloat32);
  SetShape(message, {2, 3});
  ENGINE_CHECK(message.create(24).ok());
  std::memset(message.mutable_data(), 0, 24);
  return message;
}

// --- ToTensor ---

TEST(ToTensorTest, EveryDTypeKeepsItsMeaning) {
  const std::pair<TensorMessage::DataType, DataType> pairs[] = {
      {TensorMessage::kBool, DataType::kBool},
      {TensorMessage::kInt8, DataType::kInt8},
      {TensorMessage::kUint8, DataType::kUInt8},
      {TensorMessage::kInt16, DataType::kInt16},
      {TensorMessage::kUint16, DataType::kUInt16},
      {TensorMessage::kInt32, DataType::kInt32},
      {TensorMessage::kUint32, DataType::kUInt32},
      {TensorMessage::kInt64, DataType::kInt64},
      {TensorMessage::kUint64, DataType::kUInt64},
      {TensorMessage::kFloat16, DataType::kFloat16},
      {TensorMessage::kBfloat16, DataType::kBFloat16},
      {TensorMessage::kFloat32, DataType::kFloat32},
      {TensorMessage::kFloat64, DataType::kFloat64}};
  ASSERT_EQ(std::size(pairs), 13u);
  for (const auto& [wire, engine] : pairs) {
    EXPECT_EQ(*ToTensorDataType(wire), engine);
    EXPECT_EQ(*ToMessageDataType(engine), wire);
    EXPECT_EQ(TensorMessage::element_size_of(wire), tensor::itemsize(engine));
  }
  EXPECT_THAT(ToTensorDataType(TensorMessage::kDataUnknown),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ToTensorDataType(static_cast<TensorMessage::DataType>(14)),
              StatusIs(StatusCode::kInvalidArgument, "14"));
  EXPECT_THAT(ToMessageDataType(DataType::kInt4), StatusIs(StatusCode::kUnimplemented, "int4"));
  EXPECT_THAT(ToMessageDataType(DataType::kFP8E4M3), StatusIs(StatusCode::kUnimplemented));
}

// The values of upstream's envelopes, through tensors.
TEST(ToTensorTest, ValuesOfUpstreamMessages) {
  const ByteVector contiguous = ParseBytes(upstream::kWritten[0].envelope);
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(contiguous));
  ENGINE_ASSERT_OK_AND_ASSIGN(Tensor view, message.ToTensor());
  EXPECT_EQ(view.shape(), (Shape{2, 3}));
  EXPECT_EQ(testing::ValuesOf<float>(view),
            (std::vector<float>{0.5f, -1.25f, 2.0f, 3.5f, -4.75f, 1e10f}));
  EXPECT_TRUE(view.is_read_only());

  ByteVector strided = ParseBytes(upstream::kWritten[2].envelope);
  ENGINE_ASSERT_OK(message.Decode(strided));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kUnimplemented, "device 2"));
  message.set_device(TensorMessage::kDeviceCpu);
  ENGINE_ASSERT_OK_AND_ASSIGN(view, message.ToTensor());
  EXPECT_EQ(view.strides(), (Strides{24, 12, 4, 2}));
  // Every second of 24 bytes that grow by 11 from -128 on.
  std::vector<std::int8_t> expected;
  for (int i = 0; i < 12; ++i) expected.push_back(static_cast<std::int8_t>(-128 + 22 * i));
  EXPECT_EQ(testing::ValuesOf<std::int8_t>(view), expected);
}

TEST(ToTensorTest, SharesOwnedStorage) {
  TensorMessage message = CountingMessage(3);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, message.ToTensor());
  EXPECT_EQ(view.data(), message.data());
  EXPECT_FALSE(view.is_read_only());
  // Filling the tensor fills the message.
  ENGINE_ASSERT_OK(tensor::ops::fill(view, 9));
  EXPECT_EQ(PayloadOf(message), (ByteVector{9, 9, 9}));
  message.clear();
  EXPECT_EQ(view.item<std::uint8_t>({2}), 9);
}

TEST(ToTensorTest, IsReadOnlyWhereTheBytesAre) {
  const ByteVector envelope = Encoded(CountingMessage(3));
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(envelope));
  EXPECT_TRUE(message.ToTensor()->is_read_only());
  ENGINE_ASSERT_OK(message.Decode(BufferOf(envelope, nullptr, /*read_only=*/true)));
  EXPECT_TRUE(message.ToTensor()->is_read_only());
  ENGINE_ASSERT_OK(message.Decode(BufferOf(envelope)));
  EXPECT_FALSE(message.ToTensor()->is_read_only());
  ByteVector bytes = {1, 2, 3};
  ENGINE_ASSERT_OK(message.shallow_copy(bytes.data(), 3));
  EXPECT_FALSE(message.ToTensor()->is_read_only());
}

TEST(ToTensorTest, DevicesOtherThanTheCpu) {
  TensorMessage message = SmallMessage();
  for (const auto device :
       {TensorMessage::kDeviceGpu, TensorMessage::kDeviceNpu, TensorMessage::kDeviceDsp}) {
    message.set_device(device);
    EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kUnimplemented, "no backend"));
  }
  message.set_device(static_cast<TensorMessage::Device>(4));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument, "4 is no device"));
}

// P86: the count, the shape and the size must agree, in arithmetic that does not wrap.
TEST(ToTensorTest, CountsThatDisagree) {
  ByteVector envelope = Encoded(SmallMessage());
  for (const std::uint64_t count :
       {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{7}, std::uint64_t{1000},
        std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    Patch<std::uint64_t>(envelope, kNumElementsAt, count);
    TensorMessage message;
    ENGINE_ASSERT_OK(message.Decode(envelope));
    EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument, "num_elements"));
  }
  TensorMessage message = SmallMessage();
  SetShape(message, {2, 4});
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument, "payload of 24 bytes"));
  SetShape(message, {2, 2});  // less than there is room for
  EXPECT_EQ(message.ToTensor()->shape(), (Shape{2, 2}));
}

// P87: strides that reach outside, or multiply beyond 64 bits.
TEST(ToTensorTest, StridesThatReachOutside) {
  TensorMessage message = SmallMessage();
  ENGINE_ASSERT_OK(message.set_stride_at(0, 1000));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument, "[1000, 1]"));
  ENGINE_ASSERT_OK(message.set_stride_at(0, 4));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument));
  ENGINE_ASSERT_OK(message.set_stride_at(0, 0));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument, "stride 0"));
  ENGINE_ASSERT_OK(message.set_stride_at(0, 3));
  ENGINE_EXPECT_OK(message.ToTensor());

  ByteVector envelope = Encoded(message);
  for (std::size_t axis = 0; axis < 8; ++axis) {
    Patch<std::uint32_t>(envelope, kStridesAt + 4 * axis, 4294967295u);
    Patch<std::uint32_t>(envelope, kShapeAt + 4 * axis, axis == 0 ? 4294967295u : 1);
  }
  envelope[kRankAt] = 8;
  Patch<std::uint64_t>(envelope, kNumElementsAt, 4294967295u);
  ENGINE_ASSERT_OK(message.Decode(envelope));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument));
}

// The end of the payload is the end of the tensor, also where the Buffer goes on: the end magic is
// no element.
TEST(ToTensorTest, NothingBehindThePayloadIsReached) {
  TensorMessage message = SmallMessage();
  ENGINE_ASSERT_OK(message.set_stride_at(0, 4));  // one element too far: where the magic lies
  const auto buffer = BufferOf(Encoded(message));
  ENGINE_ASSERT_OK(message.Decode(buffer));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument));
}

// Few bytes cannot pose as many elements.
TEST(ToTensorTest, OverlappingLayoutsHaveNoMoreElementsThanRoom) {
  TensorMessage message;
  message.set_dtype(TensorMessage::kUint8);
  SetShape(message, {10, 10, 10});
  for (std::uint8_t axis = 0; axis < 3; ++axis) ENGINE_ASSERT_OK(message.set_stride_at(axis, 1));
  ENGINE_ASSERT_OK(message.create(999));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument, "999 bytes"));
  ENGINE_ASSERT_OK(message.create(1000));
  ENGINE_EXPECT_OK(message.ToTensor());
}

TEST(ToTensorTest, WithoutElementsStridesDoNotMatter) {
  TensorMessage message;
  message.set_dtype(TensorMessage::kFloat32);
  SetShape(message, {2, 0, 3});
  ENGINE_ASSERT_OK(message.set_stride_at(0, 4294967295u));
  ENGINE_ASSERT_OK(message.set_stride_at(2, 0));
  ENGINE_ASSERT_OK_AND_ASSIGN(Tensor view, message.ToTensor());
  EXPECT_EQ(view.shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(view.numel(), 0);
  EXPECT_TRUE(view.defined());
  EXPECT_TRUE(view.is_contiguous());
  ENGINE_ASSERT_OK(message.create(5));
  ENGINE_EXPECT_OK(message.ToTensor());
}

TEST(ToTensorTest, RankZeroIsNone) {
  TensorMessage message;
  message.set_dtype(TensorMessage::kFloat32);
  ENGINE_ASSERT_OK(message.create(4));
  EXPECT_THAT(message.ToTensor(), StatusIs(StatusCode::kInvalidArgument, "rank 0"));
}

// --- FromTensor ---

TEST(FromTensorTest, BorrowsAContiguousTensorAndKeepsItAlive) {
  Tensor tensor = testing::Counting({2, 3}, DataType::kInt16);
  const void* const data = tensor.data();
  ENGINE_ASSERT_OK_AND_ASSIGN(TensorMessage message, TensorMessage::FromTensor(tensor));
  tensor = Tensor();
  EXPECT_EQ(message.data(), data);
  EXPECT_FALSE(message.is_owner());
  upstream::Fields fields;
  fields.size = 12;
  fields.num_elements = 6;
  fields.shape = {2, 3};
  fields.strides = {3, 1};
  fields.batch_size = 2;
  fields.dtype = TensorMessage::kInt16;
  fields.rank = 2;
  fields.element_size = 2;
  ExpectFields(message, fields);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor back, message.ToTensor());
  EXPECT_EQ(testing::ValuesOf<std::int16_t>(back), (std::vector<std::int16_t>{0, 1, 2, 3, 4, 5}));
}

// Columns 1 and 2 of every row: from the first to the last element, and no further.
TEST(FromTensorTest, KeepsStrides) {
  const Tensor whole = testing::Counting({3, 4}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor columns, whole.slice(1, 1, 3));
  ENGINE_ASSERT_OK_AND_ASSIGN(const TensorMessage message, TensorMessage::FromTensor(columns));
  EXPECT_EQ(message.data(), columns.data());
  EXPECT_EQ(message.size(), 4u * (2 * 4 + 1 + 1));
  EXPECT_EQ(message.stride_at(0), 4u);
  EXPECT_EQ(message.num_elements(), 6u);
  const ByteVector envelope = Encoded(message);
  TensorMessage received;
  ENGINE_ASSERT_OK(received.Decode(envelope));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, received.ToTensor());
  EXPECT_EQ(testing::ValuesOf<std::int32_t>(view), (std::vector<std::int32_t>{1, 2, 5, 6, 9, 10}));
  EXPECT_FALSE(view.is_contiguous());
}

TEST(FromTensorTest, PacksOnRequestAndOnlyWhenNeeded) {
  testing::CountingAllocator allocator;
  const Tensor whole = testing::Counting({3, 4}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, whole.transpose(0, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(TensorMessage message,
                              TensorMessage::FromTensor(turned, Packing::kPack, &allocator));
  EXPECT_TRUE(message.is_owner());
  EXPECT_EQ(message.size(), 48u);
  EXPECT_EQ(message.stride_at(0), 3u);
  EXPECT_EQ(testing::ValuesOf<std::int32_t>(*message.ToTensor()),
            (std::vector<std::int32_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(message,
                              TensorMessage::FromTensor(whole, Packing::kPack, &allocator));
  EXPECT_EQ(message.data(), whole.data());
  EXPECT_EQ(allocator.counts()->allocations, 1);
  testing::CountingAllocator none(0);
  EXPECT_TRUE(
      core::IsOutOfMemory(TensorMessage::FromTensor(turned, Packing::kPack, &none).status()));
}

TEST(FromTensorTest, RoundTripsEveryDTypeAndManyViews) {
  for (const DataType dtype : tensor::kAllDataTypes) {
    if (tensor::is_reserved(dtype)) continue;
    std::vector<std::uint64_t> bits;
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - tensor::itemsize_bits(dtype));
    for (std::uint64_t i = 0; i < 60; ++i) bits.push_back((i * 0x9E3779B97F4A7C15u) & mask);
    const Tensor whole = testing::TensorOfBits({3, 4, 5}, dtype, bits);
    const core::StatusOr<Tensor> views[] = {whole, whole.permute({2, 0, 1}),
                                            whole.strided_slice({{0, 3, 2}, {1, 4, 1}, {0, 5, 3}}),
                                            whole.slice(1, 2, 3), whole.slice(0, 1, 1)};
    for (const core::StatusOr<Tensor>& view : views) {
      for (const Packing packing : {Packing::kKeepStrides, Packing::kPack}) {
        ENGINE_ASSERT_OK_AND_ASSIGN(const TensorMessage message,
                                    TensorMessage::FromTensor(*view, packing));
        const ByteVector envelope = Encoded(message);
        TensorMessage received;
        ENGINE_ASSERT_OK(received.Decode(envelope));
        ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor back, received.ToTensor());
        EXPECT_EQ(back.shape(), view->shape());
        EXPECT_EQ(back.dtype(), dtype);
        EXPECT_EQ(testing::BitsOf(back), testing::BitsOf(*view));
      }
    }
  }
}

TEST(FromTensorTest, WhatTheMessageCannotHold) {
  const Tensor scalar = testing::Counting({}, DataType::kFloat32);
  EXPECT_THAT(TensorMessage::FromTensor(scalar), StatusIs(StatusCode::kInvalidArgument, "rank 0"));
  const Tensor wide = *Tensor::from_buffer(testing::MakeStorage(0), 0,
                                           Shape{0, std::int64_t{1} << 32}, DataType::kUInt8);
  EXPECT_THAT(TensorMessage::FromTensor(wide),
              StatusIs(StatusCode::kInvalidArgument, "extent 4294967296 of axis 1"));
  const Tensor fit = *Tensor::from_buffer(testing::MakeStorage(0), 0,
                                          Shape{0, (std::int64_t{1} << 32) - 1}, DataType::kUInt8);
  ENGINE_EXPECT_OK(TensorMessage::FromTensor(fit));

  std::byte gpu[16];
  const Tensor remote = *Tensor::from_buffer(
      testing::BorrowStorage(gpu, 16, false, tensor::Device::Cuda(0)), 0, {4}, DataType::kFloat32);
  EXPECT_THAT(TensorMessage::FromTensor(remote), StatusIs(StatusCode::kUnimplemented, "cuda"));
}

// What the message cannot hold is refused before a copy of it is made: the elements do not exist.
TEST(FromTensorTest, ExtentsBeyond32BitsAreNotPacked) {
  testing::CountingAllocator allocator;
  static std::byte anchor[1];
  const auto storage = testing::BorrowStorage(anchor, std::size_t{1} << 33);
  const Tensor wide = *Tensor::from_strided_buffer(storage, 0, Shape{std::int64_t{1} << 32},
                                                   Strides{2}, DataType::kUInt8);
  EXPECT_THAT(TensorMessage::FromTensor(wide, Packing::kPack, &allocator),
              StatusIs(StatusCode::kInvalidArgument, "extent 4294967296 of axis 0"));
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

// Strides of 2^32 and above need memory that is never touched: its addresses suffice.
TEST(FromTensorTest, StridesBeyond32Bits) {
  static std::byte anchor[1];
  const std::int64_t far = std::int64_t{1} << 32;
  const auto storage = testing::BorrowStorage(anchor, static_cast<std::size_t>(far) + 1);
  const Tensor view =
      *Tensor::from_strided_buffer(storage, 0, Shape{2}, Strides{far}, DataType::kUInt8);
  EXPECT_THAT(TensorMessage::FromTensor(view),
              StatusIs(StatusCode::kInvalidArgument, "stride 4294967296 of axis 0"));
  // Of an axis of one element it does not matter.
  const Tensor one =
      *Tensor::from_strided_buffer(storage, 0, Shape{1, 1}, Strides{far, far}, DataType::kUInt8);
  ENGINE_ASSERT_OK_AND_ASSIGN(const TensorMessage message, TensorMessage::FromTensor(one));
  EXPECT_EQ(message.size(), 1u);
}

// Only strides that lead to an element have to fit. Of these 8 GiB and 4 GiB nothing is touched.
TEST(FromTensorTest, StridesThatLeadNowhereMayBeAnything) {
  static std::byte anchor[1];
  const std::int64_t bytes = std::int64_t{65536} * 65537 * 2;
  const auto storage = testing::BorrowStorage(anchor, static_cast<std::size_t>(bytes));
  // The row-major stride of the first axis would be 65536 * 65537, its own is 1.
  const Tensor turned =
      *Tensor::from_buffer(storage, 0, {65536, 65537, 2}, DataType::kUInt8)->permute({2, 0, 1});
  ENGINE_ASSERT_OK_AND_ASSIGN(TensorMessage message, TensorMessage::FromTensor(turned));
  EXPECT_EQ(message.size(), static_cast<std::size_t>(bytes));
  EXPECT_EQ(message.num_elements(), static_cast<std::uint64_t>(bytes));
  EXPECT_EQ(message.batch_size(), 2u);
  EXPECT_EQ(message.stride_at(0), 1u);
  EXPECT_EQ(message.stride_at(1), 131074u);
  EXPECT_EQ(message.stride_at(2), 2u);
  EXPECT_EQ(message.ToTensor()->shape(), turned.shape());
  EXPECT_EQ(message.ToTensor()->strides(), turned.strides());
  // Along an axis of one element nobody goes, along an axis of an empty tensor neither.
  const Tensor single = *Tensor::from_buffer(storage, 0, {1, 65536, 65537}, DataType::kUInt8);
  ENGINE_ASSERT_OK_AND_ASSIGN(message, TensorMessage::FromTensor(single));
  EXPECT_EQ(message.rank(), 3);
  EXPECT_EQ(message.stride_at(0), 0u);
  EXPECT_EQ(message.stride_at(1), 65537u);
  EXPECT_EQ(message.stride_at(2), 1u);
  EXPECT_TRUE(message.ToTensor()->is_contiguous());
  EXPECT_EQ(message.ToTensor()->shape(), single.shape());
  const Tensor empty = *Tensor::from_buffer(storage, 0, {0, 65536, 65537}, DataType::kUInt8);
  ENGINE_ASSERT_OK_AND_ASSIGN(message, TensorMessage::FromTensor(empty));
  EXPECT_EQ(message.stride_at(0), 0u);
  EXPECT_EQ(message.ToTensor()->shape(), empty.shape());
}

TEST(FromTensorTest, OverlappingElementsNeedPacking) {
  const Tensor overlapping =
      *Tensor::from_strided_buffer(testing::MakeStorage(5, 7), 0, {3, 3}, {1, 1}, DataType::kUInt8);
  EXPECT_THAT(TensorMessage::FromTensor(overlapping),
              StatusIs(StatusCode::kInvalidArgument, "9 elements into 5 bytes"));
  ENGINE_ASSERT_OK_AND_ASSIGN(const TensorMessage packed,
                              TensorMessage::FromTensor(overlapping, Packing::kPack));
  EXPECT_EQ(PayloadOf(packed), ByteVector(9, 7));
}

TEST(FromTensorTest, ReadOnlyStorageStaysReadOnly) {
  std::uint8_t bytes[4] = {1, 2, 3, 4};
  const Tensor tensor = *Tensor::from_buffer(testing::BorrowStorage(bytes, 4, /*read_only=*/true),
                                             0, {4}, DataType::kUInt8);
  ENGINE_ASSERT_OK_AND_ASSIGN(const TensorMessage message, TensorMessage::FromTensor(tensor));
  EXPECT_TRUE(message.ToTensor()->is_read_only());
}

// --- Dequantize ---

TEST(MessageDequantizeTest, UpstreamsQuantisedMessage) {
  TensorMessage message;
  const ByteVector envelope = ParseBytes(upstream::kWritten[2].envelope);
  ENGINE_ASSERT_OK(message.Decode(envelope));
  message.set_device(TensorMessage::kDeviceCpu);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor values, message.Dequantize());
  EXPECT_EQ(values.shape(), (Shape{1, 2, 3, 2}));
  EXPECT_EQ(values.dtype(), DataType::kFloat32);
  EXPECT_TRUE(values.is_contiguous());
  std::vector<float> expected;  // q + 128 = 22 i
  for (int i = 0; i < 12; ++i) expected.push_back(static_cast<float>(22 * i) * 0.0235f);
  EXPECT_EQ(testing::ValuesOf<float>(values), expected);
}

TEST(MessageDequantizeTest, UnsignedElementsAndLargeZeroPoints) {
  TensorMessage message = CountingMessage(3);
  message.set_quant_scale(2.0f);
  message.set_quant_zero_point(std::numeric_limits<std::int32_t>::min());
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor values, message.Dequantize());
  // 1 + 2^31 rounds to 2^31.
  EXPECT_EQ(testing::BitsOf(values),
            (std::vector<std::uint64_t>{0x4F800000, 0x4F800000, 0x4F800000}));
}

// Under a mode that flushes subnormals a small scale would look like 0.
TEST(MessageDequantizeTest, TheHostsModeDoesNotMatter) {
  TensorMessage message = CountingMessage(3);
  message.set_quant_scale(std::bit_cast<float>(3u));
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    core::StatusOr<Tensor> values = Tensor();
    {
      const testing::ScopedFpControl host(mode.control);
      values = message.Dequantize();
    }
    ENGINE_ASSERT_OK(values);
    EXPECT_EQ(testing::BitsOf(*values), (std::vector<std::uint64_t>{3, 6, 9})) << mode.name;
  }
}

TEST(MessageDequantizeTest, DoesNotCountAsHandingOut) {
  TensorMessage message = CountingMessage(3);
  message.set_quant_scale(1);
  ENGINE_ASSERT_OK(message.Dequantize());
  const std::uint8_t* const data = message.data();
  ENGINE_ASSERT_OK(message.create(3));
  EXPECT_EQ(message.data(), data);
}

TEST(MessageDequantizeTest, WhatIsNotQuantised) {
  TensorMessage message = SmallMessage();
  message.set_quant_scale(1);
  EXPECT_THAT(message.Dequantize(), StatusIs(StatusCode::kInvalidArgument, "int8 or uint8"));
  message = CountingMessage(3);
  for (const float scale :
       {0.0f, -0.0f, std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    message.set_quant_scale(scale);
    EXPECT_THAT(message.Dequantize(), StatusIs(StatusCode::kInvalidArgument, "scale"));
  }
  message.set_quant_scale(1);
  message.set_device(TensorMessage::kDeviceNpu);
  EXPECT_THAT(message.Dequantize(), StatusIs(StatusCode::kUnimplemented));
  message.set_device(TensorMessage::kDeviceCpu);
  ENGINE_ASSERT_OK(message.set_shape_at(0, 4));
  EXPECT_THAT(message.Dequantize(), StatusIs(StatusCode::kInvalidArgument, "num_elements"));
  ENGINE_ASSERT_OK(message.set_shape_at(0, 3));
  testing::CountingAllocator none(0);
  EXPECT_TRUE(core::IsOutOfMemory(message.Dequantize(&none).status()));
}

}  // namespace
}  // namespace engine::wire
