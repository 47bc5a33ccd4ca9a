// prepare_output and require_output (clause init.output).
#include "dense/output.h"

#include "dense/generated.h"
#include "dense/operations.h"
#include "dense/reshape.h"
#include "dense_test_util.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::StatusIs;
using ::testing::ElementsAre;

TEST(PrepareOutputTest, KeepsStorageAndValuesThatFit) {
  DenseMatrix<std::int32_t> output = Coordinates(2, 3);
  const std::int32_t* const storage = output.data();
  ENGINE_ASSERT_OK(prepare_output(output, {2, 3}));
  EXPECT_EQ(output.data(), storage);
  EXPECT_THAT(output, ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST(PrepareOutputTest, OtherwiseTakesFreshStorage) {
  DenseMatrix<std::int32_t> output = Coordinates(2, 3);
  const std::int32_t* const storage = output.data();
  ENGINE_ASSERT_OK(prepare_output(output, {3, 2}));  // the same number of elements
  EXPECT_EQ(output.extents(), (Extents<2>{3, 2}));
  EXPECT_NE(output.data(), storage);
  EXPECT_THAT(prepare_output(output, {-3, 2}), StatusIs(kInvalid));
  EXPECT_EQ(output.extents(), (Extents<2>{3, 2}));
}

// Storage comes from the allocator that is named, and nothing clears it.
TEST(PrepareOutputTest, TakesAnAllocator) {
  CountingAllocator allocator;
  DenseMatrix<std::int32_t> output;
  ENGINE_ASSERT_OK(prepare_output(output, {3, 2}, &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
  EXPECT_TRUE(IsPoison(output.data(), 24));
  ENGINE_ASSERT_OK(prepare_output(output, {3, 2}, &allocator));  // fits already
  EXPECT_EQ(allocator.counts()->allocations, 1);
  CountingAllocator none(/*successes=*/0);
  EXPECT_THAT(prepare_output(output, {2, 2}, &none), StatusIs(core::kOutOfMemory));
  EXPECT_EQ(output.extents(), (Extents<2>{3, 2}));
}

#if ENGINE_TEST_SNAN_FILL
TEST(PrepareOutputTest, DoesNotZero) {
  DenseVector<float> output;
  ENGINE_ASSERT_OK(prepare_output(output, {5}));
  for (const float& element : output) EXPECT_EQ(BitsOf(element), 0x7FA00000u);
}
#endif

TEST(PrepareOutputTest, MovedFromScalarGetsAnElement) {
  ScalarTensor<double> output;
  const ScalarTensor<double> taken = std::move(output);
  ENGINE_ASSERT_OK(prepare_output(output, Extents<0>{}));  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(output.numel(), 1);
}

// An owner that notes which way it was reset.
template <bool kKnowsTheTag>
class Owner {
 public:
  using value_type = float;
  using layout_type = RowMajor;
  static constexpr std::size_t kRank = 1;

  [[nodiscard]] const Extents<1>& extents() const { return extents_; }
  [[nodiscard]] Extents<1> strides() const { return {1}; }
  float* data() { return elements_; }
  [[nodiscard]] const float* data() const { return elements_; }
  const float& operator()(std::int64_t i) const { return elements_[i]; }
  core::Status reset_shape(const Extents<1>& extents) {
    extents_ = extents;
    ++plain_resets;
    return core::OkStatus();
  }
  core::Status reset_shape(Uninitialized, const Extents<1>& extents) requires kKnowsTheTag {
    extents_ = extents;
    ++tagged_resets;
    return core::OkStatus();
  }

  core::Status Remap(const Extents<1>& extents) {
    extents_ = extents;
    return core::OkStatus();
  }

  int plain_resets = 0;
  int tagged_resets = 0;

 private:
  Extents<1> extents_{};
  float elements_[8] = {};
};

TEST(PrepareOutputTest, PrefersTheTagWhereTheTypeKnowsIt) {
  Owner<true> tagged;
  ENGINE_ASSERT_OK(prepare_output(tagged, {3}));
  EXPECT_EQ(tagged.tagged_resets, 1);
  EXPECT_EQ(tagged.plain_resets, 0);
  Owner<false> plain;
  ENGINE_ASSERT_OK(prepare_output(plain, {3}));
  ENGINE_ASSERT_OK(prepare_output(plain, {3}));
  EXPECT_EQ(plain.plain_resets, 1);
}

// Capabilities count, not spellings: somebody else's tensor is a destination and a source too.
TEST(PrepareOutputTest, ForeignOwnersTakePart) {
  Owner<true> foreign;
  ENGINE_ASSERT_OK(prepare_output(foreign, {3}));
  ENGINE_ASSERT_OK(copy(foreign, full(2.5f, 3)));
  EXPECT_THAT(Value(make_tensor(foreign)), ElementsAre(2.5f, 2.5f, 2.5f));
  EXPECT_EQ(Value(reshape_view(foreign, 1, -1)).extents(), (Extents<2>{1, 3}));
  ENGINE_EXPECT_OK(reshape_inplace(foreign, -1));
  // It does not give its storage away, so that an rvalue is copied.
  static_assert(RemappableTensor<Owner<true>> && !StorageGiver<Owner<true>, 2>);
  EXPECT_EQ(Value(reshape(std::move(foreign), 3, 1))(2, 0), 2.5f);
}

// An output that cannot be written is none.
template <typename D>
constexpr bool kIsOutput = requires(D&& output) {
  require_output(std::forward<D>(output), Extents<2>{});
};
static_assert(kIsOutput<DenseMatrix<float>&> && kIsOutput<DenseView<float, 2>>);
static_assert(!kIsOutput<const DenseMatrix<float>&> && !kIsOutput<DenseView<const float, 2>>);

TEST(RequireOutputTest, NeverChangesTheOutput) {
  DenseMatrix<std::int32_t> output = Coordinates(2, 3);
  ENGINE_EXPECT_OK(require_output(output, {2, 3}));
  EXPECT_THAT(require_output(output, {3, 2}),
              StatusIs(kInvalid, "shape [2, 3], expected [3, 2] (init.output)"));
  EXPECT_THAT(require_output(output, {-3, 2}), StatusIs(kInvalid));
  ENGINE_EXPECT_OK(require_output(output.view(), {2, 3}));
  EXPECT_THAT(require_output(output.view(), {2, 2}), StatusIs(kInvalid));
  EXPECT_THAT(output, ElementsAre(0, 1, 2, 10, 11, 12));
}

}  // namespace
}  // namespace engine::dense
