// P52: tensors of namespace scope, filled while main runs, are destroyed after it without a fault.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/tensor.h"

namespace engine::tensor {
namespace {

// Declared before the tensors, so destroyed after them; gtest has reported by then, which leaves
// the exit code to tell. A process that only lists its tests fills nothing.
struct Verdict {
  ~Verdict() {
    if (!filled || deletions == 1) return;
    std::fprintf(stderr, "the storage was released %d times, expected once\n", deletions);
    std::_Exit(EXIT_FAILURE);
  }
  bool filled = false;
  int deletions = 0;
};
Verdict verdict;

Tensor from_default_allocator;
Tensor counted;

TEST(TensorStaticDestructionTest, NamespaceScopeTensorsOutliveMain) {
  core::StatusOr<Tensor> allocated = Tensor::empty({16}, DataType::kInt32, Device::Cpu());
  ASSERT_TRUE(allocated.ok());
  from_default_allocator = *allocated;
  from_default_allocator.data_ptr<std::int32_t>()[15] = 1;

  core::StatusOr<Tensor> wrapped =
      Tensor::from_buffer(std::make_shared<memory::Buffer>(std::malloc(8), 8, Device::Cpu(),
                                                           [](void* data) {
                                                             ++verdict.deletions;
                                                             std::free(data);
                                                           }),
                          0, {2}, DataType::kInt32);
  ASSERT_TRUE(wrapped.ok());
  counted = *wrapped;
  verdict.filled = true;
}

}  // namespace
}  // namespace engine::tensor
