// The code of docs/guide/ownership-and-views.md; guide_text_test.cpp compares the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include "governed/governed_tensor.h"
#include "memory/buffer.h"
#include "memory/page_allocator.h"
#include "memory/pmr_allocator.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace {

namespace ops = engine::tensor::ops;
namespace memory = engine::memory;
using engine::core::Status;
using engine::core::StatusOr;
using engine::governed::GovernedTensor;
using engine::tensor::DataType;
using engine::tensor::Device;
using engine::tensor::Tensor;

Status Handles() {
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(Tensor a, ops::zeros({4, 4}, DataType::kFloat32));
  Tensor b = a;                                         // another handle, the same elements
  ENGINE_ASSIGN_OR_RETURN(Tensor c, a.slice(0, 1, 3));  // rows 1 and 2 of them
  ENGINE_RETURN_IF_ERROR(ops::fill(c, 7));              // a, b and c all see it
  a = Tensor();                                         // b and c still share the storage
  // [/snippet]
  EXPECT_FALSE(a.defined());
  EXPECT_EQ(b.item<float>({0, 0}), 0.0f);
  EXPECT_EQ(b.item<float>({2, 3}), 7.0f);
  EXPECT_EQ(b.buffer(), c.buffer());
  EXPECT_EQ(c.buffer().use_count(), 2);
  return engine::core::OkStatus();
}

TEST(OwnershipTest, Handles) { ENGINE_EXPECT_OK(Handles()); }

Status Copies() {
  ENGINE_ASSIGN_OR_RETURN(const Tensor a, ops::arange(0, 6, 1, DataType::kFloat32));
  const Tensor& src = a;
  ENGINE_ASSIGN_OR_RETURN(const Tensor dst, ops::zeros({6}, DataType::kFloat32));
  ENGINE_ASSIGN_OR_RETURN(const Tensor cache_row, ops::zeros({6}, DataType::kFloat16));
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(Tensor deep, ops::cast(a, a.dtype()));  // fresh, contiguous
  ENGINE_RETURN_IF_ERROR(ops::copy(dst, src));                    // into existing elements
  ENGINE_RETURN_IF_ERROR(ops::cast_into(cache_row, src));         // the same, converting
  // [/snippet]
  EXPECT_NE(deep.data(), a.data());
  EXPECT_EQ(dst.item<float>({5}), 5.0f);
  EXPECT_EQ(static_cast<float>(cache_row.item<engine::tensor::float16>({5})), 5.0f);
  return engine::core::OkStatus();
}

TEST(OwnershipTest, Copies) { ENGINE_EXPECT_OK(Copies()); }

// [snippet]
StatusOr<Tensor> Wrap(std::vector<float> values) {
  auto owner = std::make_shared<std::vector<float>>(std::move(values));
  void* const data = owner->data();
  const auto count = static_cast<std::int64_t>(owner->size());
  memory::Buffer buffer(data, owner->size() * sizeof(float), Device::Cpu(),
                        [owner](void*) mutable { owner.reset(); });
  ENGINE_ASSIGN_OR_RETURN(auto shared, memory::ShareBuffer(std::move(buffer)));
  return Tensor::from_buffer(std::move(shared), /*byte_offset=*/0, {count}, DataType::kFloat32);
}
// [/snippet]

TEST(OwnershipTest, Wrap) {
  std::vector<float> values = {1, 2, 3};
  const float* const address = values.data();
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, Wrap(std::move(values)));
  EXPECT_EQ(tensor.data(), address);
  EXPECT_EQ(tensor.item<float>({2}), 3.0f);
}

Status Allocators() {
  // [snippet]
  std::pmr::monotonic_buffer_resource arena(1 << 16);
  memory::PmrAllocator scratch(&arena);  // any std::pmr resource; arena must live longer
  memory::PageAllocator weights({.huge_pages = true});  // each Buffer a mapping of its own
  ENGINE_ASSIGN_OR_RETURN(Tensor small,
                          Tensor::empty({2, 3}, DataType::kFloat32, Device::Cpu(), &scratch));
  ENGINE_ASSIGN_OR_RETURN(Tensor large,
                          ops::zeros({1024, 1024}, DataType::kFloat32, Device::Cpu(), &weights));
  // [/snippet]
  EXPECT_EQ(small.shape().numel(), 6);
  EXPECT_EQ(large.item<float>({1023, 1023}), 0.0f);
  return engine::core::OkStatus();
}

