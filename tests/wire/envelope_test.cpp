// Encoding and decoding beyond upstream's own cases: hostile headers, sharing and borrowing,
// addresses, and spaces that overlap what is encoded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "testing/allocators.h"
#include "testing/guarded_memory.h"
#include "testing/status_matchers.h"
#include "wire/tensor_message.h"
#include "wire_test_util.h"

namespace engine::wire {
namespace {

using core::StatusCode;
using ::engine::testing::StatusIs;

// float32 [2, 3], 24 bytes of payload, 284 in all.
ByteVector SmallEnvelope() { return ParseBytes(upstream::kWritten[0].envelope); }

// --- Decoding ---

// P83: a size that makes header and payload wrap to less than what is there.
TEST(DecodeTest, SizesThatWrapAreRefused) {
  ByteVector envelope(300);
  const ByteVector small = SmallEnvelope();
  std::copy(small.begin(), small.begin() + 256, envelope.begin());
  Patch<std::uint32_t>(envelope, 296, kMagicEnd);
  for (const std::uint64_t size :
       {std::uint64_t{0xFFFFFFFFFFFFFF24}, ~std::uint64_t{0}, std::uint64_t{1} << 63,
        std::uint64_t{39}, std::uint64_t{41}, std::uint64_t{0}}) {
    Patch<std::uint64_t>(envelope, kSizeAt, size);
    TensorMessage message;
    EXPECT_THAT(message.Decode(envelope), StatusIs(StatusCode::kInvalidArgument, "of 40 bytes"));
    EXPECT_FALSE(message.is_valid());
  }
  Patch<std::uint64_t>(envelope, kSizeAt, 40);
  TensorMessage message;
  ENGINE_EXPECT_OK(message.Decode(envelope));
  EXPECT_EQ(message.size(), 40u);
}

// P84: neither the sender's pointer nor its owner flag means anything here.
TEST(DecodeTest, PointerAndOwnerByteAreIgnored) {
  for (const int owner : {0, 1, 2, 255}) {
    ByteVector envelope = SmallEnvelope();
    Patch<std::uint64_t>(envelope, kDataAt, 0x4141414141414141);
    envelope[kOwnerAt] = static_cast<std::uint8_t>(owner);
    TensorMessage message;
    ENGINE_ASSERT_OK(message.Decode(envelope));
    EXPECT_EQ(message.data(), envelope.data() + 256);
    EXPECT_FALSE(message.is_owner());
    EXPECT_EQ(message.mutable_data(), nullptr);
    const ByteVector again = Encoded(message);
    EXPECT_EQ(again[kOwnerAt], 0);
    EXPECT_EQ(again[kDataAt], 0);
  }
}

// P85: rank and element size are made to agree with what they must.
TEST(DecodeTest, RankIsClampedAndElementSizeDerived) {
  ByteVector envelope = SmallEnvelope();
  for (std::size_t axis = 2; axis < 8; ++axis) {
    Patch<std::uint32_t>(envelope, kShapeAt + 4 * axis, 1);
  }
  envelope[kRankAt] = 255;
  envelope[kElementSizeAt] = 8;
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(envelope));
  EXPECT_EQ(message.rank(), 8);
  EXPECT_EQ(message.element_size(), 4);
  ENGINE_ASSERT_OK_AND_ASSIGN(const tensor::Tensor view, message.ToTensor());
  EXPECT_EQ(view.shape(), (tensor::Shape{2, 3, 1, 1, 1, 1, 1, 1}));
}

// P89: texts that fill their field end with it.
TEST(DecodeTest, TextsNeedNoTerminator) {
  ByteVector envelope = SmallEnvelope();
  std::fill_n(envelope.begin() + kNameAt, 32 + 32 + 16, std::uint8_t{'A'});
  std::fill_n(envelope.begin() + 8, 16, std::uint8_t{'F'});
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(envelope));
  EXPECT_EQ(message.name(), std::string(32, 'A'));
  EXPECT_EQ(message.model_id(), std::string(32, 'A'));
  EXPECT_EQ(message.layout(), std::string(16, 'A'));
  EXPECT_EQ(message.header.frame_id_text(), std::string(16, 'F'));
  EXPECT_EQ(message.name().data() + 32, message.model_id().data());
}

