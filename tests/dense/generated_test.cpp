// full, zeros, ones and eye (clauses gen.*): rules instead of elements.
#include "dense/generated.h"

#include <array>
#include <concepts>
#include <string>
#include <vector>

#include "dense/operations.h"
#include "dense/output.h"
#include "dense/reshape.h"
#include "dense_test_util.h"
#include "testing/fp_mode.h"
#include "testing/reference.h"

namespace engine::dense {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::ScopedFpControl;
using ::engine::testing::StatusIs;
using ::testing::ElementsAre;

// gen.readonly: readable, but neither in memory, nor writable, nor an owner.
template <typename S>
constexpr bool kGeneratedOnly = TensorSource<S>&& GeneratedSource<S>&& BackgroundSource<S> &&
                                !StridedSource<S> && !MutableStrided<S> && !OwningTensor<S>;
static_assert(kGeneratedOnly<FullTensor<float, 2>>);
static_assert(kGeneratedOnly<EyeTensor<tensor::float16, 3>>);
static_assert(kGeneratedOnly<FullTensor<bool, 0>>);
static_assert(std::same_as<FullTensor<float, 2>::layout_type, GeneratedLayout>);
static_assert(!DenseLayout<GeneratedLayout>);
// And the other kinds, for contrast.
static_assert(OwningTensor<DenseMatrix<float>>);
static_assert(!MutableStrided<const DenseMatrix<float>>);
static_assert(MutableStrided<const DenseView<float, 2>>);
static_assert(!MutableStrided<DenseView<const float, 2>>);
static_assert(!OwningTensor<DenseView<float, 2>>);
static_assert(!OwningTensor<DenseMatrix<float, Strided>>);

// bool is not cast, and a class that knows a background alone is not one that can be written.
template <typename Source, typename To>
constexpr bool kCasts = requires(const Source& source) {
  source.template CastTo<To>();
};
static_assert(kCasts<FullTensor<float, 1>, int> && kCasts<FullTensor<bool, 1>, bool>);
static_assert(!kCasts<FullTensor<bool, 1>, float> && !kCasts<FullTensor<float, 1>, bool>);
struct BackgroundAlone {
  using value_type = float;
  static constexpr std::size_t kRank = 1;
  [[nodiscard]] Extents<1> extents() const { return {1}; }
  float operator()(std::int64_t) const { return 0; }
  [[nodiscard]] float background() const { return 0; }
};
static_assert(GeneratedSource<BackgroundAlone> && !BackgroundSource<BackgroundAlone>);

// gen.storage: a value and extents, whatever the shape.
static_assert(sizeof(FullTensor<double, 2>) == sizeof(Extents<2>) + sizeof(double));
static_assert(sizeof(EyeTensor<double, 2>) == sizeof(Extents<2>));

TEST(GeneratedTest, TheValueGivesTheType) {
  static_assert(std::same_as<decltype(full(0.5f, 3, 4)), FullTensor<float, 2>>);
  static_assert(std::same_as<decltype(full(1, 3)), FullTensor<std::int32_t, 1>>);
  static_assert(std::same_as<decltype(full(true)), FullTensor<bool, 0>>);
  static_assert(std::same_as<decltype(full(tensor::bfloat16(1.0f), Extents<2>{1, 2})),
                             FullTensor<tensor::bfloat16, 2>>);
  static_assert(std::same_as<decltype(zeros<double>(3, 4)), FullTensor<double, 2>>);
  static_assert(
      std::same_as<decltype(ones<std::int8_t>(Extents<1>{3})), FullTensor<std::int8_t, 1>>);
  static_assert(std::same_as<decltype(eye<float>(2, 3, 4)), EyeTensor<float, 3>>);
  EXPECT_EQ(full(0.5f, 3, 4).extents(), (Extents<2>{3, 4}));
  EXPECT_EQ(full(0.5f, 3, 4).numel(), 12);
  EXPECT_EQ(full(0.5f, 3, 4).shape(), tensor::Shape({3, 4}));
  EXPECT_EQ(zeros<float>(3, 0).numel(), 0);
  EXPECT_EQ(eye<float>(2, 3, 4).extent(2), 4);
}

TEST(GeneratedTest, ElementsFollowTheRule) {
  EXPECT_EQ(full(2.5, 3, 4)(2, 3), 2.5);
  EXPECT_EQ(zeros<std::int64_t>(2)(1), 0);
  EXPECT_EQ(ones<std::int64_t>(2)(1), 1);
  EXPECT_EQ(eye<double>()(), 1);                               // rank 0
  for (int i = 0; i < 5; ++i) EXPECT_EQ(eye<float>(5)(i), 1);  // rank 1
  const auto rectangular = eye<float>(3, 5);
  const auto copy_tensor = eye<float>(2, 3, 4);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) EXPECT_EQ(rectangular(i, j), i == j ? 1 : 0);
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) EXPECT_EQ(copy_tensor(i, j, k), i == j && j == k ? 1 : 0);
    }
  }
}

