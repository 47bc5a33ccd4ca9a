// Byte compatibility: what the upstream implementation wrote is what we write for the same fields,
// and what it read we read, with the same verdict and the same fields. Where upstream destroys its
// destination on a failure, ours stays as it was.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "testing/status_matchers.h"
#include "wire/tensor_message.h"
#include "wire_test_util.h"

namespace engine::wire {

namespace {

using ::engine::testing::StatusIs;
using upstream::Fields;
using upstream::ReadCase;
using upstream::WrittenCase;

template <typename Case>
std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

// The shape as the sender set it, where that was not in one call.
void SetShapeOf(const WrittenCase& written, TensorMessage& message) {
  const std::string_view name = written.name;
  if (name == "13_rank9_clamped") {
    const std::uint32_t shape[9] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
    ENGINE_ASSERT_OK(message.set_shape(shape, 9));
  } else if (name == "15_stride_overflow") {
    const std::uint32_t shape[3] = {2, 4294967295u, 2};
    EXPECT_THAT(message.set_shape(shape, 3), StatusIs(core::StatusCode::kInvalidArgument));
  } else if (name == "18_set_shape_at") {
    SetShape(message, {2, 2});
    ENGINE_ASSERT_OK(message.set_shape_at(1, 5));
  } else {
    const auto rank = static_cast<std::uint8_t>(written.fields.rank);
    ENGINE_ASSERT_OK(message.set_shape(written.fields.shape.data(), rank));
  }
}

void SetFields(const WrittenCase& written, TensorMessage& message) {
  const Fields& fields = written.fields;
  message.header.seq = fields.seq;
  message.header.reserved = fields.reserved;
  message.header.time_meas = fields.time_meas;
  message.header.time_pub = fields.time_pub;
  std::memset(message.header.frame_id, 0, sizeof(message.header.frame_id));
  std::memcpy(message.header.frame_id, fields.frame_id.data(), fields.frame_id.size());
  message.set_update_time_ns(fields.update_time_ns);
  message.set_name(fields.name);
  message.set_model_id(fields.model_id);
  message.set_layout(fields.layout);
  message.set_dtype(static_cast<TensorMessage::DataType>(fields.dtype));
  SetShapeOf(written, message);
  for (std::uint8_t axis = 0; axis < TensorMessage::kMaxRank; ++axis) {
    if (message.stride_at(axis) == fields.strides[axis]) continue;
    ENGINE_ASSERT_OK(message.set_stride_at(axis, fields.strides[axis]));
  }
  message.set_channel(fields.channel);
  message.set_freq(fields.freq);
  message.set_batch_size(fields.batch_size);
  message.set_quant_scale(std::bit_cast<float>(fields.quant_scale_bits));
  message.set_quant_zero_point(fields.quant_zero_point);
  message.set_device(static_cast<TensorMessage::Device>(fields.device));
  message.get_reserved() = static_cast<std::uint8_t>(fields.reserved_buf);
  message.get_reserved2() = static_cast<std::uint16_t>(fields.reserved_buf2);
  message.get_reserved3() = fields.reserved_buf3;
}

class UpstreamWrittenTest : public ::testing::TestWithParam<WrittenCase> {};

TEST_P(UpstreamWrittenTest, IsEncodedAlikeFromItsFields) {
  const Fields& fields = GetParam().fields;
  const ByteVector envelope = ParseBytes(GetParam().envelope);
  ByteVector payload(envelope.begin() + 256, envelope.end() - 4);
  TensorMessage message;
  SetFields(GetParam(), message);
  if (!payload.empty() && fields.is_owner) {
    ENGINE_ASSERT_OK(message.create(payload.size()));
    std::memcpy(message.mutable_data(), payload.data(), payload.size());
  } else if (!payload.empty()) {
    ENGINE_ASSERT_OK(message.shallow_copy(payload.data(), payload.size()));
  }
  ExpectFields(message, fields);
  ExpectReserved(message, fields);
  EXPECT_EQ(Encoded(message), envelope);
}

TEST_P(UpstreamWrittenTest, DecodesToItsFieldsAndEncodesAgain) {
  Fields fields = GetParam().fields;
  ByteVector envelope = ParseBytes(GetParam().envelope);
  TensorMessage message;
  ENGINE_ASSERT_OK(message.Decode(envelope));
  fields.is_owner = false;
  ExpectFields(message, fields);
  ExpectReserved(message, fields);
  const ByteVector again = Encoded(message);
  // Upstream's receiver does not own the payload either.
  envelope[kOwnerAt] = 0;
  EXPECT_EQ(again, envelope);
}

INSTANTIATE_TEST_SUITE_P(All, UpstreamWrittenTest, ::testing::ValuesIn(upstream::kWritten),
                         CaseName<WrittenCase>);

// What clear() leaves, as upstream leaves it: the reserved fields, and no frame_id.
TEST(UpstreamClearTest, EncodesAsUpstreamAfterClear) {
  for (const WrittenCase& written : upstream::kWritten) {
    const std::string_view name = written.name;
    if (name != "07_cleared" && name != "09_reserved_after_clear") continue;
    TensorMessage message = CountingMessage(3);
    message.header.reserved = 5;
    message.set_name("image");
    message.get_reserved() = static_cast<std::uint8_t>(written.fields.reserved_buf);
    message.get_reserved2() = static_cast<std::uint16_t>(written.fields.reserved_buf2);
    message.get_reserved3() = written.fields.reserved_buf3;
    message.clear();
    EXPECT_EQ(Encoded(message), ParseBytes(written.envelope)) << name;
  }
}

class UpstreamReadTest : public ::testing::TestWithParam<ReadCase> {
 protected:
  // What upstream's destination held: none of it appears in the envelopes.
  void SetUp() override {
    destination_ = CountingMessage(4);
    destination_.set_name("sentinel");
    destination_.header.seq = 77;
    destination_.get_reserved() = 9;
  }

  TensorMessage destination_;
};

TEST_P(UpstreamReadTest, HasTheSameVerdictAndFields) {
  const ReadCase& read = GetParam();
  const ByteVector envelope = ParseBytes(read.envelope);
  EXPECT_EQ(TensorMessage::check_valid(envelope).ok(), read.check_valid);
  const ByteVector before = Encoded(destination_);

  const core::Status status = destination_.Decode(envelope);
  ASSERT_EQ(status.ok(), read.accepted) << status.ToString();
  if (read.accepted) {
    ExpectFields(destination_, read.fields);
    ExpectReserved(destination_, read.fields);
    EXPECT_EQ(destination_.data(), envelope.data() + 256);
  } else {
    EXPECT_EQ(status.code(), core::StatusCode::kInvalidArgument);
    EXPECT_EQ(Encoded(destination_), before);
    EXPECT_TRUE(destination_.is_owner());
  }
}

TEST_P(UpstreamReadTest, SharedBytesHaveTheSameVerdict) {
  const ByteVector envelope = ParseBytes(GetParam().envelope);
  const auto buffer = BufferOf(envelope);
  const core::Status status = destination_ << buffer;
  EXPECT_EQ(status.ok(), GetParam().accepted) << status.ToString();
  EXPECT_EQ(buffer.use_count(), status.ok() ? 2 : 1);
}

INSTANTIATE_TEST_SUITE_P(All, UpstreamReadTest, ::testing::ValuesIn(upstream::kRead),
                         CaseName<ReadCase>);

}  // namespace
}  // namespace engine::wire