// P90: any address, for the struct and for the payload.
TEST(DecodeTest, BytesAtAnyAddress) {
  const ByteVector envelope = SmallEnvelope();
  for (std::size_t shift = 0; shift < 8; ++shift) {
    auto storage = std::make_unique<std::uint64_t[]>(64);
    auto* const at = reinterpret_cast<std::uint8_t*>(storage.get()) + shift;
    std::memcpy(at, envelope.data(), envelope.size());
    TensorMessage message;
    ENGINE_ASSERT_OK(message.Decode(std::span(at, envelope.size())));
    ExpectFields(message, [] {
      upstream::Fields fields = upstream::kWritten[0].fields;
      fields.is_owner = false;
      return fields;
    }());
    ENGINE_ASSERT_OK_AND_ASSIGN(const tensor::Tensor view, message.ToTensor());
    EXPECT_EQ(view.data(), at + 256);
    EXPECT_EQ(view.is_aligned(), shift % 4 == 0);
    auto target = std::make_unique<std::uint64_t[]>(64);
    auto* const out = reinterpret_cast<std::uint8_t*>(target.get()) + shift;
    ENGINE_ASSERT_OK(message.Encode(std::span(out, envelope.size())));
    EXPECT_EQ(std::memcmp(out + 256, envelope.data() + 256, 28), 0);
  }
}

TEST(DecodeTest, EveryVersionOfTheMajorIsReadAndNoOther) {
  const std::pair<std::uint32_t, bool> versions[] = {
      {0, false},        {1'999'999, false}, {2'000'000, true},   {2'003'000, true},
      {2'999'999, true}, {3'000'000, false}, {4294967295u, false}};
  for (const auto& [version, readable] : versions) {
    ByteVector envelope = SmallEnvelope();
    Patch<std::uint32_t>(envelope, 4, version);
    TensorMessage message;
    const core::Status status = message << std::span<const std::uint8_t>(envelope);
    EXPECT_EQ(status.ok(), readable) << version;
    if (!readable) {
      EXPECT_THAT(status, StatusIs(StatusCode::kInvalidArgument, std::to_string(version).c_str()));
    } else {
      // What is written is ours, whatever was read.
      ByteVector expected = SmallEnvelope();
      expected[kOwnerAt] = 0;
      EXPECT_EQ(Encoded(message), expected);
    }
  }
}

TEST(DecodeTest, TheBufferLivesAsLongAsWhatCameFromIt) {
  bool alive = false;
  tensor::Tensor view;
  {
    TensorMessage message;
    ENGINE_ASSERT_OK(message.Decode(BufferOf(SmallEnvelope(), &alive)));
    ENGINE_ASSERT_OK_AND_ASSIGN(view, message.ToTensor());
    EXPECT_EQ(view.data(), message.data());
    EXPECT_FALSE(view.is_read_only());
  }
  EXPECT_TRUE(alive);
  EXPECT_EQ(view.item<float>({0, 0}), 0.5f);
  EXPECT_EQ(view.item<float>({1, 1}), -4.75f);
  view = tensor::Tensor();
  EXPECT_FALSE(alive);
}

TEST(DecodeTest, AMessageCanDecodeTheSameBufferAgain) {
  bool alive = false;
  std::shared_ptr<memory::Buffer> buffer = BufferOf(SmallEnvelope(), &alive);
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(buffer));
  ENGINE_ASSERT_OK(message.Decode(std::move(buffer)));
  EXPECT_TRUE(alive);
  message.clear();
  EXPECT_FALSE(alive);
}

TEST(DecodeTest, AnEnvelopeWithoutPayloadKeepsNothing) {
  bool alive = false;
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(BufferOf(Encoded(TensorMessage()), &alive)));
  EXPECT_FALSE(alive);
  EXPECT_FALSE(message.is_valid());
  EXPECT_EQ(message.data(), nullptr);
}

