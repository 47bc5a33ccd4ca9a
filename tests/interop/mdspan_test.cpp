// Clause: docs/design/views.md, "mdspan". The mdspan here is a double of the standard's, as far as the
// adaptor uses it, with the standard's preconditions as CHECKs; where <mdspan> exists the
// standard's own is tested too.
#include "interop/mdspan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::interop {
namespace {

using ::engine::testing::Counting;
using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Shape;
using tensor::Strides;
using tensor::Tensor;

namespace fake {

inline constexpr std::size_t kDynamic = static_cast<std::size_t>(-1);

template <typename Index, std::size_t... kExtents>
class Extents {
 public:
  using index_type = Index;
  static constexpr std::size_t rank() { return sizeof...(kExtents); }
  static constexpr std::size_t static_extent(std::size_t i) {
    const std::array<std::size_t, rank() + 1> all = {kExtents..., 0};
    return all[i];
  }
  explicit Extents(const std::array<Index, rank()>& values) : values_(values) {
    for (std::size_t i = 0; i < rank(); ++i) {
      ENGINE_CHECK(values[i] >= 0);
      ENGINE_CHECK(static_extent(i) == kDynamic ||
                   static_extent(i) == static_cast<std::size_t>(values[i]));
    }
  }
  [[nodiscard]] Index extent(std::size_t i) const { return values_[i]; }

 private:
  std::array<Index, rank()> values_;
};

template <typename E>
struct MappingBase {
  using Index = typename E::index_type;
  E extents;
  std::array<Index, E::rank()> strides{};
  [[nodiscard]] Index stride(std::size_t i) const { return strides[i]; }
};

struct LayoutStride {
  template <typename E>
  struct Mapping : MappingBase<E> {
    using Index = typename E::index_type;
    // [mdspan.layout.stride.cons]: positive, and a permutation by which each steps over the last.
    Mapping(const E& e, const std::array<Index, E::rank()>& s) : MappingBase<E>{e, s} {
      std::array<std::size_t, E::rank()> order{};
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return s[a] != s[b] ? s[a] < s[b] : e.extent(a) < e.extent(b);
      });
      for (std::size_t k = 0; k < order.size(); ++k) {
        ENGINE_CHECK(s[order[k]] > 0);
        ENGINE_CHECK(k == 0 || s[order[k]] >= s[order[k - 1]] * e.extent(order[k - 1]));
      }
    }
  };
};

template <bool kRight>
struct LayoutDense {
  template <typename E>
  struct Mapping : MappingBase<E> {
    explicit Mapping(const E& e) : MappingBase<E>{e, {}} {
      typename E::index_type stride = 1;
      for (std::size_t k = 0; k < E::rank(); ++k) {
        const std::size_t i = kRight ? E::rank() - 1 - k : k;
        this->strides[i] = stride;
        stride *= e.extent(i);
      }
    }
  };
};

template <typename T, typename E, typename L>
class Mdspan {
 public:
  using element_type = T;
  using extents_type = E;
  using index_type = typename E::index_type;
  using mapping_type = typename L::template Mapping<E>;
  static constexpr std::size_t rank() { return E::rank(); }
  Mdspan(T* data, const mapping_type& mapping) : data_(data), mapping_(mapping) {}
  template <typename... I>
  T& operator()(I... indices) const {
    const std::array<index_type, sizeof...(I)> at = {static_cast<index_type>(indices)...};
    index_type offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * mapping_.stride(i);
    return data_[offset];
  }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] index_type extent(std::size_t i) const { return mapping_.extents.extent(i); }
  [[nodiscard]] index_type stride(std::size_t i) const { return mapping_.stride(i); }

 private:
  T* data_;
  mapping_type mapping_;
};

using Right = LayoutDense<true>;
using Left = LayoutDense<false>;

}  // namespace fake

using Dynamic2 = fake::Extents<std::int64_t, fake::kDynamic, fake::kDynamic>;
using Dynamic3 = fake::Extents<std::int64_t, fake::kDynamic, fake::kDynamic, fake::kDynamic>;
using StridedMatrix = fake::Mdspan<std::int32_t, Dynamic2, fake::LayoutStride>;
using RightMatrix = fake::Mdspan<std::int32_t, Dynamic2, fake::Right>;
using LeftMatrix = fake::Mdspan<std::int32_t, Dynamic2, fake::Left>;

