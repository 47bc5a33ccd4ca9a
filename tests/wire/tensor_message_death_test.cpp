// What only a caller's source can get wrong dies, with a message.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "memory/allocator.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"
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
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
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
  EXPECT_DEATH((void)message.EncodeToBuffer(&cuda), "serves cuda:0, expected cpu");
  EXPECT_DEATH((void)message.Dequantize(&cuda), "the allocator serves cuda:0");
  EXPECT_DEATH((void)TensorMessage::FromTensor(testing::Counting({2}, tensor::DataType::kInt8),
                                               TensorMessage::Packing::kPack, &cuda),
               "serves cuda:0, expected cpu");
}

// Gives other sizes than it was asked for.
class InexactAllocator final : public memory::Allocator {
 public:
  explicit InexactAllocator(std::ptrdiff_t difference) : difference_(difference) {}
  core::StatusOr<memory::Buffer> Allocate(std::size_t bytes, std::size_t alignment) override {
    return memory::DefaultCpuAllocator()->Allocate(bytes + static_cast<std::size_t>(difference_),
                                                   alignment);
  }
  tensor::Device device() const override { return tensor::Device::Cpu(); }

 private:
  std::ptrdiff_t difference_;
};

TEST_F(TensorMessageDeathTest, AllocatorsThatReturnTooLittle) {
  InexactAllocator small(-1);
  TensorMessage message = CountingMessage(3);
  const std::uint8_t bytes[2] = {};
  EXPECT_DEATH((void)message.create(2, &small), "returned 1 bytes, 2 were asked for");
  EXPECT_DEATH((void)message.deep_copy(bytes, 2, &small), "returned 1 bytes, 2 were asked for");
  EXPECT_DEATH((void)message.Clone(&small), "returned 2 bytes, 3 were asked for");
  EXPECT_DEATH((void)message.EncodeToBuffer(&small), "returned 262 bytes, 263 were asked for");
}

// More is no harm: the rest is left alone.
TEST_F(TensorMessageDeathTest, AllocatorsThatReturnMore) {
  InexactAllocator large(5);
  const TensorMessage message = CountingMessage(3);
  ENGINE_ASSERT_OK_AND_ASSIGN(const memory::Buffer buffer, message.EncodeToBuffer(&large));
  EXPECT_EQ(buffer.size_bytes(), 268u);
  EXPECT_EQ(std::memcmp(buffer.data(), Encoded(message).data(), 263), 0);
  ENGINE_ASSERT_OK_AND_ASSIGN(const TensorMessage clone, message.Clone(&large));
  EXPECT_EQ(PayloadOf(clone), (ByteVector{1, 2, 3}));
}

// It would keep pointing at bytes that the assignment releases.
TEST_F(TensorMessageDeathTest, AssigningABorrowerOfTheOwnStorage) {
  TensorMessage owner = CountingMessage(8);
  TensorMessage borrower;
  ASSERT_TRUE(borrower.shallow_copy(owner.mutable_data() + 4, 2).ok());
  EXPECT_DEATH(owner = std::move(borrower), "borrows 2 bytes of the storage");
}

TEST_F(TensorMessageDeathTest, FromUndefinedTensor) {
  EXPECT_DEATH((void)TensorMessage::FromTensor(tensor::Tensor()), "the tensor is undefined");
}

}  // namespace
}  // namespace engine::wire
