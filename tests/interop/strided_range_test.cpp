// Clause: docs/design/views.md, "Ranges".
#include "interop/strided_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#include "testing/death_test_style.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::interop {
namespace {

using ::engine::testing::Counting;
using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Tensor;
using ::testing::ElementsAre;

static_assert(std::random_access_iterator<StridedRange<float>::Iterator>);
static_assert(std::random_access_iterator<StridedRange<const float>::Iterator>);
static_assert(std::ranges::random_access_range<const StridedRange<float>>);
static_assert(std::ranges::sized_range<const StridedRange<float>>);
static_assert(
    std::is_same_v<std::iter_reference_t<StridedRange<const float>::Iterator>, const float&>);

// Layouts of every kind: values by the coordinates' formula, forwards, backwards, and by every
// jump.
TEST(StridedRangeTest, EveryElementEveryWay) {
  const Tensor base = Counting({4, 5, 6}, DataType::kInt32);
  const std::vector<Tensor> views = {
      base,
      *base.permute({2, 0, 1}),
      *base.permute({2, 1, 0}),
      *base.strided_slice({{1, 4, 2}, {0, 5, 3}, {1, 6, 2}}),
      *base.slice(1, 2, 3),
      *base.select(2, 3),
      *(*base.select(0, 1)).select(0, 1),
      *base.slice(0, 2, 2),
      *(*(*base.select(0, 1)).select(0, 1)).select(0, 4),
      *(*base.transpose(0, 2)).unsqueeze(1),
  };
  for (const Tensor& view : views) {
    SCOPED_TRACE(fmt::format("{} {}", view.shape(), view.strides()));
    const std::vector<std::int32_t> expected = testing::ValuesOf<std::int32_t>(view);
    ENGINE_ASSERT_OK_AND_ASSIGN(const auto range, ElementsOf<const std::int32_t>(view));
    ASSERT_EQ(range.size(), expected.size());
    EXPECT_EQ(range.empty(), expected.empty());
    EXPECT_TRUE(std::equal(range.begin(), range.end(), expected.begin(), expected.end()));
    EXPECT_TRUE(std::equal(std::make_reverse_iterator(range.end()),
                           std::make_reverse_iterator(range.begin()), expected.rbegin()));
    const auto count = static_cast<std::ptrdiff_t>(expected.size());
    for (std::ptrdiff_t i = 0; i <= count; ++i) {
      for (std::ptrdiff_t j = 0; j <= count; ++j) {
        const auto from = range.begin() + i;
        const auto to = from + (j - i);
        ASSERT_EQ(to - range.begin(), j);
        ASSERT_EQ(to - from, j - i);
        ASSERT_EQ(from < to, i < j);
        if (j < count) {
          ASSERT_EQ(*to, expected[static_cast<std::size_t>(j)]);
          ASSERT_EQ(from[j - i], *to);
        }
      }
      if (i < count) {
        ASSERT_EQ(range[static_cast<std::size_t>(i)], *(range.begin() + i));
      }
    }
  }
}

TEST(StridedRangeTest, WritesThrough) {
  const Tensor base = Counting({3, 4}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, base.transpose(0, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto range, ElementsOf<std::int32_t>(turned));
  std::iota(range.begin(), range.end(), 100);
  EXPECT_THAT(testing::ValuesOf<std::int32_t>(base),
              ElementsAre(100, 103, 106, 109, 101, 104, 107, 110, 102, 105, 108, 111));
  std::sort(range.begin(), range.end(), std::greater<>());
  EXPECT_EQ(base.item<std::int32_t>({0, 0}), 111);
  EXPECT_EQ(base.item<std::int32_t>({1, 0}), 110);
}

// The range holds a handle.
TEST(StridedRangeTest, KeepsTheStorage) {
  int deletions = 0;
  std::int32_t values[2] = {1, 2};
  {
    core::StatusOr<StridedRange<std::int32_t>> range = [&] {
      const auto buffer = std::make_shared<memory::Buffer>(
          values, sizeof(values), tensor::Device::Cpu(), [&](void*) { ++deletions; });
      return ElementsOf<std::int32_t>(*Tensor::from_buffer(buffer, 0, {2}, DataType::kInt32));
    }();
    ENGINE_ASSERT_OK(range);
    EXPECT_EQ(deletions, 0);
    EXPECT_THAT(*range, ElementsAre(1, 2));
  }
  EXPECT_EQ(deletions, 1);
}

TEST(StridedRangeTest, AnotherDType) {
  EXPECT_THAT(ElementsOf<double>(Counting({2}, DataType::kFloat32)),
              StatusIs(core::StatusCode::kInvalidArgument, "as float64"));
}

class StridedRangeDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(StridedRangeDeathTest, Index) {
  const auto range = *ElementsOf<float>(Counting({2}, DataType::kFloat32));
  EXPECT_DEATH(static_cast<void>(range[2]), "index 2 is outside");
}

}  // namespace
}  // namespace engine::interop
