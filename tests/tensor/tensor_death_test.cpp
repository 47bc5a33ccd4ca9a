// Every CHECK of tensor.h, with its message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "tensor/half.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "tensor_test_support.h"
#include "testing/death_test_style.h"

namespace engine::tensor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TensorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

// Views and data access on an undefined handle, default-constructed or moved-from.

void ExpectDeathOnUndefined(const Tensor& tensor) {
  const auto ignore = [](const auto&) {};
  EXPECT_DEATH(ignore(tensor.slice(0, 0, 0)), "slice: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.strided_slice({})), "strided_slice: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.select(0, 0)), "select: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.permute({})), "permute: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.transpose(0, 0)), "transpose: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.squeeze(0)), "squeeze: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.unsqueeze(0)), "unsqueeze: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.reshape({})), "reshape: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.view_as_dtype(DataType::kInt32)),
               "view_as_dtype: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.data()), "data: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.data_ptr<float>()), "data_ptr: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.item<float>({})), "item: the tensor is undefined");
  EXPECT_DEATH(ignore(tensor.is_aligned()), "is_aligned: the tensor is undefined");
}

TEST_F(TensorDeathTest, DefaultConstructed) { ExpectDeathOnUndefined(Tensor()); }

TEST_F(TensorDeathTest, MovedFrom) {
  Tensor tensor = Value(Tensor::empty({}, DataType::kFloat32, Device::Cpu()));
  const Tensor taken = std::move(tensor);
  ExpectDeathOnUndefined(tensor);  // NOLINT(bugprone-use-after-move)
}

// data_ptr: the dtype, then the alignment.

TEST_F(TensorDeathTest, DataPtrOfAnotherDtype) {
  const Tensor tensor = Iota({2, 3});
  EXPECT_DEATH(static_cast<void>(tensor.data_ptr<float>()),
               HasSubstr("data_ptr: the dtype is int32, not float32 (shape [2, 3])"));
  // The same width and signedness of the bits does not help.
  EXPECT_DEATH(static_cast<void>(tensor.data_ptr<const std::uint32_t>()), "not uint32");
}

// P75: typed access to a misaligned address.
TEST_F(TensorDeathTest, DataPtrOfAMisalignedTensor) {
  const Tensor tensor = Value(Tensor::from_buffer(MakeBuffer(13), 1, {3}, DataType::kFloat32));
  EXPECT_DEATH(static_cast<void>(tensor.data_ptr<float>()),
               "data_ptr: float32 at byte offset 1 is not aligned to 4 bytes");
}

// item: placement, dtype, rank and every index.

TEST_F(TensorDeathTest, ItemOfADevice) {
  const Tensor tensor = Value(Tensor::from_buffer(MakeCudaBuffer(16), 0, {4}, DataType::kFloat32));
  EXPECT_DEATH(static_cast<void>(tensor.item<float>({0})),
               "item: the tensor is on cuda:0, expected cpu");
}

TEST_F(TensorDeathTest, ItemOfAnotherDtype) {
  EXPECT_DEATH(static_cast<void>(Iota({2}).item<float>({0})),
               "item: the dtype is int32, not float32");
  EXPECT_DEATH(static_cast<void>(Iota({2}).item<float16>({0})), "not float16");
}

TEST_F(TensorDeathTest, ItemOfAnotherRank) {
  const Tensor tensor = Iota({2, 3});
  EXPECT_DEATH(static_cast<void>(tensor.item<std::int32_t>({0})),
               HasSubstr("item: 1 indices for shape [2, 3]"));
  EXPECT_DEATH(static_cast<void>(tensor.item<std::int32_t>({0, 0, 0})), "3 indices");
  EXPECT_DEATH(static_cast<void>(tensor.item<std::int32_t>({})), "0 indices");
  EXPECT_DEATH(static_cast<void>(tensor.item<std::int32_t>({0, 0, 0, 0, 0, 0, 0, 0, 0})),
               "9 indices");
}