TEST(AsMdspanTest, StridesAsGiven) {
  const Tensor base = Counting({4, 6}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor part, base.strided_slice({{1, 4, 2}, {0, 6, 3}}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, part.transpose(0, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(const StridedMatrix matrix, AsMdspan<StridedMatrix>(view));
  EXPECT_EQ(matrix.data(), view.data());
  EXPECT_EQ(matrix.extent(0), 2);
  EXPECT_EQ(matrix.stride(0), 3);
  EXPECT_EQ(matrix.stride(1), 12);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) EXPECT_EQ(matrix(i, j), (1 + 2 * j) * 6 + 3 * i);
  }
  matrix(1, 1) = -1;
  EXPECT_EQ(base.item<std::int32_t>({3, 3}), -1);
}

TEST(AsMdspanTest, LayoutsThatComputeStrides) {
  const Tensor base = Counting({4, 6}, DataType::kInt32);
  const Tensor turned = *base.transpose(0, 1);
  ENGINE_ASSERT_OK_AND_ASSIGN(const RightMatrix right, AsMdspan<RightMatrix>(base));
  EXPECT_EQ(right(2, 5), 17);
  ENGINE_ASSERT_OK_AND_ASSIGN(const LeftMatrix left, AsMdspan<LeftMatrix>(turned));
  EXPECT_EQ(left(5, 2), 17);
  for (const auto& status :
       {AsMdspan<RightMatrix>(turned).status(), AsMdspan<LeftMatrix>(base).status(),
        AsMdspan<RightMatrix>(*base.slice(1, 0, 3)).status()}) {
    EXPECT_THAT(status, StatusIs(core::StatusCode::kInvalidArgument, "not in the mdspan's layout"));
  }
  // P30: axes of one element have any stride.
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor column, base.slice(1, 2, 3));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor row, base.slice(0, 2, 3));
  ENGINE_EXPECT_OK(AsMdspan<RightMatrix>(row));
  EXPECT_THAT(AsMdspan<RightMatrix>(column), StatusIs(core::StatusCode::kInvalidArgument));
  ENGINE_EXPECT_OK(AsMdspan<RightMatrix>(*row.slice(1, 1, 2)));
}

// [mdspan.layout.stride.cons] wants positive strides that step over each other, on every axis; the
// double CHECKs it.
TEST(AsMdspanTest, StridesThatDoNotMatter) {
  using Cube = fake::Mdspan<const std::int32_t, Dynamic3, fake::LayoutStride>;
  const Tensor base = Counting({64}, DataType::kInt32);
  struct Case {
    Shape shape;
    Strides strides;
  };
  for (const Case& c :
       {Case{{2, 1, 3}, {3, 99, 1}}, Case{{2, 1, 3}, {3, 2, 1}}, Case{{2, 1, 3}, {3, 0, 1}},
        Case{{1, 1, 1}, {0, 0, 0}}, Case{{3, 1, 2}, {1, 1, 3}}, Case{{0, 2, 3}, {0, 0, 0}},
        Case{{2, 0, 3}, {5, 7, 0}}, Case{{1, 4, 1}, {2, 5, 60}}}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(
        const Tensor tensor,
        Tensor::from_strided_buffer(base.buffer(), 0, c.shape, c.strides, DataType::kInt32));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Cube cube, AsMdspan<Cube>(tensor));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(cube.extent(static_cast<std::size_t>(i)), c.shape.dim(i));
      if (c.shape.dim(i) > 1 && c.shape.numel() > 0) {
        EXPECT_EQ(cube.stride(static_cast<std::size_t>(i)), c.strides[i]);
      }
    }
  }
}

// [mdspan.layout.right.cons]: a strided mapping of a contiguous tensor converts to layout_right only
// when every stride is the one that computes, those of axes of one element too.
TEST(AsMdspanTest, ContiguousTensorsHaveRowMajorStrides) {
  using Cube = fake::Mdspan<const std::int32_t, Dynamic3, fake::LayoutStride>;
  const Tensor base = Counting({6}, DataType::kInt32);
  for (const Shape& shape : {Shape{2, 1, 3}, Shape{1, 2, 3}, Shape{2, 3, 1}, Shape{1, 1, 6},
                             Shape{1, 6, 1}, Shape{6, 1, 1}}) {
    const Strides expected = tensor::RowMajorStrides(shape);
    Strides given = expected;
    for (int i = 0; i < 3; ++i) {
      if (shape.dim(i) == 1) given[i] = 99;
    }
    ENGINE_ASSERT_OK_AND_ASSIGN(
        const Tensor tensor,
        Tensor::from_strided_buffer(base.buffer(), 0, shape, given, DataType::kInt32));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Cube cube, AsMdspan<Cube>(tensor));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(cube.stride(static_cast<std::size_t>(i)), expected[i]) << fmt::format("{}", shape);
    }
  }
}

TEST(AsMdspanTest, RankZero) {
  using Scalar = fake::Mdspan<std::int32_t, fake::Extents<std::int64_t>, fake::LayoutStride>;
  using RightScalar = fake::Mdspan<std::int32_t, fake::Extents<std::int64_t>, fake::Right>;
  const Tensor tensor = Counting({}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Scalar scalar, AsMdspan<Scalar>(tensor));
  scalar() = 7;
  ENGINE_ASSERT_OK_AND_ASSIGN(const RightScalar right, AsMdspan<RightScalar>(tensor));
  EXPECT_EQ(right(), 7);
}

