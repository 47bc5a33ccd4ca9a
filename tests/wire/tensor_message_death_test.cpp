// What only a caller's source can get wrong dies, with a message.
#include <gtest/gtest.h>

#include <memory>

#include "memory/allocator.h"
#include "testing/tensors.h"
#include "wire/tensor_message.h"
#include "wire_test_util.h"

namespace engine::wire {
namespace {

class CudaAllocator final : public memory::Allocator {
 public:
  core::StatusOr<memory::Buffer> Allocate(std::size_t, std::size_t) override {
    return core::OutOfMemoryError();
  }
  tensor::Device device() const override { return tensor::Device::Cuda(0); }
};

class TensorMessageDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(TensorMessageDeathTest, DecodeOfNoBuffer) {
  TensorMessage message;
  EXPECT_DEATH((void)message.Decode(std::shared_ptr<memory::Buffer>()), "the buffer is null");
}

TEST_F(TensorMessageDeathTest, BuffersOfAnotherDevice) {
  std::byte bytes[16];
  TensorMessage message;
  EXPECT_DEATH(
      (void)message.Decode(testing::BorrowStorage(bytes, 16, false, tensor::Device::Cuda(0))),
      "the buffer is on cuda:0, expected cpu");
  memory::Buffer out(bytes, 16, tensor::Device::Cuda(0), [](void*) {});
  EXPECT_DEATH((void)(message >> out), "the buffer is on cuda:0, expected cpu");
}

TEST_F(TensorMessageDeathTest, AllocatorsOfAnotherDevice) {
  CudaAllocator cuda;
  TensorMessage message = CountingMessage(3);
  message.set_quant_scale(1);
  const TensorMessage source = CountingMessage(3);
  const std::uint8_t byte = 0;
  EXPECT_DEATH((void)message.create(1, &cuda), "serves cuda:0, expected cpu");
  EXPECT_DEATH((void)message.deep_copy(&byte, 1, &cuda), "serves cuda:0, expected cpu");
  EXPECT_DEATH((void)message.deep_copy(source, &cuda), "serves cuda:0, expected cpu");
  EXPECT_DEATH((void)message.Clone(&cuda), "serves cuda:0, expected cpu");
  EXPECT_DEATH((void)message.Encode(&cuda), "serves cuda:0, expected cpu");
  EXPECT_DEATH((void)message.Dequantize(&cuda), "the allocator serves cuda:0");
  EXPECT_DEATH((void)TensorMessage::FromTensor(testing::Counting({2}, tensor::DataType::kInt8),
                                               TensorMessage::Packing::kPack, &cuda),
               "serves cuda:0, expected cpu");
}

TEST_F(TensorMessageDeathTest, FromUndefinedTensor) {
  EXPECT_DEATH((void)TensorMessage::FromTensor(tensor::Tensor()), "the tensor is undefined");
}

}  // namespace
}  // namespace engine::wire
