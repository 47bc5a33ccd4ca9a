// GET, SET and pointers to the elements, by the examples of the contract and by their failures. Each
// suite is one of them; its clause is its row in docs/design/governed.md, "Operations".
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"
#include "testing/status_matchers.h"

namespace engine::governed {
namespace {

using tensor::Strides;
using Floats = std::vector<float>;
using Governed = GovernedTensor<float>;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// --- GET ---

TEST(GovernedGetTest, Oracle) {
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed t, Governed::Alloc({2, 3}));
  ENGINE_ASSERT_OK(t.Set({0, 1}, 42.0f));
  ENGINE_ASSERT_OK_AND_ASSIGN(const float value, t.Get({0, 1}));
  EXPECT_EQ(value, 42.0f);
}

TEST(GovernedGetTest, Failures) {
  Governed t = Counting({2, 3});
  const auto get = [](std::vector<std::int64_t> at) {
    return [at](const Governed& tensor) { return tensor.Get(at); };
  };
  ExpectFailure(t, Failure::kDimensionMismatch, get({}));
  ExpectFailure(t, Failure::kDimensionMismatch, get({1}));
  ExpectFailure(t, Failure::kDimensionMismatch, get({0, 0, 0}));
  ExpectFailure(t, Failure::kDimensionMismatch, get(std::vector<std::int64_t>(20, 0)));
  ExpectFailure(t, Failure::kIndexOutOfBounds, get({2, 0}));
  ExpectFailure(t, Failure::kIndexOutOfBounds, get({0, 3}));  // element 3 exists, column 3 does not
  ExpectFailure(t, Failure::kIndexOutOfBounds, get({-1, 3}));  // would be element 0
  ExpectFailure(t, Failure::kIndexOutOfBounds, get({kMax, kMax}));
  ExpectFailure(t, Failure::kIndexOutOfBounds, get({0, kMin}));
}

// --- SET ---

TEST(GovernedSetTest, Oracle) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed t, Governed::Alloc({2, 3}));
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed s, t.View({{0, 2}, {0, 3}}));
  EXPECT_EQ(s.refcount(), 2);
  ENGINE_ASSERT_OK(s.Set({0, 0}, 99.0f));
  EXPECT_EQ(s.refcount(), 1);
  EXPECT_EQ(t.refcount(), 1);
  EXPECT_EQ(*t.Get({0, 0}), 0.0f);
  EXPECT_EQ(*s.Get({0, 0}), 99.0f);
}

TEST(GovernedSetTest, InPlaceWhenExclusive) {
  Governed t = Counting({2, 3});
  const float* const before = t.data();
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  ENGINE_ASSERT_OK(t.Set({2, 1}, 50));
  EXPECT_EQ(t.data(), before);
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(ValuesOf(t), Floats({0, 3, 1, 4, 2, 50}));
}

// P78: a clone that kept the offset, or was written at the index the contract's text gives, would
// read back 2.
TEST(GovernedSetTest, ThroughAnOffsetView) {
  const Governed t = Counting({4, 4}, 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{0, 2, 1}, {1, 4, 1}}));
  ENGINE_ASSERT_OK(v.Set({0, 0}, 99));
  EXPECT_EQ(*v.Get({0, 0}), 99.0f);
  EXPECT_EQ(*t.Get({0, 1}), 2.0f);
  EXPECT_EQ(*v.Get({1, 2}), 8.0f);
  EXPECT_EQ(v.offset(), 0);
  EXPECT_EQ(v.strides(), Strides({4, 1}));
  EXPECT_FALSE(v.is_contiguous());
  EXPECT_EQ(v.storage_size(), 1 + 4 + 2);  // the window, not all 16
  EXPECT_EQ(ValuesOf(v), Floats({99, 3, 4, 6, 7, 8}));
  EXPECT_EQ(ValuesOf(t), ValuesOf(Counting({4, 4}, 1)));
}

// P79: the strides survive the clone; row-major ones would hit element 7.
TEST(GovernedSetTest, OnASharedTransposedTensor) {
  Governed t = Counting({2, 5});
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  EXPECT_EQ(t.strides(), Strides({1, 5}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed other, t.View({{0, 5}, {0, 2}}));
  ENGINE_ASSERT_OK(t.Set({3, 1}, 77));
  EXPECT_EQ(t.strides(), Strides({1, 5}));
  EXPECT_EQ(t.data()[8], 77.0f);
  EXPECT_EQ(t.data()[7], 7.0f);
  EXPECT_EQ(*t.Get({3, 1}), 77.0f);
  EXPECT_EQ(*other.Get({3, 1}), 8.0f);
}

TEST(GovernedSetTest, ParentOfViewsClonesToo) {
  Governed t = Counting({2, 2});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed a, t.View({{0, 1}, {0, 2}}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed b, t.View({{1, 2}, {0, 2}}));
  ENGINE_ASSERT_OK(t.Set({0, 1}, 9));
  EXPECT_EQ(ValuesOf(t), Floats({0, 9, 2, 3}));
  EXPECT_EQ(ValuesOf(a), Floats({0, 1}));
  EXPECT_EQ(a.refcount(), 2);
  EXPECT_EQ(b.refcount(), 2);
}

TEST(GovernedSetTest, Failures) {
  Governed t = Counting({2, 3});
  const Governed sibling = t;  // shared, so that a wrong order would clone first
  const auto set = [](std::vector<std::int64_t> at) {
    return [at](Governed& tensor) { return tensor.Set(at, 1); };
  };
  ExpectFailure(t, Failure::kDimensionMismatch, set({}));
  ExpectFailure(t, Failure::kDimensionMismatch, set({1}));
  ExpectFailure(t, Failure::kDimensionMismatch, set({0, 0, 0}));
  ExpectFailure(t, Failure::kIndexOutOfBounds, set({2, 0}));
  ExpectFailure(t, Failure::kIndexOutOfBounds, set({0, 3}));
  ExpectFailure(t, Failure::kIndexOutOfBounds, set({0, -1}));
}

// --- Pointers ---

TEST(GovernedDataTest, ReadingNeverClonesAndWritingDoes) {
  const Governed t = Counting({2, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{1, 2}, {0, 3}}));
  EXPECT_EQ(v.data(), t.data() + 3);
  EXPECT_EQ(v.refcount(), 2);
  ENGINE_ASSERT_OK_AND_ASSIGN(float* const write, v.mutable_data());
  EXPECT_EQ(v.refcount(), 1);
  EXPECT_EQ(v.data(), write);
  write[1] = 70;
  EXPECT_EQ(ValuesOf(v), Floats({3, 70, 5}));
  EXPECT_EQ(ValuesOf(t), Floats({0, 1, 2, 3, 4, 5}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const float* const again, v.mutable_data());
  EXPECT_EQ(again, write);  // exclusive now
}

TEST(GovernedDataTest, WritingOfAnExclusiveViewStaysInPlace) {
  Governed t = Counting({2, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{1, 2}, {0, 3}}));
  t.Free();
  const float* const before = v.data();
  ENGINE_ASSERT_OK_AND_ASSIGN(float* const write, v.mutable_data());
  EXPECT_EQ(write, before);
  EXPECT_EQ(v.offset(), 3);
}

}  // namespace
}  // namespace engine::governed