TEST(AsMdspanTest, FixedExtents) {
  using Fixed =
      fake::Mdspan<std::int32_t, fake::Extents<std::int32_t, fake::kDynamic, 6>, fake::Right>;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Fixed fixed,
                              AsMdspan<Fixed>(Counting({4, 6}, DataType::kInt32)));
  EXPECT_EQ(fixed.extent(1), 6);
  EXPECT_THAT(AsMdspan<Fixed>(Counting({6, 4}, DataType::kInt32)),
              StatusIs(core::StatusCode::kInvalidArgument, "axis 1 is fixed to 6"));
}

TEST(AsMdspanTest, Refusals) {
  const auto refused = [](const Tensor& tensor, const char* message) {
    EXPECT_THAT(AsMdspan<StridedMatrix>(tensor),
                StatusIs(core::StatusCode::kInvalidArgument, message));
  };
  refused(Tensor(), "undefined");
  refused(Counting({4}, DataType::kInt32), "shape [4] as 2 axes");
  refused(Counting({2, 2}, DataType::kFloat32), "as int32");
  const Tensor base = Counting({64}, DataType::kInt32);
  refused(*Tensor::from_strided_buffer(base.buffer(), 0, {4, 4}, {3, 1}, DataType::kInt32),
          "shape [4, 4] with strides [3, 1], which do not step over each other");
  refused(*Tensor::from_strided_buffer(base.buffer(), 0, {4, 4}, {1, 1}, DataType::kInt32),
          "do not step over each other");
  // Offsets 0, 2, 4, 3, 5, 7: distinct, and yet outside what std::layout_stride takes.
  refused(*Tensor::from_strided_buffer(base.buffer(), 0, {2, 3}, {3, 2}, DataType::kInt32),
          "do not step over each other");
}

struct AlignedMatrix : RightMatrix {
  struct accessor_type {
    static constexpr std::size_t byte_alignment = 64;
  };
  using RightMatrix::RightMatrix;
};

// What std::aligned_accessor assumes of its pointer; allocations begin at a multiple of 64 bytes.
TEST(AsMdspanTest, AlignmentOfTheAccessor) {
  const Tensor base = Counting({4, 6}, DataType::kInt32);
  ENGINE_EXPECT_OK(AsMdspan<AlignedMatrix>(base));
  const Tensor second = *base.slice(0, 1, 2);  // at byte 24
  EXPECT_THAT(AsMdspan<AlignedMatrix>(second),
              StatusIs(core::StatusCode::kInvalidArgument, "is not a multiple of 64 bytes"));
  ENGINE_EXPECT_OK(AsMdspan<RightMatrix>(second));
}

// P42: nothing is narrowed: extents, strides and the reached window fit the index type.
TEST(AsMdspanTest, IndexTypes) {
  using Small =
      fake::Mdspan<std::uint8_t, fake::Extents<std::uint8_t, fake::kDynamic, fake::kDynamic>,
                   fake::LayoutStride>;
  ENGINE_EXPECT_OK(AsMdspan<Small>(Counting({15, 17}, DataType::kUInt8)));
  const Tensor large =
      testing::TensorOfBits({2, 200}, DataType::kUInt8, std::vector<std::uint64_t>(400, 1));
  EXPECT_THAT(AsMdspan<Small>(large),
              StatusIs(core::StatusCode::kInvalidArgument, "exceeds the index type"));
  ENGINE_EXPECT_OK(AsMdspan<Small>(*large.slice(0, 0, 1)));
  // The last element is number 200, but the stride of an axis that comes next would be 400.
  const Tensor pair =
      *Tensor::from_strided_buffer(large.buffer(), 0, {1, 2}, {7, 200}, DataType::kUInt8);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Small small, AsMdspan<Small>(pair));
  EXPECT_EQ(small.stride(0), 1);
  EXPECT_EQ(small.stride(1), 200);
}

#ifdef __cpp_lib_mdspan
TEST(AsMdspanTest, TheStandards) {
  using Extents = std::dextents<std::int64_t, 2>;
  const Tensor base = Counting({4, 6}, DataType::kInt32);
  using Strided = std::mdspan<std::int32_t, Extents, std::layout_stride>;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Strided turned, AsMdspan<Strided>(*base.transpose(0, 1)));
  EXPECT_EQ((turned[5, 2]), 17);
  using Right = std::mdspan<const std::int32_t, Extents>;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Right right, AsMdspan<Right>(base));
  EXPECT_EQ((right[2, 5]), 17);
}
#endif

}  // namespace
}  // namespace engine::interop
