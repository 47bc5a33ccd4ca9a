// Clause: docs/design/debugging.md: tensors in debuggers and on streams.
#include "tensor/debug.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "tensor/ops.h"
#include "tensor/ostream.h"
#include "testing/tensors.h"

namespace engine::tensor {
namespace {

using ::engine::testing::Counting;

TEST(DebugStringTest, IsToString) {
  const Tensor tensor = Counting({2, 3}, DataType::kFloat32);
  EXPECT_STREQ(DebugString(tensor),
               "Tensor(shape=[2, 3], dtype=float32, device=cpu)\n[[0, 1, 2],\n [3, 4, 5]]");
  EXPECT_STREQ(DebugString(Tensor()), "Tensor(undefined)");
  // The last call's text replaces it.
  const char* const first = DebugString(tensor);
  EXPECT_EQ(DebugString(Tensor()), first);
}

// A debugger must not end the program.
TEST(DebugStringTest, CudaHasNoValues) {
  float value = 0;
  const auto buffer = std::make_shared<memory::Buffer>(&value, 4, Device::Cuda(0), [](void*) {});
  EXPECT_STREQ(DebugString(*Tensor::from_buffer(buffer, 0, {1}, DataType::kFloat32)),
               "Tensor(shape=[1], dtype=float32, device=cuda:0)");
}

TEST(DebugStringTest, IsShortened) {
  const Tensor tensor = Counting({4, 4, 4, 4, 4, 4}, DataType::kInt32);
  const std::string text = DebugString(tensor);
  EXPECT_EQ(text.size(), 4095U);
  EXPECT_TRUE(text.ends_with("..."));
  EXPECT_EQ(text.substr(0, 4092), ops::to_string(tensor).substr(0, 4092));
}

TEST(OstreamTest, PrintsWhatFmtDoes) {
  std::ostringstream out;
  out << DataType::kBFloat16 << ' ' << Device::Cuda(1) << ' ' << Strides({3, 1}) << ' '
      << Shape({2, 3}) << '\n'
      << Counting({2}, DataType::kInt8);
  EXPECT_EQ(out.str(),
            "bfloat16 cuda:1 [3, 1] [2, 3]\nTensor(shape=[2], dtype=int8, "
            "device=cpu)\n[0, 1]");
}

}  // namespace
}  // namespace engine::tensor
