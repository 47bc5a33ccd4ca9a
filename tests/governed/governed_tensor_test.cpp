// The operations on handles, by the examples of the contract and by their failures; those on
// elements are in element_access_test.cpp. Each suite is one operation; its clause is its row in
// docs/design/governed.md, "Operations".
#include "governed/governed_tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "governed_test_util.h"
#include "testing/status_matchers.h"

namespace engine::governed {
namespace {

using tensor::Shape;
using tensor::Strides;
using Floats = std::vector<float>;
using Governed = GovernedTensor<float>;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// --- ALLOC ---

TEST(GovernedAllocTest, Oracle) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed t, Governed::Alloc({2, 3}));
  EXPECT_EQ(t.shape(), Shape({2, 3}));
  EXPECT_EQ(t.strides(), Strides({3, 1}));
  EXPECT_EQ(t.offset(), 0);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.owns_storage());
  EXPECT_EQ(t.refcount(), 1);
  EXPECT_EQ(t.size(), 6);
  EXPECT_EQ(t.len(), 6);
  EXPECT_EQ(t.storage_size(), 6);
  EXPECT_EQ(t.dtype(), tensor::DataType::kFloat32);
  EXPECT_EQ(ValuesOf(t), Floats(6, 0.0f));
}

// P81: no axes, and no elements however large the other axes are, are EmptyTensor; a size that no
// memory has is OutOfMemory.
TEST(GovernedAllocTest, EmptyShapesBeforeAbsurdOnes) {
  EXPECT_THAT(Governed::Alloc({}), FailsWith(Failure::kEmptyTensor));
  EXPECT_THAT(Governed::Alloc({0, std::int64_t{1} << 40}), FailsWith(Failure::kEmptyTensor));
  EXPECT_THAT(Governed::Alloc({kMax, kMax, 0}), FailsWith(Failure::kEmptyTensor));
  EXPECT_THAT(Governed::Alloc({2, -1}), FailsWith(Failure::kEmptyTensor));
  EXPECT_THAT(Governed::Alloc({kMin}), FailsWith(Failure::kEmptyTensor));
  // The product overflows; the bytes do; no machine has them.
  EXPECT_THAT(Governed::Alloc({std::int64_t{1} << 32, std::int64_t{1} << 32}),
              FailsWith(Failure::kOutOfMemory));
  EXPECT_THAT(Governed::Alloc({std::int64_t{1} << 62}), FailsWith(Failure::kOutOfMemory));
  EXPECT_THAT(Governed::Alloc({std::int64_t{1} << 60}), FailsWith(Failure::kOutOfMemory));
}

TEST(GovernedAllocTest, MoreAxesThanThereAre) {
  EXPECT_THAT(Governed::Alloc({1, 1, 1, 1, 1, 1, 1, 1, 1}), FailsWith(Failure::kDimensionMismatch));
  EXPECT_THAT(Governed::Alloc({1, 1, 1, 1, 1, 1, 1, 1, 0}), FailsWith(Failure::kEmptyTensor));
  EXPECT_THAT(Governed::Alloc({kMax, kMax, 1, 1, 1, 1, 1, 1, 1}),
              FailsWith(Failure::kDimensionMismatch));
  ENGINE_EXPECT_OK(Governed::Alloc({1, 1, 1, 1, 1, 1, 1, 2}));
}

// --- FREE, and what copies, moves and assignments do to the count ---

TEST(GovernedFreeTest, Oracle) {
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed t, Governed::Alloc({2, 3}));
  EXPECT_EQ(t.refcount(), 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed s, t.View({{0, 1}, {0, 3}}));
  EXPECT_EQ(t.refcount(), 2);
  s.Free();
  EXPECT_EQ(t.refcount(), 1);
  EXPECT_TRUE(t.owns_storage());
  t.Free();
  EXPECT_EQ(t.refcount(), 0);
}

