// Misuse that only the caller's source can cause dies with a message.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "governed/governed_tensor.h"
#include "governed/shared_storage.h"
#include "governed_test_util.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include "testing/death_test_style.h"
#include "testing/tensors.h"

namespace engine::governed {
namespace {

using Governed = GovernedTensor<float>;

class GovernedDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(GovernedDeathTest, OperationsOnAnEmptyHandle) {
  Governed empty;
  const char* const why = "the tensor is empty";
  EXPECT_DEATH(static_cast<void>(empty.View({})), why);
  EXPECT_DEATH(static_cast<void>(empty.Transpose({})), why);
  EXPECT_DEATH(static_cast<void>(empty.Reshape({1})), why);
  EXPECT_DEATH(static_cast<void>(empty.Materialize()), why);
  EXPECT_DEATH(static_cast<void>(empty.Get({})), why);
  EXPECT_DEATH(static_cast<void>(empty.Set({}, 1)), why);
  EXPECT_DEATH(static_cast<void>(empty.AsTensor()), why);
  EXPECT_DEATH(static_cast<void>(empty.data()), "data: the tensor is empty");
  EXPECT_DEATH(static_cast<void>(empty.mutable_data()), "mutable_data: the tensor is empty");
}

TEST_F(GovernedDeathTest, UseAfterFree) {
  Governed t = Counting({2});
  t.Free();
  EXPECT_DEATH(static_cast<void>(t.Get({0})), "Get: the tensor is empty");
}

TEST_F(GovernedDeathTest, UndefinedSource) {
  EXPECT_DEATH(static_cast<void>(Governed::FromTensor(tensor::Tensor())),
               "FromTensor: the source is undefined");
}

TEST_F(GovernedDeathTest, DisengagedBuffer) {
  memory::Buffer none;
  EXPECT_DEATH(static_cast<void>(Governed::Adopt(std::move(none), {1})),
               "Adopt: the buffer is disengaged");
}

TEST_F(GovernedDeathTest, PointerToMisalignedElements) {
  alignas(4) std::byte bytes[12] = {};
  const Governed t =
      *Governed::Adopt(memory::Buffer(bytes + 2, 8, tensor::Device::Cpu(), [](void*) {}), {2});
  EXPECT_DEATH(static_cast<void>(t.data()), "data: the storage is not aligned to 4 bytes");
}

// An allocator for another device, or one that breaks its promise.
class BadAllocator final : public memory::Allocator {
 public:
  explicit BadAllocator(tensor::Device device) : device_(device) {}
  core::StatusOr<memory::Buffer> Allocate(std::size_t bytes, std::size_t alignment) override {
    ENGINE_ASSIGN_OR_RETURN(memory::Buffer whole,
                            memory::DefaultCpuAllocator()->Allocate(bytes, alignment));
    // AllocateZeroed writes what it asked for, before anybody can see that it is called less.
    void* const data = whole.data();
    return memory::Buffer(data, bytes / 2, device_,
                          [owner = std::make_shared<memory::Buffer>(std::move(whole))](void*) {});
  }
  tensor::Device device() const override { return device_; }

 private:
  tensor::Device device_;
};

TEST_F(GovernedDeathTest, Allocators) {
  BadAllocator cuda(tensor::Device::Cuda(0));
  EXPECT_DEATH(static_cast<void>(Governed::Alloc({2}, &cuda)), "the allocator serves cuda:0");
  BadAllocator small(tensor::Device::Cpu());
  EXPECT_DEATH(static_cast<void>(Governed::Alloc({2}, &small)), "returned 4 bytes for 8");
  const tensor::Tensor two = testing::Counting({2}, tensor::DataType::kFloat32);
  EXPECT_DEATH(static_cast<void>(Governed::FromTensor(two, &small)),
               "returned 4 bytes, 8 were asked for");
}

TEST_F(GovernedDeathTest, NotAFailure) {
  EXPECT_DEATH(static_cast<void>(to_string(static_cast<Failure>(9))), "9 is not a Failure");
}

TEST_F(GovernedDeathTest, LendingNothing) {
  EXPECT_DEATH(static_cast<void>(internal::SharedStorage().Lend()), "defined");
}

}  // namespace
}  // namespace engine::governed