TEST(GeneratedTest, CreateReportsExtents) {
  EXPECT_THAT((FullTensor<float, 2>::Create(1, {-1, 2})),
              StatusIs(kInvalid, "FullTensor: extent -1 of axis 0 in [-1, 2] is negative"));
  EXPECT_THAT((EyeTensor<float, 2>::Create({kOne << 32, kOne << 32})),
              StatusIs(kInvalid,
                       "EyeTensor: the product of the extents [4294967296, 4294967296] "
                       "overflows int64_t (layout.extents)"));
  EXPECT_EQ(Value(EyeTensor<float, 2>::Create({2, 3})).numel(), 6);
  // A shape that no memory holds is no problem.
  EXPECT_EQ(full(1.0f, kOne << 40, kOne << 20)((kOne << 40) - 1, 5), 1);
}

// gen.values, for every element type, rank and layout: into poisoned storage.
template <typename T>
class MaterializeTest : public ::testing::Test {};
TYPED_TEST_SUITE(MaterializeTest, ElementTypes);

TYPED_TEST(MaterializeTest, EveryElementIsWritten) {
  using T = TypeParam;
  CountingAllocator allocator;
  const auto check = [&](const auto& source) {
    const auto row = Value(make_tensor(source, &allocator));
    const auto column = Value(make_tensor<ColumnMajor>(source, &allocator));
    static_assert(std::same_as<typename std::remove_cvref_t<decltype(row)>::layout_type, RowMajor>);
    ASSERT_EQ(row.extents(), source.extents());
    ASSERT_EQ(column.extents(), source.extents());
    testing::reference::ForEachCoordinates(row.shape(), [&](const tensor::DimVector& at) {
      Extents<std::remove_cvref_t<decltype(source)>::kRank> index{};
      for (std::size_t i = 0; i < index.size(); ++i) index[i] = at[static_cast<int>(i)];
      const std::uint64_t expected = BitsOf<T>(internal::ElementAt(source, index));
      EXPECT_EQ(BitsOf(internal::ElementAt(row, index)), expected);
      EXPECT_EQ(BitsOf(internal::ElementAt(column, index)), expected);
    });
  };
  check(full(T(1)));
  check(full(T(1), 7));
  check(full(T(1), 3, 67));
  check(zeros<T>(5, 13));
  check(ones<T>(2, 3, 4, 5));
  check(eye<T>());
  check(eye<T>(9));
  check(eye<T>(4, 4));
  check(eye<T>(3, 70));
  check(eye<T>(70, 3));
  check(eye<T>(3, 4, 5));
  check(eye<T>(2, 2, 2, 3));
  check(eye<T>(0, 4));
  EXPECT_EQ(allocator.counts()->allocations, allocator.counts()->deletions);
}

// Bits, not values: a signalling NaN and a negative zero come out as they went in.
TEST(GeneratedTest, ValuesKeepTheirBits) {
  const float signalling = std::numeric_limits<float>::signaling_NaN();
  for (const float& element : Value(make_tensor(full(signalling, 3, 30)))) {
    EXPECT_EQ(BitsOf(element), 0x7FA00000u);
  }
  for (const double& element : Value(make_tensor(full(-0.0, 33)))) {
    EXPECT_EQ(BitsOf(element), 0x8000000000000000u);
  }
}