TEST(GovernedFreeTest, EmptiesTheHandle) {
  Governed t = Counting({2, 3});
  t.Free();
  for (int round = 0; round < 2; ++round, t.Free()) {  // a second time does nothing
    EXPECT_FALSE(t.defined());
    EXPECT_EQ(t.shape(), Shape());
    EXPECT_EQ(t.strides(), Strides());
    EXPECT_EQ(t.offset(), 0);
    EXPECT_EQ(t.size(), 0);
    EXPECT_EQ(t.len(), 0);
    EXPECT_EQ(t.storage_size(), 0);
    EXPECT_EQ(t.refcount(), 0);
    EXPECT_FALSE(t.owns_storage());
  }
  t = Counting({2});
  EXPECT_EQ(ValuesOf(t), Floats({0, 1}));
}

TEST(GovernedFreeTest, CopiesShareAndMovesDoNot) {
  Governed a = Counting({2, 2});
  Governed b = a;
  EXPECT_EQ(a.refcount(), 2);
  EXPECT_EQ(b.data(), a.data());
  Governed c = std::move(b);
  EXPECT_EQ(a.refcount(), 2);
  EXPECT_EQ(ValuesOf(c), Floats({0, 1, 2, 3}));
  b = c;  // NOLINT(bugprone-use-after-move): assigned to
  EXPECT_EQ(a.refcount(), 3);
  b = std::move(c);
  EXPECT_EQ(a.refcount(), 2);
  Governed other = Counting({3});
  b = other;  // gives the share in a's storage back
  EXPECT_EQ(a.refcount(), 1);
  EXPECT_EQ(other.refcount(), 2);
}

TEST(GovernedFreeTest, MovedFromIsEmpty) {
  Governed a = Counting({2, 2});
  const Governed b = std::move(a);
  EXPECT_FALSE(a.defined());  // NOLINT(bugprone-use-after-move): what it is then is promised
  EXPECT_EQ(a.shape(), Shape());
  EXPECT_EQ(a.refcount(), 0);
  EXPECT_EQ(b.refcount(), 1);
}

TEST(GovernedFreeTest, SelfAssignmentKeepsEverything) {
  Governed a = Counting({2, 2});
  Governed& same = a;
  a = same;
  EXPECT_EQ(a.refcount(), 1);
  a = std::move(same);
  EXPECT_EQ(ValuesOf(a), Floats({0, 1, 2, 3}));
  EXPECT_EQ(a.refcount(), 1);
}

// --- VIEW ---

TEST(GovernedViewTest, Oracle) {
  const Governed t = Counting({4, 4}, 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed v, t.View({{0, 2, 1}, {1, 4, 1}}));
  EXPECT_EQ(v.shape(), Shape({2, 3}));
  EXPECT_EQ(v.offset(), 1);
  EXPECT_EQ(v.strides(), Strides({4, 1}));
  EXPECT_FALSE(v.owns_storage());
  EXPECT_EQ(v.refcount(), 2);
  EXPECT_FALSE(v.is_contiguous());
  EXPECT_EQ(v.storage_size(), 16);
  EXPECT_EQ(v.data(), t.data() + 1);  // no copy
  EXPECT_EQ(ValuesOf(v), Floats({2, 3, 4, 6, 7, 8}));
}

TEST(GovernedViewTest, StepsAndViewsOfViews) {
  const Governed t = Counting({4, 6});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed v, t.View({{1, 4, 2}, {0, 6, 4}}));
  EXPECT_EQ(v.shape(), Shape({2, 2}));  // ceil(3/2), ceil(6/4)
  EXPECT_EQ(v.strides(), Strides({12, 4}));
  EXPECT_EQ(v.offset(), 6);
  EXPECT_EQ(ValuesOf(v), Floats({6, 10, 18, 22}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed w, v.View({{1, 2}, {1, 2}}));
  EXPECT_EQ(w.offset(), 6 + 12 + 4);
  EXPECT_EQ(w.refcount(), 3);
  EXPECT_EQ(ValuesOf(w), Floats({22}));
}