TEST_F(TensorDeathTest, ItemOutOfRange) {
  const Tensor tensor = Value(Iota({2, 5}).slice(1, 0, 3));
  EXPECT_DEATH(static_cast<void>(tensor.item<std::int32_t>({1, 3})),
               AllOf(HasSubstr("item: index 3 of axis 1 is outside [0, 3)"), HasSubstr("[1, 3]"),
                     HasSubstr("shape [2, 3]")));
  EXPECT_DEATH(static_cast<void>(tensor.item<std::int32_t>({-1, 0})), "index -1 of axis 0");
  EXPECT_DEATH(
      static_cast<void>(tensor.item<std::int32_t>({0, std::numeric_limits<std::int64_t>::max()})),
      "of axis 1 is outside");
  const Tensor none = Value(tensor.slice(0, 1, 1));
  EXPECT_DEATH(static_cast<void>(none.item<std::int32_t>({0, 0})), HasSubstr("outside [0, 0)"));
}

// Storage: null buffers and allocators that do not do what their arguments say.

TEST_F(TensorDeathTest, NullBuffer) {
  // The dtype and the window are wrong too: the null is found first.
  EXPECT_DEATH(static_cast<void>(Tensor::from_buffer(nullptr, 9, {2}, DataType::kInt4)),
               "from_buffer: the buffer is null");
  EXPECT_DEATH(
      static_cast<void>(Tensor::from_strided_buffer(nullptr, 9, {2}, {-1}, DataType::kInt4)),
      "from_strided_buffer: the buffer is null");
}

// Says it serves `device` and returns `bytes` bytes on `buffer_device` whatever was asked.
class LyingAllocator final : public memory::Allocator {
 public:
  LyingAllocator(Device device, Device buffer_device, std::size_t bytes)
      : device_(device), buffer_device_(buffer_device), bytes_(bytes) {}
  core::StatusOr<memory::Buffer> Allocate(std::size_t, std::size_t) override {
    return memory::Buffer(std::malloc(bytes_), bytes_, buffer_device_, std::free);
  }
  Device device() const override { return device_; }

 private:
  Device device_;
  Device buffer_device_;
  std::size_t bytes_;
};

TEST_F(TensorDeathTest, AllocatorOfAnotherDevice) {
  LyingAllocator cuda(Device::Cuda(1), Device::Cuda(1), 8);
  LyingAllocator cpu(Device::Cpu(), Device::Cpu(), 8);
  EXPECT_DEATH(static_cast<void>(Tensor::empty({2}, DataType::kFloat32, Device::Cpu(), &cuda)),
               "empty: the allocator serves cuda:1, the tensor is to be on cpu");
  EXPECT_DEATH(static_cast<void>(Tensor::empty({2}, DataType::kFloat32, Device::Cuda(0), &cuda)),
               "serves cuda:1, the tensor is to be on cuda:0");
  // Ahead of the missing backend and of the reserved dtype.
  EXPECT_DEATH(static_cast<void>(Tensor::empty({2}, DataType::kInt4, Device::Cuda(0), &cpu)),
               "serves cpu, the tensor is to be on cuda:0");
}

TEST_F(TensorDeathTest, AllocatorReturnsTooLittle) {
  LyingAllocator allocator(Device::Cpu(), Device::Cpu(), 7);
  EXPECT_DEATH(static_cast<void>(Tensor::empty({2}, DataType::kFloat32, Device::Cpu(), &allocator)),
               "empty: the allocator returned 7 bytes, 8 were asked for");
  // Before the zeros go beyond the end.
  EXPECT_DEATH(static_cast<void>(ops::zeros({2}, DataType::kFloat32, Device::Cpu(), &allocator)),
               "AllocateZeroed: Allocate returned 7 bytes for 8");
}

TEST_F(TensorDeathTest, AllocatorReturnsMemoryOfAnotherDevice) {
  LyingAllocator allocator(Device::Cpu(), Device::Cuda(0), 8);
  EXPECT_DEATH(static_cast<void>(Tensor::empty({2}, DataType::kFloat32, Device::Cpu(), &allocator)),
               "empty: the allocator for cpu returned a buffer on device cuda:0");
  // Before the zeros go to an address that is none of the host's.
  EXPECT_DEATH(static_cast<void>(ops::zeros({2}, DataType::kFloat32, Device::Cpu(), &allocator)),
               "AllocateZeroed: Allocate returned a buffer on cuda:0");
}

}  // namespace
}  // namespace engine::tensor
