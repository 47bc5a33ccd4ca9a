// The message object: fields and setters, and who owns, shares and borrows what.
#include "wire/tensor_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "testing/allocators.h"
#include "testing/status_matchers.h"
#include "wire_test_util.h"

namespace engine::wire {
namespace {

using core::StatusCode;
using ::engine::testing::StatusIs;
using testing::CountingAllocator;

const ByteVector kBytes = {11, 12, 13, 14, 15, 16, 17, 18};

static_assert(!std::is_copy_constructible_v<TensorMessage>);
static_assert(!std::is_copy_assignable_v<TensorMessage>);
static_assert(std::is_nothrow_move_constructible_v<TensorMessage>);
static_assert(std::is_nothrow_move_assignable_v<TensorMessage>);

// --- Fields ---

TEST(TensorMessageTest, IsEmptyWhenNew) {
  TensorMessage message;
  ExpectFields(message, upstream::Fields());
  ExpectReserved(message, upstream::Fields());
  EXPECT_EQ(message.get_serialized_size(), 260u);
  EXPECT_EQ(message.mutable_data(), nullptr);
}

TEST(TensorMessageTest, ElementSizesOfEveryDType) {
  constexpr int kExpected[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  for (int value = 0; value < 256; ++value) {
    const auto dtype = static_cast<TensorMessage::DataType>(value);
    const int expected = value < 14 ? kExpected[value] : 0;
    EXPECT_EQ(TensorMessage::element_size_of(dtype), expected);
    TensorMessage message;
    message.set_dtype(dtype);
    EXPECT_EQ(message.dtype(), dtype);
    EXPECT_EQ(message.element_size(), expected);
  }
}

// P89: one byte of each field is kept for a terminator.
TEST(TensorMessageTest, LongTextsAreCutAndShortOnesReplaceAllOfTheOld) {
  TensorMessage message;
  message.set_name(std::string(40, 'n'));
  message.set_model_id(std::string(32, 'm'));
  message.set_layout(std::string(16, 'l'));
  message.header.set_frame_id(std::string(16, 'f'));
  EXPECT_EQ(message.name(), std::string(31, 'n'));
  EXPECT_EQ(message.model_id(), std::string(31, 'm'));
  EXPECT_EQ(message.layout(), std::string(15, 'l'));
  EXPECT_EQ(message.header.frame_id_text(), std::string(15, 'f'));
  message.set_name("a");
  message.set_model_id(std::string(31, 'k'));
  message.set_layout("");
  EXPECT_EQ(message.name(), "a");
  EXPECT_EQ(message.model_id(), std::string(31, 'k'));
  EXPECT_EQ(message.layout(), "");
  const ByteVector bytes = Encoded(message);
  EXPECT_EQ(ByteVector(bytes.begin() + kNameAt + 1, bytes.begin() + kNameAt + 32),
            ByteVector(31, 0));
}

TEST(TensorMessageTest, SetShapeDerivesTheRest) {
  TensorMessage message;
  SetShape(message, {4, 3, 5});
  EXPECT_EQ(message.rank(), 3);
  EXPECT_EQ(message.num_elements(), 60u);
  EXPECT_EQ(message.batch_size(), 4u);
  const std::uint32_t strides[8] = {15, 5, 1};
  EXPECT_EQ(std::memcmp(message.strides(), strides, sizeof(strides)), 0);
  SetShape(message, {7});
  const std::uint32_t shape[8] = {7};
  EXPECT_EQ(std::memcmp(message.shape(), shape, sizeof(shape)), 0);
  EXPECT_EQ(message.stride_at(1), 0u);
  ENGINE_ASSERT_OK(message.set_shape(nullptr, 0));
  EXPECT_EQ(message.rank(), 0);
  EXPECT_EQ(message.num_elements(), 0u);
  EXPECT_EQ(message.batch_size(), 0u);
}

// The largest that fits: the product of two numbers below 2^32.
TEST(TensorMessageTest, SetShapeAtTheLimits) {
  TensorMessage message;
  SetShape(message, {4294967295u, 4294967295u});
  EXPECT_EQ(message.num_elements(), 18446744065119617025u);
  EXPECT_EQ(message.stride_at(0), 4294967295u);
  SetShape(message, {4294967295u, 4294967295u, 0});
  EXPECT_EQ(message.num_elements(), 0u);
}

// P88: a stride that does not fit is refused, and the message stays as it was.
TEST(TensorMessageTest, SetShapeRefusesStridesThatDoNotFit) {
  TensorMessage message;
  SetShape(message, {2, 3});
  const ByteVector before = Encoded(message);
  const std::uint32_t wraps_to_zero[] = {2, 65536, 65536};
  EXPECT_THAT(message.set_shape(wraps_to_zero, 3),
              StatusIs(StatusCode::kInvalidArgument, "stride 4294967296 of axis 0"));
  const std::uint32_t beyond_64_bits[] = {2, 4294967295u, 4294967295u, 4294967295u};
  EXPECT_THAT(message.set_shape(beyond_64_bits, 4), StatusIs(StatusCode::kInvalidArgument));
  const std::uint32_t hidden_by_zero[] = {0, 65536, 65536};
  EXPECT_THAT(message.set_shape(hidden_by_zero, 3), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(message.set_shape(nullptr, 1), StatusIs(StatusCode::kInvalidArgument, "null"));
  EXPECT_EQ(Encoded(message), before);
}

TEST(TensorMessageTest, SingleExtentsAndStrides) {
  TensorMessage message;
  SetShape(message, {2, 3});
  ENGINE_EXPECT_OK(message.set_shape_at(7, 9));
  ENGINE_EXPECT_OK(message.set_stride_at(0, 100));
  EXPECT_EQ(message.shape_at(7), 9u);
  EXPECT_EQ(message.stride_at(0), 100u);
  EXPECT_EQ(message.num_elements(), 6u);
  EXPECT_EQ(message.rank(), 2);
  const ByteVector before = Encoded(message);
  EXPECT_THAT(message.set_shape_at(8, 1), StatusIs(StatusCode::kInvalidArgument, "axis 8"));
  EXPECT_THAT(message.set_stride_at(255, 1), StatusIs(StatusCode::kInvalidArgument, "axis 255"));
  EXPECT_EQ(message.shape_at(8), 0u);
  EXPECT_EQ(message.stride_at(255), 0u);
  EXPECT_EQ(Encoded(message), before);
}

// --- Payload ---

TEST(TensorMessagePayloadTest, CreateKeepsTheMetadata) {
  TensorMessage message;
  SetShape(message, {2, 3});
  EXPECT_THAT(message.create(0), StatusIs(StatusCode::kInvalidArgument, "0 bytes"));
  ENGINE_ASSERT_OK(message.create(24));
  EXPECT_TRUE(message.is_valid());
  EXPECT_TRUE(message.is_owner());
  EXPECT_EQ(message.size(), 24u);
  EXPECT_EQ(message.num_elements(), 6u);
  EXPECT_EQ(message.mutable_data(), message.data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 64, 0u);
  // No machine has that much.
  EXPECT_TRUE(core::IsOutOfMemory(message.create(~std::size_t{0})));
  EXPECT_TRUE(core::IsOutOfMemory(message.create(std::size_t{1} << 62)));
  EXPECT_EQ(message.size(), 24u);
}

TEST(TensorMessagePayloadTest, BorrowingBytes) {
  ByteVector bytes = kBytes;
  TensorMessage message;
  EXPECT_THAT(message.shallow_copy(nullptr, 8), StatusIs(StatusCode::kInvalidArgument, "null"));
  EXPECT_THAT(message.shallow_copy(bytes.data(), 0),
              StatusIs(StatusCode::kInvalidArgument, "0 bytes"));
  ENGINE_ASSERT_OK(message.shallow_copy(bytes.data(), 8));
  EXPECT_EQ(message.data(), bytes.data());
  EXPECT_FALSE(message.is_owner());
  EXPECT_EQ(message.mutable_data(), nullptr);
  // As upstream: the same address is refused whatever the size.
  EXPECT_THAT(message.shallow_copy(bytes.data(), 4), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(message.size(), 8u);
  ENGINE_ASSERT_OK(message.shallow_copy(bytes.data() + 1, 4));
  EXPECT_EQ(PayloadOf(message), (ByteVector{12, 13, 14, 15}));
}

TEST(TensorMessagePayloadTest, CopyingBytes) {
  const ByteVector bytes = kBytes;
  TensorMessage message;
  EXPECT_THAT(message.deep_copy(nullptr, 8), StatusIs(StatusCode::kInvalidArgument, "null"));
  EXPECT_THAT(message.deep_copy(bytes.data(), 0),
              StatusIs(StatusCode::kInvalidArgument, "0 bytes"));
  ENGINE_ASSERT_OK(message.fill_data(bytes.data(), 8));
  EXPECT_NE(message.data(), bytes.data());
  EXPECT_EQ(PayloadOf(message), kBytes);
  EXPECT_TRUE(message.is_owner());
}

// As upstream: copying what is borrowed takes ownership.
TEST(TensorMessagePayloadTest, CopyingTheBorrowedBytesOwnsThem) {
  ByteVector bytes = kBytes;
  TensorMessage message;
  ENGINE_ASSERT_OK(message.shallow_copy(bytes.data(), 8));
  ENGINE_ASSERT_OK(message.deep_copy(bytes.data(), 8));
  EXPECT_TRUE(message.is_owner());
  bytes.assign(8, 0);
  EXPECT_EQ(PayloadOf(message), kBytes);
}

TEST(TensorMessagePayloadTest, OwnedStorageOfTheSameSizeIsUsedAgain) {
  CountingAllocator allocator;
  TensorMessage message;
  ENGINE_ASSERT_OK(message.deep_copy(kBytes.data(), 8, &allocator));
  const std::uint8_t* const data = message.data();
  const ByteVector other(8, 1);
  ENGINE_ASSERT_OK(message.deep_copy(other.data(), 8, &allocator));
  TensorMessage source;
  ENGINE_ASSERT_OK(source.deep_copy(kBytes.data(), 8));
  ENGINE_ASSERT_OK(message.deep_copy(source, &allocator));
  ENGINE_ASSERT_OK(message.create(8, &allocator));
  EXPECT_EQ(message.data(), data);
  EXPECT_EQ(PayloadOf(message), kBytes);
  EXPECT_EQ(allocator.counts()->allocations, 1);
  ENGINE_ASSERT_OK(message.create(9, &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 2);
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

// Somebody may be reading: what a tensor or a shallow copy views is never overwritten.
TEST(TensorMessagePayloadTest, StorageThatWasHandedOutIsNotUsedAgain) {
  TensorMessage message = CountingMessage(8);
  ENGINE_ASSERT_OK_AND_ASSIGN(const tensor::Tensor view, message.ToTensor());
  ENGINE_ASSERT_OK(message.deep_copy(kBytes.data(), 8));
  EXPECT_EQ(view.item<std::uint8_t>({0}), 1);

  TensorMessage shallow;
  ENGINE_ASSERT_OK(shallow.shallow_copy(message));
  const ByteVector other(8, 1);
  ENGINE_ASSERT_OK(message.deep_copy(other.data(), 8));
  EXPECT_EQ(PayloadOf(shallow), kBytes);
  // Fresh storage is exclusive again.
  const std::uint8_t* const data = message.data();
  ENGINE_ASSERT_OK(message.deep_copy(kBytes.data(), 8));
  EXPECT_EQ(message.data(), data);
  // Moving does not make it so.
  ENGINE_ASSERT_OK_AND_ASSIGN(const tensor::Tensor later, message.ToTensor());
  TensorMessage moved = std::move(message);
  ENGINE_ASSERT_OK(moved.deep_copy(other.data(), 8));
  EXPECT_EQ(later.item<std::uint8_t>({0}), 11);
}

// As upstream refuses: what the call would release is no source.
TEST(TensorMessagePayloadTest, OwnBytesAreNoSource) {
  TensorMessage owner = CountingMessage(16);
  const ByteVector before = Encoded(owner);
  std::uint8_t* const own = owner.mutable_data();
  const auto refused = StatusIs(StatusCode::kInvalidArgument);
  EXPECT_THAT(owner.shallow_copy(own, 16), refused);
  EXPECT_THAT(owner.shallow_copy(own + 1, 15), refused);
  EXPECT_THAT(owner.deep_copy(own, 16), refused);
  EXPECT_THAT(owner.deep_copy(own + 1, 15), refused);
  EXPECT_THAT(owner.shallow_copy(owner), refused);
  EXPECT_THAT(owner.deep_copy(owner), refused);
  EXPECT_THAT(owner.move_copy(owner), refused);

  TensorMessage borrower;
  ENGINE_ASSERT_OK(borrower.shallow_copy(own + 4, 8));
  TensorMessage sharer;
  ENGINE_ASSERT_OK(sharer.shallow_copy(owner));
  for (TensorMessage* dependent : {&borrower, &sharer}) {
    EXPECT_THAT(owner.shallow_copy(*dependent), refused);
    EXPECT_THAT(owner.deep_copy(*dependent), refused);
    EXPECT_THAT(owner.move_copy(*dependent), refused);
    EXPECT_TRUE(dependent->is_valid());
  }
  EXPECT_EQ(Encoded(owner), before);
  EXPECT_TRUE(owner.is_owner());
}

// An assignment cannot report a refusal, so it takes everything that is safe: who shares the
// storage keeps it alive.
TEST(TensorMessagePayloadTest, AssignmentTakesASharerOfItsOwnStorage) {
  CountingAllocator allocator;
  {
    TensorMessage owner;
    ENGINE_ASSERT_OK(owner.create(8, &allocator));
    std::memcpy(owner.mutable_data(), kBytes.data(), 8);
    TensorMessage sharer;
    ENGINE_ASSERT_OK(sharer.shallow_copy(owner));
    sharer.set_name("sharer");
    owner = std::move(sharer);
    EXPECT_EQ(owner.name(), "sharer");
    EXPECT_EQ(PayloadOf(owner), kBytes);
    EXPECT_FALSE(owner.is_owner());
    EXPECT_FALSE(sharer.is_valid());  // NOLINT(bugprone-use-after-move): the promise
    EXPECT_TRUE(sharer.name().empty());
    EXPECT_EQ(allocator.counts()->deletions, 0);
  }
  EXPECT_EQ(allocator.counts()->deletions, 1);
}

// Borrowed bytes are the caller's to keep alive, and here the caller does.
TEST(TensorMessagePayloadTest, AssignmentTakesABorrowerOfABufferThatOthersHold) {
  const auto buffer = BufferOf(Encoded(CountingMessage(8)));
  TensorMessage sharer;
  ENGINE_ASSERT_OK(sharer.Decode(buffer));
  TensorMessage borrower;
  ENGINE_ASSERT_OK(borrower.Decode(
      std::span(static_cast<const std::uint8_t*>(buffer->data()), buffer->size_bytes())));
  borrower.set_name("borrower");
  sharer = std::move(borrower);
  EXPECT_EQ(sharer.name(), "borrower");
  EXPECT_EQ(sharer.data()[7], 8);
  EXPECT_EQ(buffer.use_count(), 1);
}

// Containers move their elements over one another.
TEST(TensorMessagePayloadTest, ErasingFromAVectorKeepsTheOthers) {
  std::vector<TensorMessage> messages(3);
  ENGINE_ASSERT_OK(messages[0].deep_copy(kBytes.data(), kBytes.size()));
  ENGINE_ASSERT_OK(messages[1].shallow_copy(messages[0]));
  messages[1].set_name("b");
  messages[2].set_name("c");
  messages.erase(messages.begin());
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].name(), "b");
  EXPECT_EQ(PayloadOf(messages[0]), kBytes);
  EXPECT_EQ(messages[1].name(), "c");
  EXPECT_FALSE(messages[1].is_valid());
}

// Sharing is safe in both directions where only borrowing is not.
TEST(TensorMessagePayloadTest, SharersOfOneBufferAreIndependent) {
  bool alive = false;
  TensorMessage first;
  ENGINE_ASSERT_OK(first.Decode(BufferOf(Encoded(CountingMessage(8)), &alive)));
  TensorMessage second;
  ENGINE_ASSERT_OK(second.shallow_copy(first));
  EXPECT_EQ(second.data(), first.data());
  ENGINE_ASSERT_OK(first.shallow_copy(second));
  ENGINE_ASSERT_OK(first.move_copy(second));
  EXPECT_TRUE(alive);
  EXPECT_EQ(first.data()[7], 8);
  // A mere borrower would dangle.
  TensorMessage borrower;
  ENGINE_ASSERT_OK(borrower.shallow_copy(const_cast<std::uint8_t*>(first.data()) + 1, 2));
  EXPECT_THAT(first.shallow_copy(borrower), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(first.shallow_copy(const_cast<std::uint8_t*>(first.data()) + 1, 2),
              StatusIs(StatusCode::kInvalidArgument));
  // A copy of what is shared is one's own.
  ENGINE_ASSERT_OK(first.deep_copy(first.data(), first.size()));
  EXPECT_TRUE(first.is_owner());
  EXPECT_FALSE(alive);
  EXPECT_EQ(first.data()[7], 8);
}

TEST(TensorMessagePayloadTest, ShallowCopyTakesEverything) {
  TensorMessage source = CountingMessage(8);
  source.set_name("image");
  source.header.seq = 12;
  source.get_reserved3() = 5;
  TensorMessage copy;
  ENGINE_ASSERT_OK(copy.shallow_copy(source));
  EXPECT_EQ(copy.data(), source.data());
  EXPECT_FALSE(copy.is_owner());
  EXPECT_EQ(copy.name(), "image");
  EXPECT_EQ(copy.header.seq, 12u);
  EXPECT_EQ(copy.get_reserved3(), 5u);
  EXPECT_TRUE(source.is_owner());
  // The storage is shared: it outlives the owner.
  source.clear();
  EXPECT_EQ(PayloadOf(copy), (ByteVector{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(TensorMessagePayloadTest, DeepCopyOfAMessageWithoutPayloadDropsTheOld) {
  TensorMessage owner = CountingMessage(8);
  TensorMessage empty;
  empty.set_name("empty");
  ENGINE_ASSERT_OK(owner.deep_copy(empty));
  EXPECT_FALSE(owner.is_owner());
  EXPECT_FALSE(owner.is_valid());
  EXPECT_EQ(owner.name(), "empty");
  EXPECT_THAT(empty.deep_copy(empty), StatusIs(StatusCode::kInvalidArgument));
}

TEST(TensorMessagePayloadTest, CloneIsIndependent) {
  TensorMessage source = CountingMessage(8);
  source.get_reserved2() = 77;
  ENGINE_ASSERT_OK_AND_ASSIGN(TensorMessage clone, source.Clone());
  source.mutable_data()[0] = 99;
  EXPECT_EQ(PayloadOf(clone), (ByteVector{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(clone.is_owner());
  EXPECT_EQ(clone.get_reserved2(), 77);
  ByteVector bytes = kBytes;
  ENGINE_ASSERT_OK(source.shallow_copy(bytes.data(), 8));
  ENGINE_ASSERT_OK_AND_ASSIGN(clone, source.Clone());
  EXPECT_TRUE(clone.is_owner());
}

TEST(TensorMessagePayloadTest, MovingLeavesEverythingZero) {
  TensorMessage source = CountingMessage(8);
  source.header.reserved = 3;
  source.get_reserved() = 1;
  source.get_reserved2() = 2;
  source.get_reserved3() = 3;
  const std::uint8_t* const data = source.data();
  TensorMessage target;
  ENGINE_ASSERT_OK(target.move_copy(source));
  EXPECT_EQ(target.data(), data);
  EXPECT_TRUE(target.is_owner());
  EXPECT_EQ(target.get_reserved3(), 3u);
  EXPECT_EQ(target.header.reserved, 3u);
  upstream::Fields zero;
  zero.frame_id = "";
  ExpectFields(source, zero);
  ExpectReserved(source, zero);
  // And it can be used again.
  ENGINE_ASSERT_OK(source.deep_copy(kBytes.data(), 8));
  target = std::move(source);
  EXPECT_EQ(PayloadOf(target), kBytes);
  TensorMessage& self = target;
  target = std::move(self);
  EXPECT_EQ(PayloadOf(target), kBytes);
}

// Every storage goes back exactly once, whatever path it took.
TEST(TensorMessagePayloadTest, StorageIsReleasedOnce) {
  CountingAllocator allocator;
  {
    TensorMessage a;
    ENGINE_ASSERT_OK(a.create(8, &allocator));
    TensorMessage b = std::move(a);
    ENGINE_ASSERT_OK(a.deep_copy(b, &allocator));
    ENGINE_ASSERT_OK_AND_ASSIGN(TensorMessage c, b.Clone(&allocator));
    ENGINE_ASSERT_OK(c.shallow_copy(b));
    ENGINE_ASSERT_OK(b.create(9, &allocator));
    a = std::move(c);
    b.clear();
  }
  EXPECT_EQ(allocator.counts()->allocations, 4);
  EXPECT_EQ(allocator.counts()->deletions, 4);
}

// For ThreadSanitizer: const methods on one message, and its tensors, from two threads.
TEST(TensorMessagePayloadTest, ConstMethodsRunConcurrently) {
  TensorMessage message = CountingMessage(64);
  message.set_quant_scale(1);
  const auto use = [&message] {
    for (int i = 0; i < 100; ++i) {
      const core::StatusOr<tensor::Tensor> view = message.ToTensor();
      TensorMessage sharer;
      EXPECT_TRUE(sharer.shallow_copy(message).ok());
      EXPECT_EQ(view->item<std::uint8_t>({63}), 64);
      EXPECT_EQ(Encoded(sharer).size(), 324u);
      EXPECT_EQ(message.Dequantize()->item<float>({1}), 2.0f);
    }
  };
  std::thread other(use);
  use();
  other.join();
  // Now storage is fresh, and the message's own again.
  ENGINE_EXPECT_OK(message.create(64));
}

// A failed allocation changes nothing.
TEST(TensorMessagePayloadTest, OutOfMemoryKeepsThePayload) {
  TensorMessage message = CountingMessage(4);
  message.set_name("kept");
  const ByteVector before = Encoded(message);
  TensorMessage source = CountingMessage(8);
  CountingAllocator none(0);
  EXPECT_TRUE(core::IsOutOfMemory(message.create(8, &none)));
  EXPECT_TRUE(core::IsOutOfMemory(message.deep_copy(kBytes.data(), 8, &none)));
  EXPECT_TRUE(core::IsOutOfMemory(message.deep_copy(source, &none)));
  EXPECT_TRUE(core::IsOutOfMemory(message.Clone(&none).status()));
  EXPECT_EQ(Encoded(message), before);
  EXPECT_TRUE(message.is_owner());
}

}  // namespace
}  // namespace engine::wire