// B_own is the count, now: a view whose siblings are gone owns its storage, and a parent that has
// been viewed does not.
TEST(GovernedViewTest, OwnershipFollowsTheCount) {
  Governed t = Counting({2, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed v, t.View({{0, 2}, {0, 3}}));
  EXPECT_FALSE(t.owns_storage());
  EXPECT_FALSE(v.owns_storage());
  t.Free();
  EXPECT_TRUE(v.owns_storage());
}

TEST(GovernedViewTest, LayoutIsExact) {
  const Governed t = Counting({4, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed rows, t.View({{1, 3}, {0, 3}}));
  EXPECT_TRUE(rows.is_contiguous());  // whole rows
  // One element with the stride of a row: dense, but not canonical.
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed one, t.View({{2, 3}, {1, 2}}));
  EXPECT_EQ(one.strides(), Strides({3, 1}));
  EXPECT_FALSE(one.is_contiguous());
  EXPECT_TRUE(tensor::IsContiguous(one.shape(), one.strides()));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Governed row, t.View({{2, 3}, {0, 3}}));
  EXPECT_TRUE(row.is_contiguous());
}

// A step larger than its range keeps one element; its stride is the product, or the largest number.
TEST(GovernedViewTest, StridesThatDoNotFit) {
  const Governed t = Counting({3, 2});
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{1, 3, 5}, {0, 2}}));
  EXPECT_EQ(v.strides(), Strides({10, 1}));
  ENGINE_ASSERT_OK_AND_ASSIGN(v, t.View({{1, 3, kMax}, {1, 2, kMax}}));
  EXPECT_EQ(v.shape(), Shape({1, 1}));
  EXPECT_EQ(v.strides(), Strides({kMax, kMax}));
  EXPECT_EQ(ValuesOf(v), Floats({3}));
  // Such strides reach nothing: the clone of the window is one element.
  ENGINE_ASSERT_OK(v.Set({0, 0}, 50));
  EXPECT_EQ(v.storage_size(), 1);
  EXPECT_EQ(v.strides(), Strides({kMax, kMax}));
  EXPECT_EQ(ValuesOf(v), Floats({50}));
  ENGINE_ASSERT_OK(v.Materialize());
  EXPECT_EQ(v.strides(), Strides({1, 1}));
  EXPECT_EQ(ValuesOf(v), Floats({50}));
}

TEST(GovernedViewTest, Failures) {
  Governed t = Counting({4, 3});
  const auto view = [](std::vector<SliceRange> ranges) {
    return [ranges](const Governed& tensor) { return tensor.View(ranges); };
  };
  ExpectFailure(t, Failure::kDimensionMismatch, view({{0, 4}}));
  ExpectFailure(t, Failure::kDimensionMismatch, view({}));
  ExpectFailure(t, Failure::kDimensionMismatch, view({{0, 4}, {0, 3}, {0, 1}}));
  ExpectFailure(t, Failure::kDimensionMismatch, view(std::vector<SliceRange>(9, {0, 1})));
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{2, 2}, {0, 3}}));     // P81: start == end
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{3, 2}, {0, 3}}));     // start > end
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{0, 4, 0}, {0, 3}}));  // step 0
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{4, 5}, {0, 3}}));     // start >= extent
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{0, 4}, {0, 4}}));     // end > extent
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{0, 4}, {-1, 3}}));
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{0, 4, -1}, {0, 3}}));
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{kMin, kMax}, {0, 3}}));
  ExpectFailure(t, Failure::kInvalidSliceRange, view({{0, 4, kMin}, {0, 3}}));
  // The number of ranges is tested first.
  ExpectFailure(t, Failure::kDimensionMismatch, view({{2, 2}}));
}

// --- TRANSPOSE ---