TEST(OwnershipTest, Allocators) { ENGINE_EXPECT_OK(Allocators()); }

Status Views() {
  ENGINE_ASSIGN_OR_RETURN(const Tensor line, ops::arange(0, 24, 1, DataType::kInt32));
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(Tensor t, line.reshape({2, 3, 4}));    // strides [12, 4, 1]
  ENGINE_ASSIGN_OR_RETURN(Tensor turned, t.permute({2, 0, 1}));  // [4, 2, 3], strides [1, 12, 4]
  ENGINE_ASSIGN_OR_RETURN(Tensor plane, t.select(1, 2));         // [2, 4], strides [12, 1]
  ENGINE_ASSIGN_OR_RETURN(Tensor odd, t.strided_slice({{0, 2}, {0, 3}, {1, 4, 2}}));  // [2, 3, 2]
  ENGINE_ASSIGN_OR_RETURN(Tensor row, t.unsqueeze(0));                        // [1, 2, 3, 4]
  ENGINE_ASSIGN_OR_RETURN(Tensor bits, t.view_as_dtype(DataType::kFloat32));  // the same bytes
  // [/snippet]
  EXPECT_THAT(t.strides().values(), ::testing::ElementsAre(12, 4, 1));
  EXPECT_THAT(turned.shape().dims(), ::testing::ElementsAre(4, 2, 3));
  EXPECT_THAT(turned.strides().values(), ::testing::ElementsAre(1, 12, 4));
  EXPECT_THAT(plane.shape().dims(), ::testing::ElementsAre(2, 4));
  EXPECT_THAT(plane.strides().values(), ::testing::ElementsAre(12, 1));
  EXPECT_THAT(odd.shape().dims(), ::testing::ElementsAre(2, 3, 2));
  EXPECT_EQ(odd.item<std::int32_t>({1, 0, 1}), 12 + 3);
  EXPECT_THAT(row.shape().dims(), ::testing::ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(bits.data(), t.data());
  return engine::core::OkStatus();
}

TEST(OwnershipTest, Views) { ENGINE_EXPECT_OK(Views()); }

// [snippet]
// The elements of `t` in row-major order under `shape`; copies only if it must.
StatusOr<Tensor> Flattened(const Tensor& t, const engine::tensor::Shape& shape) {
  if (t.is_contiguous()) return t.reshape(shape);
  ENGINE_ASSIGN_OR_RETURN(Tensor packed, ops::cast(t, t.dtype()));
  return packed.reshape(shape);
}
// [/snippet]

TEST(OwnershipTest, Flattened) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor t, ops::arange(0, 6)->reshape({2, 3}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor same, Flattened(t, {6}));
  EXPECT_EQ(same.data(), t.data());
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor fresh, Flattened(*t.transpose(0, 1), {6}));
  EXPECT_NE(fresh.data(), t.data());
  EXPECT_EQ(fresh.item<std::int64_t>({1}), 3);
}

Status Siblings() {
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(auto weights, GovernedTensor<float>::Alloc({4, 4}));
  GovernedTensor<float> draft = weights;            // shares, without a copy
  ENGINE_RETURN_IF_ERROR(draft.Set({0, 0}, 1.5f));  // draft moves to storage of its own first
  ENGINE_ASSIGN_OR_RETURN(float original, weights.Get({0, 0}));  // still 0
  // [/snippet]
  EXPECT_EQ(original, 0.0f);
  EXPECT_EQ(draft.data()[0], 1.5f);
  return engine::core::OkStatus();
}

TEST(OwnershipTest, Siblings) { ENGINE_EXPECT_OK(Siblings()); }

}  // namespace
