// Clause: docs/design/views.md, "What is asked of a tensor", "Spans".
#include "interop/span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/buffer.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::interop {
namespace {

using ::engine::testing::Counting;
using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Device;
using tensor::Tensor;
using ::testing::ElementsAre;

static_assert(ViewableElement<float> && ViewableElement<const tensor::bfloat16>);
static_assert(!ViewableElement<bool> && !ViewableElement<const bool> && !ViewableElement<char*>);

std::shared_ptr<memory::Buffer> Lent(void* data, std::size_t bytes, Device device,
                                     bool read_only = false) {
  return std::make_shared<memory::Buffer>(
      data, bytes, device, [](void*) {}, read_only);
}

TEST(AsSpanTest, SharesTheElements) {
  const Tensor tensor = Counting({2, 3}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const std::span<std::int32_t> span, AsSpan<std::int32_t>(tensor));
  EXPECT_EQ(span.data(), tensor.data());
  EXPECT_THAT(span, ElementsAre(0, 1, 2, 3, 4, 5));
  span[4] = -1;
  EXPECT_EQ(tensor.item<std::int32_t>({1, 1}), -1);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor row, tensor.select(0, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto row_span, AsSpan<const std::int32_t>(row));
  EXPECT_THAT(row_span, ElementsAre(3, -1, 5));
}

TEST(AsSpanTest, ScalarsAndEmpties) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto one, AsSpan<float>(Counting({}, DataType::kFloat32)));
  EXPECT_EQ(one.size(), 1U);
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto none, AsSpan<float>(Counting({2, 0}, DataType::kFloat32)));
  EXPECT_TRUE(none.empty());
}

// P23: bytes other than 0 and 1 are never loaded as bool.
TEST(AsSpanTest, BoolAsBytes) {
  const Tensor tensor = testing::TensorOfBits({3}, DataType::kBool, {0, 2, 255});
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto bytes, AsSpan<const std::uint8_t>(tensor));
  EXPECT_THAT(bytes, ElementsAre(0, 2, 255));
  EXPECT_THAT(AsSpan<const std::int8_t>(tensor), StatusIs(core::StatusCode::kInvalidArgument));
}

TEST(AsSpanTest, Refusals) {
  const auto refused = [](const Tensor& tensor, const char* message) {
    EXPECT_THAT(AsSpan<float>(tensor), StatusIs(core::StatusCode::kInvalidArgument, message));
  };
  refused(Tensor(), "undefined");
  const Tensor matrix = Counting({2, 3}, DataType::kFloat32);
  refused(*matrix.transpose(0, 1), "shape [3, 2] with strides [1, 3] is not contiguous");
  refused(Counting({2}, DataType::kInt32), "a tensor of int32, shape [2], as float32");
  alignas(8) char bytes[16] = {};
  refused(*Tensor::from_buffer(Lent(bytes, 16, Device::Cpu()), 2, {3}, DataType::kFloat32),
          "not a multiple of 4 bytes");
  // Without elements nothing is loaded.
  ENGINE_EXPECT_OK(AsSpan<float>(
      *Tensor::from_buffer(Lent(bytes, 16, Device::Cpu()), 1, {0, 3}, DataType::kFloat32)));
  const Tensor read_only =
      *Tensor::from_buffer(Lent(bytes, 16, Device::Cpu(), true), 0, {3}, DataType::kFloat32);
  refused(read_only, "a read-only tensor");
  ENGINE_EXPECT_OK(AsSpan<const float>(read_only));
  const Tensor cuda =
      *Tensor::from_buffer(Lent(bytes, 16, Device::Cuda(0)), 0, {3}, DataType::kFloat32);
  EXPECT_THAT(AsSpan<const float>(cuda), StatusIs(core::StatusCode::kUnimplemented, "cuda:0"));
}

}  // namespace
}  // namespace engine::interop