TEST(GovernedTransposeTest, Oracle) {
  Governed t = Counting({2, 3});
  EXPECT_TRUE(t.is_contiguous());
  const float* const before = t.data();
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  EXPECT_EQ(t.shape(), Shape({3, 2}));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.strides(), Strides({1, 3}));
  EXPECT_EQ(t.data(), before);  // nothing moved
  EXPECT_TRUE(t.owns_storage());
  EXPECT_EQ(ValuesOf(t), Floats({0, 3, 1, 4, 2, 5}));
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  EXPECT_TRUE(t.is_contiguous());
}

TEST(GovernedTransposeTest, ThreeAxesOfAView) {
  const Governed t = Counting({2, 3, 4});
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{0, 2}, {1, 3}, {0, 4, 3}}));
  ENGINE_ASSERT_OK(v.Transpose({2, 0, 1}));
  EXPECT_EQ(v.shape(), Shape({2, 2, 2}));
  EXPECT_EQ(v.strides(), Strides({3, 12, 4}));
  EXPECT_EQ(v.offset(), 4);
  EXPECT_EQ(v.refcount(), 2);
  EXPECT_EQ(ValuesOf(v), Floats({4, 8, 16, 20, 7, 11, 19, 23}));
}

// [1, 3] turned is still dense, but strides [1, 3] are not those of [3, 1].
TEST(GovernedTransposeTest, AxesOfOneElementCount) {
  Governed t = Counting({1, 3});
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  EXPECT_EQ(t.strides(), Strides({1, 3}));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_TRUE(tensor::IsContiguous(t.shape(), t.strides()));
  ExpectFailure(t, Failure::kNotContiguous, [](Governed& tensor) { return tensor.Reshape({3}); });
  ENGINE_ASSERT_OK(t.Materialize());
  EXPECT_EQ(t.strides(), Strides({1, 1}));
  ENGINE_EXPECT_OK(t.Reshape({3}));
}

TEST(GovernedTransposeTest, Failures) {
  Governed t = Counting({2, 3});
  const auto transpose = [](std::vector<int> axes) {
    return [axes](Governed& tensor) { return tensor.Transpose(axes); };
  };
  ExpectFailure(t, Failure::kInvalidPermutation, transpose({0}));
  ExpectFailure(t, Failure::kInvalidPermutation, transpose({}));
  ExpectFailure(t, Failure::kInvalidPermutation, transpose({0, 1, 2}));
  ExpectFailure(t, Failure::kInvalidPermutation, transpose({0, 0}));
  ExpectFailure(t, Failure::kInvalidPermutation, transpose({0, 2}));
  ExpectFailure(t, Failure::kInvalidPermutation, transpose({-1, 0}));
  ExpectFailure(t, Failure::kInvalidPermutation, transpose({0, 64}));
  ExpectFailure(t, Failure::kInvalidPermutation, transpose(std::vector<int>(12, 1)));
}

// --- RESHAPE ---

TEST(GovernedReshapeTest, Oracle) {
  Governed t = Counting({2, 6});
  EXPECT_EQ(t.len(), 12);
  ENGINE_ASSERT_OK(t.Reshape({3, 4}));
  EXPECT_EQ(t.shape(), Shape({3, 4}));
  EXPECT_EQ(t.len(), 12);
  EXPECT_EQ(t.strides(), Strides({4, 1}));
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.owns_storage());
  EXPECT_EQ(ValuesOf(t), ValuesOf(Counting({12})));
}

// A view that outlived its parent is contiguous and exclusive at an offset. Its elements stay: to
// reset the offset, as the contract's text has it, would show others.
TEST(GovernedReshapeTest, KeepsTheOffset) {
  Governed t = Counting({4, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{2, 4}, {0, 3}}));
  t.Free();
  ASSERT_TRUE(v.is_contiguous() && v.owns_storage());
  ENGINE_ASSERT_OK(v.Reshape({3, 2}));
  EXPECT_EQ(v.offset(), 6);
  EXPECT_EQ(ValuesOf(v), Floats({6, 7, 8, 9, 10, 11}));
}