// An envelope inside the message's own payload would be released by decoding it.
TEST(DecodeTest, TheOwnPayloadIsNoSource) {
  const ByteVector inner = SmallEnvelope();
  TensorMessage message;
  ENGINE_ASSERT_OK(message.deep_copy(inner.data(), inner.size()));
  const ByteVector before = Encoded(message);
  EXPECT_THAT(message.Decode(std::span(message.data(), message.size())),
              StatusIs(StatusCode::kInvalidArgument, "would release"));
  EXPECT_EQ(Encoded(message), before);
  // Another message may borrow it.
  TensorMessage other;
  ENGINE_EXPECT_OK(other.Decode(std::span(message.data(), message.size())));
}

// The Buffer as a whole is refused, its frame too and whoever else shares it.
TEST(DecodeTest, TheOwnBufferIsNoSource) {
  const auto buffer = BufferOf(SmallEnvelope());
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(buffer));
  const std::span bytes(static_cast<const std::uint8_t*>(buffer->data()), buffer->size_bytes());
  EXPECT_THAT(message.Decode(bytes.first(260)),
              StatusIs(StatusCode::kInvalidArgument, "overlap the 284 bytes of storage"));
  ENGINE_EXPECT_OK(message.Decode(buffer));
}

// Bytes that are gone when the message is looked at: views and what stays may be decoded.
template <typename Bytes>
concept Decodable = requires(TensorMessage message, Bytes&& bytes) {
  message.Decode(std::forward<Bytes>(bytes));
  message << std::forward<Bytes>(bytes);
};
static_assert(Decodable<ByteVector&> && Decodable<const ByteVector&>);
static_assert(Decodable<std::span<std::uint8_t>> && Decodable<std::span<const std::uint8_t, 300>>);
static_assert(Decodable<std::shared_ptr<memory::Buffer>>);
static_assert(!Decodable<ByteVector> && !Decodable<const ByteVector>);
static_assert(!Decodable<std::array<std::uint8_t, 300>>);

TEST(DecodeTest, ErrorsSayWhatIsWrong) {
  ByteVector envelope = SmallEnvelope();
  EXPECT_THAT(TensorMessage::check_valid(std::span(envelope).first(259)),
              StatusIs(StatusCode::kInvalidArgument, "259 bytes, expected at least 260"));
  EXPECT_THAT(TensorMessage::check_valid({}), StatusIs(StatusCode::kInvalidArgument, "0 bytes"));
  envelope[0] ^= 1;
  EXPECT_THAT(
      TensorMessage::check_valid(envelope),
      StatusIs(StatusCode::kInvalidArgument, "begins with 0x98b7f19b, expected 0x98b7f19a"));
  envelope[0] ^= 1;
  envelope.back() ^= 1;
  EXPECT_THAT(TensorMessage::check_valid(envelope),
              StatusIs(StatusCode::kInvalidArgument, "ends with 0x99b7f19f, expected 0x98b7f19f"));
}

// --- Encoding ---

TEST(EncodeTest, WantsExactlyItsSpaceAndWritesNothingElse) {
  const TensorMessage message = CountingMessage(5);
  ASSERT_EQ(message.get_serialized_size(), 265u);
  ByteVector space(300, 0xEE);
  for (const std::size_t size : {std::size_t{0}, std::size_t{264}, std::size_t{266}}) {
    EXPECT_THAT(message.Encode(std::span(space).first(size)),
                StatusIs(StatusCode::kInvalidArgument, "expected 265"));
  }
  EXPECT_EQ(space, ByteVector(300, 0xEE));
  testing::GuardedMemory guarded(265);
  auto* const end = reinterpret_cast<std::uint8_t*>(guarded.end());
  ENGINE_ASSERT_OK(message.Encode(std::span(end - 265, 265)));
  EXPECT_EQ(ByteVector(end - 265, end), Encoded(message));
}