// init.preserve: one allocation, and zeros are asked for only where zero is the result.
TEST(GeneratedTest, NoZeroFillBeforeAnOverwrite) {
  CountingAllocator allocator;
  ENGINE_ASSERT_OK(make_tensor(full(3, 5, 5), &allocator));
  ENGINE_ASSERT_OK(make_tensor(ones<float>(5, 5), &allocator));
  ENGINE_ASSERT_OK(make_tensor(full(-0.0f, 5, 5), &allocator));
  ENGINE_ASSERT_OK(make_tensor(eye<float>(5), &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 4);
  EXPECT_EQ(allocator.counts()->zeroed, 0);
  ENGINE_ASSERT_OK(make_tensor(zeros<float>(5, 5), &allocator));
  ENGINE_ASSERT_OK(make_tensor(eye<float>(5, 5), &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 6);
  EXPECT_EQ(allocator.counts()->zeroed, 2);
}

// A source that notes the order in which it is asked.
class RecordingSource {
 public:
  using value_type = std::int32_t;
  static constexpr std::size_t kRank = 2;

  explicit RecordingSource(Extents<2> extents) : extents_(extents) {}
  [[nodiscard]] const Extents<2>& extents() const { return extents_; }
  std::int32_t operator()(std::int64_t i, std::int64_t j) const {
    asked_.push_back(static_cast<int>(10 * i + j));
    return static_cast<std::int32_t>(10 * i + j);
  }
  // Since the last call.
  [[nodiscard]] std::vector<int> TakeOrder() const { return std::exchange(asked_, {}); }

 private:
  Extents<2> extents_;
  mutable std::vector<int> asked_;
};
static_assert(GeneratedSource<RecordingSource> && !BackgroundSource<RecordingSource>);

// gen.order: the destination is written from its first element to its last.
TEST(GeneratedTest, MaterializesInTheOrderOfTheDestination) {
  const RecordingSource source({2, 3});
  const auto row = Value(make_tensor(source));
  EXPECT_THAT(source.TakeOrder(), ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THAT(row, ElementsAre(0, 1, 2, 10, 11, 12));
  const auto column = Value(make_tensor<ColumnMajor>(source));
  EXPECT_THAT(source.TakeOrder(), ElementsAre(0, 10, 1, 11, 2, 12));
  EXPECT_THAT(column, ElementsAre(0, 10, 1, 11, 2, 12));
  DenseMatrix<std::int32_t, Strided> strided(Extents<2>{2, 3}, Extents<2>{1, 4});
  ENGINE_ASSERT_OK(copy(strided, source));
  EXPECT_THAT(InMemory(strided.data(), 10), ElementsAre(0, 10, 0, 0, 1, 11, 0, 0, 2, 12));
  const RecordingSource nothing({0, 3});
  EXPECT_EQ(Value(make_tensor(nothing)).numel(), 0);
  EXPECT_THAT(nothing.TakeOrder(), ElementsAre());
}

// Ranks below and above that one, with unequal extents: index [i, j, k] holds 100 i + 10 j + k.
template <std::size_t Rank>
struct DigitsSource {
  using value_type = std::int32_t;
  static constexpr std::size_t kRank = Rank;

  [[nodiscard]] const Extents<Rank>& extents() const { return shape; }
  template <std::same_as<std::int64_t>... Index>
  std::int32_t operator()(Index... index) const requires(sizeof...(Index) == Rank) {
    std::int64_t value = Rank == 0 ? 7 : 0;
    ((value = 10 * value + index), ...);
    return static_cast<std::int32_t>(value);
  }

  Extents<Rank> shape;
};

TEST(GeneratedTest, ComputedSourcesOfEveryRank) {
  EXPECT_EQ(Value(make_tensor(DigitsSource<0>{}))(), 7);
  EXPECT_THAT(Value(make_tensor(DigitsSource<1>{{3}})), ElementsAre(0, 1, 2));
  const DigitsSource<3> source{{2, 3, 2}};
  EXPECT_THAT(Value(make_tensor(source)),
              ElementsAre(0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121));
  EXPECT_THAT(Value(make_tensor<ColumnMajor>(source)),
              ElementsAre(0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121));
  DenseTensor<std::int32_t, 3, Strided> gaps(Extents<3>{2, 3, 2}, Extents<3>{1, 3, 10});
  ENGINE_ASSERT_OK(copy(gaps, source));
  EXPECT_THAT(InMemory(gaps.data(), 18),
              ElementsAre(0, 100, 0, 10, 110, 0, 20, 120, 0, 0, 1, 101, 0, 11, 111, 0, 21, 121));
}

// The stride of an axis of extent 1 means nothing, however large: no sum of strides may overflow.
TEST(GeneratedTest, IgnoresStridesOfSingletonAxes) {
  std::array<std::int32_t, 3> memory = {-1, -1, -1};
  using View = DenseView<std::int32_t, 2, Strided>;
  const auto wide = Value(View::Create(memory, {1, 3}, {kInt64Max, 1}));
  const auto tall = Value(View::Create(memory, {3, 1}, {1, kInt64Max}));
  ENGINE_ASSERT_OK(copy(wide, eye<std::int32_t>(1, 3)));
  EXPECT_THAT(memory, ElementsAre(1, 0, 0));
  ENGINE_ASSERT_OK(copy(wide, DigitsSource<2>{{1, 3}}));
  EXPECT_THAT(memory, ElementsAre(0, 1, 2));
  ENGINE_ASSERT_OK(copy(tall, eye<std::int32_t>(3, 1)));
  EXPECT_THAT(memory, ElementsAre(1, 0, 0));
  ENGINE_ASSERT_OK(copy(tall, DigitsSource<2>{{3, 1}}));
  EXPECT_THAT(memory, ElementsAre(0, 10, 20));
}

// Nor do the strides of a tensor without elements: two of these have no sum.
TEST(GeneratedTest, IgnoresStridesWithoutElements) {
  std::array<std::int32_t, 1> memory = {-1};
  const auto none = Value(
      DenseView<std::int32_t, 3, Strided>::Create(memory, {0, 2, 2}, {1, kInt64Max, kInt64Max}));
  ENGINE_ASSERT_OK(copy(none, eye<std::int32_t>(0, 2, 2)));
  ENGINE_ASSERT_OK(copy(none, DigitsSource<3>{{0, 2, 2}}));
  EXPECT_THAT(memory, ElementsAre(-1));
}

// mat.layout: without a named layout, generated sources become RowMajor.
TEST(GeneratedTest, ConstructorsMaterialize) {
  const DenseTensor deduced(eye<std::int32_t>(2, 3));
  static_assert(std::same_as<decltype(deduced), const DenseTensor<std::int32_t, 2, RowMajor>>);
  EXPECT_THAT(deduced, ElementsAre(1, 0, 0, 0, 1, 0));
  const DenseMatrix<std::int32_t, ColumnMajor> named(eye<std::int32_t>(2, 3));
  EXPECT_THAT(named, ElementsAre(1, 0, 0, 1, 0, 0));
  const DenseTensor scalar(full(2.5));
  static_assert(std::same_as<decltype(scalar), const ScalarTensor<double>>);
  EXPECT_EQ(scalar(), 2.5);
}

// As the source of copy: into any layout, elements only.
TEST(GeneratedTest, CopiesIntoViews) {
  DenseMatrix<std::int32_t> matrix = Coordinates(3, 4);
  const auto inner =
      Value(DenseView<std::int32_t, 2, Strided>::Create(matrix.span().subspan(5), {2, 2}, {4, 1}));
  ENGINE_ASSERT_OK(copy(inner, full(-1, 2, 2)));
  EXPECT_THAT(matrix, ElementsAre(0, 1, 2, 3, 10, -1, -1, 13, 20, -1, -1, 23));
  ENGINE_ASSERT_OK(copy(inner, eye<std::int32_t>(2, 2)));
  EXPECT_THAT(matrix, ElementsAre(0, 1, 2, 3, 10, 1, 0, 13, 20, 0, 1, 23));
  EXPECT_THAT(copy(inner, full(0, 2, 3)), StatusIs(kInvalid, "shape [2, 2], the source [2, 3]"));
  ScalarTensor<std::int32_t> scalar;
  ENGINE_ASSERT_OK(copy(scalar, full(7)));
  EXPECT_EQ(scalar(), 7);
}

// As the source of cast: the value is converted, whatever the host's floating-point mode.
TEST(GeneratedTest, CastsItsValue) {
  const auto halves = Value(cast<tensor::float16>(full(1.00048828125000022204, 2, 3)));
  for (const tensor::float16& element : halves) EXPECT_EQ(element.to_bits(), 0x3C00);  // P13
  EXPECT_THAT(Value(cast<std::int32_t>(full(-2.75f, 3))), ElementsAre(-2, -2, -2));
  EXPECT_THAT(cast<std::int8_t>(full(300.0f, 3)),
              StatusIs(kInvalid,
                       "cast: 300, the value of every element, of float32 is not representable "
                       "in int8 (op.copy)"));  // P22
  EXPECT_THAT(cast<std::uint8_t>(full(-1, 3)), StatusIs(kInvalid));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(cast<std::int32_t>(full(kNan, 1)), StatusIs(kInvalid, "nan"));
  ENGINE_EXPECT_OK(cast<std::int32_t>(full(kNan, 0)));  // no element has it
  const auto identity = Value(cast<std::int16_t>(eye<double>(2, 3)));
  EXPECT_THAT(identity, ElementsAre(1, 0, 0, 0, 1, 0));
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    core::StatusOr<DenseVector<tensor::bfloat16>> small = core::InternalError("unset");
    {
      const ScopedFpControl host(mode.control);
      small = cast<tensor::bfloat16>(full(std::bit_cast<float>(0x00018000u), 2));  // P12
    }
    ENGINE_ASSERT_OK(small);
    EXPECT_EQ((*small)(1).to_bits(), 0x0002) << mode.name;
  }
  DenseMatrix<float, ColumnMajor> target(2, 2);
  ENGINE_ASSERT_OK(cast_into(target, eye<std::int64_t>(2, 2)));
  EXPECT_THAT(target, ElementsAre(1, 0, 0, 1));
}

TEST(GeneratedTest, ComparesWithTensors) {
  DenseMatrix<float> identity(3, 3);
  for (int i = 0; i < 3; ++i) identity(i, i) = 1;
  EXPECT_TRUE(Value(allclose(identity, eye<float>(3, 3))).close);
  EXPECT_TRUE(Value(allclose(eye<float>(3, 3), identity)).close);
  EXPECT_TRUE(Value(allclose(full(2, 4), full(2, 4))).close);
  // Judged before memory is asked for.
  const auto vast = full(1.0f, kOne << 40, kOne << 15);
  EXPECT_THAT(allclose(vast, identity), StatusIs(kInvalid, "differ (op.copy)"));
  EXPECT_THAT(allclose(identity, vast), StatusIs(kInvalid, "differ (op.copy)"));
  EXPECT_THAT(allclose(vast, vast, {.rtol = -1, .atol = 0}), StatusIs(kInvalid, "rtol -1"));
  identity(1, 2) = 0.5f;
  const auto result = Value(allclose(identity, eye<float>(3, 3)));
  EXPECT_EQ(result.mismatch_count, 1);
  EXPECT_EQ(result.worst_index, tensor::DimVector({1, 2}));
  EXPECT_EQ(result.max_abs_diff, 0.5);
  EXPECT_TRUE(Value(allclose(identity, eye<float>(3, 3), {.rtol = 0, .atol = 0.5})).close);
}

}  // namespace
}  // namespace engine::dense
