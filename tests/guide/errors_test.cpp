// The code of docs/guide/errors.md; guide_text_test.cpp compares the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/status.h"
#include "governed/governed_tensor.h"
#include "tensor/ops.h"
#include "testing/allocators.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace {

namespace core = engine::core;
namespace governed = engine::governed;
namespace memory = engine::memory;
namespace ops = engine::tensor::ops;
using engine::core::Status;
using engine::core::StatusOr;
using engine::tensor::DataType;
using engine::tensor::Shape;
using engine::tensor::Tensor;
using engine::testing::StatusIs;

// [snippet]
StatusOr<Tensor> Embedding(std::span<const std::int64_t> dims_of_file,
                           std::string_view dtype_name) {
  ENGINE_ASSIGN_OR_RETURN(const Shape shape, Shape::FromDims(dims_of_file));
  if (shape.rank() != 2) {
    return core::InvalidArgumentError("embedding: rank {}, expected 2", shape.rank());
  }
  ENGINE_ASSIGN_OR_RETURN(const DataType dtype, engine::tensor::from_string(dtype_name));
  return ops::zeros(shape, dtype);
}
// [/snippet]

TEST(ErrorsTest, Embedding) {
  const std::int64_t good[] = {3, 2};
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor made, Embedding(good, "float16"));
  EXPECT_EQ(made.numel(), 6);
  const std::int64_t negative[] = {3, -2};
  EXPECT_THAT(Embedding(negative, "float16"),
              StatusIs(core::StatusCode::kInvalidArgument, "extent -2 of axis 1"));
  const std::int64_t flat[] = {6};
  EXPECT_THAT(Embedding(flat, "float16"), StatusIs(core::StatusCode::kInvalidArgument, "rank 1"));
  EXPECT_THAT(Embedding(good, "half"), StatusIs(core::StatusCode::kInvalidArgument, "'half'"));
  EXPECT_THAT(Embedding(good, "int4"), StatusIs(core::StatusCode::kUnimplemented));
}

TEST(ErrorsTest, Messages) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor t, ops::zeros({2, 2}, DataType::kFloat32));
  // [snippet]
  const Status status = t.permute({1, 1}).status();
  // [/snippet]
  EXPECT_EQ(status.ToString(),
            "INVALID_ARGUMENT: "
            R"(permute: 2 axes [1, 1] are not a permutation of the 2 axes of shape [2, 2])");
}

// [snippet]
// Frees caches and tries once more when memory is short.
template <typename Make>
StatusOr<Tensor> WithRetry(Make make, void (*free_caches)()) {
  StatusOr<Tensor> made = make();
  if (core::IsOutOfMemory(made.status())) {
    free_caches();
    made = make();
  }
  return made;
}
// [/snippet]

TEST(ErrorsTest, Retry) {
  static int calls = 0;
  engine::testing::CountingAllocator none(0);
  engine::testing::CountingAllocator some(1);
  memory::Allocator* allocators[] = {&none, &some};
  std::size_t next = 0;
  const StatusOr<Tensor> made = WithRetry(
      [&] {
        return Tensor::empty({8}, DataType::kInt8, engine::tensor::Device::Cpu(),
                             allocators[next++]);
      },
      +[] { ++calls; });
  ENGINE_EXPECT_OK(made);
  EXPECT_EQ(calls, 1);
}

// [snippet]
std::string_view Explain(const Status& status) {
  switch (governed::FailureOf(status).value_or(governed::Failure::kEmptyTensor)) {
    case governed::Failure::kNotExclusive:
      return "somebody else shares the storage: Materialize() first";
    case governed::Failure::kNotContiguous:
      return "the strides are not row-major: Materialize() first";
    default:
      return "the arguments are wrong";
  }
}
// [/snippet]

TEST(ErrorsTest, Failures) {
  ENGINE_ASSERT_OK_AND_ASSIGN(auto tensor, governed::GovernedTensor<float>::Alloc({2, 3}));
  const governed::GovernedTensor<float> sibling = tensor;
  EXPECT_THAT(std::string(Explain(tensor.Reshape({3, 2}))), ::testing::HasSubstr("shares"));
  ENGINE_EXPECT_OK(tensor.Transpose({1, 0}));
  EXPECT_THAT(std::string(Explain(tensor.Reshape({2, 3}))), ::testing::HasSubstr("row-major"));
  EXPECT_EQ(Explain(tensor.Reshape({5})), "the arguments are wrong");
}

// [snippet]
// `head` comes from the engine's own loops: a wrong one is a bug of this file.
const float* HeadOf(const Tensor& cache, std::int64_t head) {
  ENGINE_CHECK(head >= 0 && head < cache.shape().dim(0), "head {} of {}", head,
               cache.shape().dim(0));
  return cache.data_ptr<const float>() + head * cache.strides()[0];
}
// [/snippet]

TEST(ErrorsTest, HeadOf) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor cache, ops::ones({4, 8}, DataType::kFloat32));
  EXPECT_EQ(HeadOf(cache, 3) - HeadOf(cache, 0), 24);
}

class ErrorsDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, engine::testing::kDeathTestStyle); }
};

TEST_F(ErrorsDeathTest, HeadOf) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor cache, ops::ones({4, 8}, DataType::kFloat32));
  EXPECT_DEATH(static_cast<void>(HeadOf(cache, 4)), "CHECK failed: .*: head 4 of 4");
}

}  // namespace