TEST(EncodeTest, FreshBuffersAreAlignedAndOfExactSize) {
  testing::CountingAllocator allocator;
  const TensorMessage message = CountingMessage(5);
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const memory::Buffer buffer, message.EncodeToBuffer(&allocator));
    EXPECT_EQ(buffer.size_bytes(), 265u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    const auto* const data = static_cast<const std::uint8_t*>(buffer.data());
    EXPECT_EQ(ByteVector(data, data + 265), Encoded(message));
  }
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->deletions, 1);
  testing::CountingAllocator none(0);
  EXPECT_TRUE(core::IsOutOfMemory(message.EncodeToBuffer(&none).status()));
}

// The envelope that a message was decoded from is where its payload goes anyway.
TEST(EncodeTest, IntoItsOwnSource) {
  ByteVector envelope = SmallEnvelope();
  const ByteVector payload(envelope.begin() + 256, envelope.end() - 4);
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(envelope));
  message.set_name("again");
  message.set_channel(3);
  ENGINE_ASSERT_OK(message.Encode(envelope));
  EXPECT_EQ(PayloadOf(message), payload);
  TensorMessage again;
  ENGINE_ASSERT_OK(again.Decode(envelope));
  EXPECT_EQ(again.name(), "again");
  EXPECT_EQ(again.channel(), 3u);
  EXPECT_EQ(PayloadOf(again), payload);
}

// Elsewhere the bytes written would destroy what is yet to be read.
TEST(EncodeTest, OverlappingSpaceIsRefused) {
  ByteVector memory(1000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 7);
  const ByteVector before = memory;
  TensorMessage message;
  ENGINE_ASSERT_OK(message.shallow_copy(memory.data() + 400, 100));
  for (const std::size_t at :
       {std::size_t{41}, std::size_t{143}, std::size_t{145}, std::size_t{499}}) {
    EXPECT_THAT(message.Encode(std::span(memory).subspan(at, 360)),
                StatusIs(StatusCode::kInvalidArgument, "overlaps the payload"))
        << at;
    EXPECT_EQ(memory, before);
  }
  for (const std::size_t at : {std::size_t{40}, std::size_t{144}, std::size_t{500}}) {
    ENGINE_EXPECT_OK(message.Encode(std::span(memory).subspan(at, 360)));
    EXPECT_TRUE(std::equal(before.begin() + 400, before.begin() + 500,
                           memory.begin() + static_cast<std::ptrdiff_t>(at) + 256));
    std::copy(before.begin(), before.end(), memory.begin());
  }
}

// --- operator>> ---

TEST(EncodeIntoBufferTest, UsesABufferOfTheRightSizeAndReplacesAnother) {
  const TensorMessage message = CountingMessage(5);
  memory::Buffer buffer;
  ENGINE_ASSERT_OK(message >> buffer);
  ASSERT_EQ(buffer.size_bytes(), 265u);
  const void* const data = buffer.data();
  std::memset(buffer.data(), 0, 265);
  ENGINE_ASSERT_OK(message >> buffer);
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(std::memcmp(data, Encoded(message).data(), 265), 0);
  ENGINE_ASSERT_OK(CountingMessage(6) >> buffer);
  EXPECT_EQ(buffer.size_bytes(), 266u);
}

TEST(EncodeIntoBufferTest, KeepsWhatItMustNotTouch) {
  ByteVector bytes(265, 0xEE);
  memory::Buffer read_only(
      bytes.data(), bytes.size(), tensor::Device::Cpu(), [](void*) {}, /*read_only=*/true);
  EXPECT_THAT(CountingMessage(5) >> read_only, StatusIs(StatusCode::kInvalidArgument, "read-only"));
  EXPECT_EQ(bytes, ByteVector(265, 0xEE));

  // The payload lies in the buffer that would be released.
  memory::Buffer source(bytes.data(), bytes.size(), tensor::Device::Cpu(), [](void*) {});
  TensorMessage message;
  ENGINE_ASSERT_OK(message.shallow_copy(bytes.data() + 10, 20));
  EXPECT_THAT(message >> source, StatusIs(StatusCode::kInvalidArgument, "holds the payload"));
  EXPECT_EQ(source.data(), bytes.data());
}

}  // namespace
}  // namespace engine::wire
