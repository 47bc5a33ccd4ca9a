// Clause: writers put elements in row-major order, strided ones without a whole temporary copy
// (tensor/element_writer.h).
#include "tensor/element_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "testing/death_test_style.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

using ::engine::testing::Counting;
using ::engine::testing::StatusIs;

class RecordingSink final : public memory::ByteSink {
 public:
  core::Status Append(const void* data, std::size_t size_bytes) override {
    if (bytes.size() + size_bytes > limit) return core::InternalError("full");
    bytes.append(static_cast<const char*>(data), size_bytes);
    largest = std::max(largest, size_bytes);
    ++calls;
    return core::OkStatus();
  }

  std::string bytes;
  std::size_t largest = 0;
  int calls = 0;
  std::size_t limit = SIZE_MAX;
};

std::vector<std::int32_t> Int32sOf(const std::string& bytes) {
  std::vector<std::int32_t> values(bytes.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(ElementWriterTest, ContiguousGoesInOnePieceFromWhereItIs) {
  const Tensor tensor = Counting({512, 1024}, DataType::kInt32);
  RecordingSink sink;
  ElementWriter writer(sink);
  ENGINE_ASSERT_OK(writer.Append(tensor));
  EXPECT_EQ(sink.calls, 1);
  EXPECT_EQ(sink.largest, tensor.nbytes());
}

// Above the chunk, below it, and with single rows above it; the values by formula.
TEST(ElementWriterTest, StridedPassesInPieces) {
  for (const auto& [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>{7, 5}, {100'000, 3}, {3, 100'000}, {301, 701}}) {
    const Tensor base = Counting({rows, cols}, DataType::kInt32);
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, base.transpose(0, 1));
    RecordingSink sink;
    ElementWriter writer(sink);
    ENGINE_ASSERT_OK(writer.Append(turned));
    EXPECT_LE(sink.largest, 256U * 1024U);
    const std::vector<std::int32_t> values = Int32sOf(sink.bytes);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), rows * cols);
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      ASSERT_EQ(values[static_cast<std::size_t>(i)], (i % rows) * cols + i / rows) << i;
    }
  }
}

TEST(ElementWriterTest, EmptyAndScalar) {
  RecordingSink sink;
  ElementWriter writer(sink);
  ENGINE_ASSERT_OK(writer.Append(Counting({3, 0}, DataType::kInt32)));
  EXPECT_EQ(sink.bytes.size(), 0U);
  ENGINE_ASSERT_OK(writer.Append(Counting({}, DataType::kInt32)));
  EXPECT_EQ(sink.bytes.size(), 4U);
}

TEST(ElementWriterTest, TheSinksErrorStops) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned,
                              Counting({1000, 1000}, DataType::kInt32).transpose(0, 1));
  RecordingSink sink;
  sink.limit = 1'000'000;
  ElementWriter writer(sink);
  EXPECT_THAT(writer.Append(turned), StatusIs(core::StatusCode::kInternal, "full"));
  EXPECT_LE(sink.bytes.size(), 1'000'000U);
}

class ElementWriterDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(ElementWriterDeathTest, Undefined) {
  RecordingSink sink;
  ElementWriter writer(sink);
  EXPECT_DEATH(static_cast<void>(writer.Append(Tensor())), "the tensor is undefined");
}

TEST_F(ElementWriterDeathTest, NotOnTheCpu) {
  RecordingSink sink;
  ElementWriter writer(sink);
  std::int32_t element = 0;
  const auto storage = testing::BorrowStorage(&element, sizeof(element), false, Device::Cuda(0));
  const auto remote = Tensor::from_buffer(storage, 0, {1}, DataType::kInt32);
  EXPECT_DEATH(static_cast<void>(writer.Append(*remote)),
               "ElementWriter: the tensor is on cuda:0, expected cpu");
}

}  // namespace
}  // namespace engine::tensor
