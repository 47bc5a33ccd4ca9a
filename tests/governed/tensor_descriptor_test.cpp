// Descriptor: what C callers see, byte for byte.
#include "governed/tensor_descriptor.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"

namespace engine::governed {
namespace {

// As a C caller declares it.
extern "C" {
struct CDescriptor {
  const void* data;
  int64_t rank, shape[8], strides[8], offset;
  uint8_t is_contiguous, owns_storage, reserved[6];
};
}

static_assert(sizeof(CDescriptor) == sizeof(TensorDescriptor));
static_assert(offsetof(CDescriptor, rank) == offsetof(TensorDescriptor, rank));
static_assert(offsetof(CDescriptor, shape) == offsetof(TensorDescriptor, shape));
static_assert(offsetof(CDescriptor, strides) == offsetof(TensorDescriptor, strides));
static_assert(offsetof(CDescriptor, offset) == offsetof(TensorDescriptor, offset));
static_assert(offsetof(CDescriptor, is_contiguous) == offsetof(TensorDescriptor, is_contiguous));
static_assert(offsetof(CDescriptor, owns_storage) == offsetof(TensorDescriptor, owns_storage));

CDescriptor AsC(const TensorDescriptor& descriptor) {
  CDescriptor result;
  std::memcpy(&result, &descriptor, sizeof(result));
  return result;
}

TEST(TensorDescriptorTest, OfAView) {
  auto t = Counting({2, 3, 4});
  auto v = *t.View({{1, 2}, {0, 3, 2}, {1, 4}});
  const CDescriptor c = AsC(v.Descriptor());
  EXPECT_EQ(c.data, t.data());
  EXPECT_EQ(c.rank, 3);
  const std::int64_t shape[8] = {1, 2, 3};
  const std::int64_t strides[8] = {12, 8, 1};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(c.shape[i], shape[i]) << i;
    EXPECT_EQ(c.strides[i], strides[i]) << i;
  }
  EXPECT_EQ(c.offset, 13);
  EXPECT_EQ(c.is_contiguous, 0);
  EXPECT_EQ(c.owns_storage, 0);
  // The address formula, with coordinates [0, 1, 2].
  EXPECT_EQ(static_cast<const float*>(c.data)[c.offset + 8 + 2], *v.Get({0, 1, 2}));
  EXPECT_EQ(*v.Get({0, 1, 2}), 23.0f);
}

TEST(TensorDescriptorTest, FlagsAreOfTheMoment) {
  auto t = Counting({2, 3});
  EXPECT_EQ(t.Descriptor().is_contiguous, 1);
  EXPECT_EQ(t.Descriptor().owns_storage, 1);
  {
    const auto sibling = t;
    EXPECT_EQ(t.Descriptor().owns_storage, 0);
  }
  EXPECT_EQ(t.Descriptor().owns_storage, 1);
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  EXPECT_EQ(t.Descriptor().is_contiguous, 0);
}

TEST(TensorDescriptorTest, OfEightAxes) {
  auto t = *GovernedTensor<std::int8_t>::Alloc({1, 2, 1, 2, 1, 2, 1, 2});
  const CDescriptor c = AsC(t.Descriptor());
  EXPECT_EQ(c.rank, 8);
  EXPECT_EQ(c.shape[7], 2);
  EXPECT_EQ(c.strides[0], 16);
  EXPECT_EQ(c.strides[7], 1);
}

TEST(TensorDescriptorTest, OfAnEmptyHandle) {
  const CDescriptor c = AsC(GovernedTensor<float>().Descriptor());
  EXPECT_EQ(c.data, nullptr);
  EXPECT_EQ(c.rank, 0);
  EXPECT_EQ(c.owns_storage, 0);
}

}  // namespace
}  // namespace engine::governed