TEST(GovernedReshapeTest, Failures) {
  Governed t = Counting({2, 6});
  const auto reshape = [](std::vector<std::int64_t> dims) {
    return [dims](Governed& tensor) { return tensor.Reshape(dims); };
  };
  ExpectFailure(t, Failure::kEmptyTensor, reshape({}));
  ExpectFailure(t, Failure::kShapeMismatch, reshape({3, 5}));
  ExpectFailure(t, Failure::kShapeMismatch, reshape({12, 0}));
  ExpectFailure(t, Failure::kShapeMismatch, reshape({-3, -4}));
  // 7 times this is 2^64 + 12, which wraps to 12.
  ExpectFailure(t, Failure::kShapeMismatch, reshape({7, 2635249153387078804}));
  ExpectFailure(t, Failure::kShapeMismatch, reshape({kMax, 2}));
  ExpectFailure(t, Failure::kDimensionMismatch, reshape({1, 1, 1, 1, 1, 1, 1, 1, 12}));
  ExpectFailure(t, Failure::kShapeMismatch, reshape({1, 1, 1, 1, 1, 1, 1, 1, 13}));

  const Governed sibling = t;
  ExpectFailure(t, Failure::kNotExclusive, reshape({3, 4}));
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  ExpectFailure(t, Failure::kNotContiguous, reshape({3, 4}));  // before NotExclusive
  ExpectFailure(t, Failure::kShapeMismatch, reshape({3, 5}));  // before either
  ExpectFailure(t, Failure::kEmptyTensor, reshape({}));
}

// --- MATERIALIZE ---

TEST(GovernedMaterializeTest, Oracle) {
  Governed t = Counting({2, 3});
  ENGINE_ASSERT_OK(t.Transpose({1, 0}));
  EXPECT_FALSE(t.is_contiguous());
  ENGINE_ASSERT_OK(t.Materialize());
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.owns_storage());
  EXPECT_EQ(t.strides(), Strides({2, 1}));
  EXPECT_EQ(t.offset(), 0);
  EXPECT_EQ(t.shape(), Shape({3, 2}));
  EXPECT_EQ(ValuesOf(t), Floats({0, 3, 1, 4, 2, 5}));
}

TEST(GovernedMaterializeTest, DoesNothingWhenCanonicalAndExclusive) {
  Governed t = Counting({4, 3});
  const float* before = t.data();
  ENGINE_ASSERT_OK(t.Materialize());
  EXPECT_EQ(t.data(), before);

  // Not even to the offset.
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{1, 4}, {0, 3}}));
  t.Free();
  before = v.data();
  ENGINE_ASSERT_OK(v.Materialize());
  EXPECT_EQ(v.data(), before);
  EXPECT_EQ(v.offset(), 3);
  EXPECT_EQ(v.storage_size(), 12);
}

TEST(GovernedMaterializeTest, LeavesSiblingsTheOldStorage) {
  Governed t = Counting({4, 4});
  ENGINE_ASSERT_OK_AND_ASSIGN(Governed v, t.View({{0, 4, 3}, {1, 3}}));
  const Governed copy = t;
  const float* const before = t.data();
  ENGINE_ASSERT_OK(v.Materialize());
  EXPECT_EQ(v.refcount(), 1);
  EXPECT_EQ(v.storage_size(), 4);
  EXPECT_EQ(ValuesOf(v), Floats({1, 2, 13, 14}));
  EXPECT_EQ(t.refcount(), 2);
  EXPECT_EQ(t.data(), before);
  // Canonical but shared is copied too.
  ENGINE_ASSERT_OK(t.Materialize());
  EXPECT_NE(t.data(), before);
  EXPECT_EQ(copy.data(), before);
  EXPECT_EQ(copy.refcount(), 1);
  EXPECT_EQ(ValuesOf(t), ValuesOf(copy));
}

}  // namespace
}  // namespace engine::governed
