// CopyPlan on layouts large enough for every strategy: rows, strided rows, transposes with their
// edges and aliasing strides, staged conversions, stores that bypass the caches. Each is compared
// with a plain loop over coordinates, run in one piece and in random pieces; bytes outside the
// destination's elements must stay. Clause: copies and casts by logical index, whatever the layout,
// the same bytes for any partition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "strided/copy_plan.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/shape.h"

namespace engine::strided {
namespace {

using tensor::DataType;
using tensor::Shape;
using tensor::Strides;

struct LayoutCase {
  const char* name;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> dst_strides;  // elements
  std::vector<std::int64_t> src_strides;
};

// dims of the destination; axes[i] is the source axis that becomes destination axis i of a dense
// source.
LayoutCase Permuted(const char* name, std::vector<std::int64_t> source_dims,
                    std::vector<std::size_t> axes) {
  std::vector<std::int64_t> source_strides(source_dims.size(), 1);
  for (std::size_t i = source_dims.size() - 1; i > 0; --i) {
    source_strides[i - 1] = source_strides[i] * source_dims[i];
  }
  LayoutCase result{name, {}, {}, {}};
  for (const std::size_t axis : axes) {
    result.dims.push_back(source_dims[axis]);
    result.src_strides.push_back(source_strides[axis]);
  }
  result.dst_strides.assign(result.dims.size(), 1);
  for (std::size_t i = result.dims.size() - 1; i > 0; --i) {
    result.dst_strides[i - 1] = result.dst_strides[i] * result.dims[i];
  }
  return result;
}

std::int64_t Window(const std::vector<std::int64_t>& dims,
                    const std::vector<std::int64_t>& strides) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  return last + 1;
}

// Calls visit(dst_offset, src_offset) for every coordinate, offsets in elements.
template <typename Visit>
void ForEachElement(const LayoutCase& layout, std::size_t axis, std::int64_t dst, std::int64_t src,
                    const Visit& visit) {
  if (axis == layout.dims.size()) return visit(dst, src);
  for (std::int64_t i = 0; i < layout.dims[axis]; ++i) {
    ForEachElement(layout, axis + 1, dst + i * layout.dst_strides[axis],
                   src + i * layout.src_strides[axis], visit);
  }
}

// Bytes whose first is `misalignment` past a cache line: stores that bypass the caches want whole
// lines.
class Storage {
 public:
  Storage(std::size_t bytes, std::size_t misalignment)
      : bytes_(bytes + misalignment + 127, std::byte{0x5A}) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    start_ = (64 - address % 64) % 64 + misalignment;
  }
  [[nodiscard]] std::byte* data() { return bytes_.data() + start_; }
  // The bytes from the first on, and what lies behind them.
  [[nodiscard]] bool SameAs(Storage& other, std::size_t bytes) {
    return std::memcmp(data(), other.data(), bytes) == 0;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t start_ = 0;
};

CopyPlan PlanOf(const LayoutCase& layout, DataType dst, DataType src) {
  return CopyPlan::Make(*Shape::FromDims(layout.dims), dst, Strides(layout.dst_strides), src,
                        Strides(layout.src_strides));
}

// Runs all units in pieces, in a random order.
bool RunInPieces(const CopyPlan& plan, std::byte* dst, const std::byte* src,
                 std::mt19937_64& random) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  for (std::int64_t begin = 0; begin < plan.num_units();) {
    const auto length = 1 + static_cast<std::int64_t>(random() % 7);
    const std::int64_t end = std::min(begin + length, plan.num_units());
    pieces.emplace_back(begin, end);
    begin = end;
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  bool all = true;
  for (const auto& [begin, end] : pieces) all = plan.RunUnits(dst, src, begin, end) && all;
  return all;
}

std::vector<LayoutCase> Layouts() {
  std::vector<LayoutCase> cases = {
      {"rows_of_65_with_gaps", {40, 65}, {65, 1}, {131, 1}},
      {"rows_of_7_of_three_axes", {9, 11, 7}, {90, 8, 1}, {200, 13, 1}},
      {"long_rows", {3, 5000}, {5001, 1}, {5100, 1}},
      {"source_step_2", {3001}, {1}, {2}},
      {"source_step_3", {3001}, {1}, {3}},
      {"source_step_4", {777}, {1}, {4}},
      {"source_step_7", {3, 333}, {333, 1}, {3000, 7}},
      {"destination_step_3", {3001}, {3}, {1}},
      {"both_stepped", {5, 700}, {2200, 3}, {1500, 2}},
      {"transpose_of_gaps", {70, 90}, {91, 1}, {1, 75}},
      {"transpose_into_steps", {70, 90}, {200, 2}, {1, 70}},
      {"transpose_of_steps", {70, 90}, {90, 1}, {3, 211}},
      {"transpose_of_steps_into_steps", {66, 67}, {150, 2}, {2, 133}},
      {"tiny_matrices", {500, 3, 5}, {15, 5, 1}, {15, 1, 3}},
      {"interleaved_to_planar", {3, 1000}, {1000, 1}, {1, 3}},
      {"planar_to_interleaved", {1000, 3}, {3, 1}, {1, 1000}},
      {"overlapping_source", {100, 101}, {101, 1}, {1, 1}},
      Permuted("transpose_1000x33", {1000, 33}, {1, 0}),
      Permuted("transpose_33x1000", {33, 1000}, {1, 0}),
      Permuted("transpose_aliasing_source", {130, 1024}, {1, 0}),
      Permuted("transpose_aliasing_destination", {1024, 130}, {1, 0}),
      Permuted("transpose_aliasing_both", {512, 1024}, {1, 0}),
      Permuted("transpose_prime", {127, 251}, {1, 0}),
      Permuted("reverse_of_four", {7, 10, 9, 11}, {3, 2, 1, 0}),
      Permuted("heads", {2, 13, 4, 64}, {0, 2, 1, 3}),
      Permuted("channels_last", {2, 19, 12, 17}, {0, 2, 3, 1}),
      Permuted("channels_first", {2, 12, 17, 19}, {0, 3, 1, 2}),
      Permuted("rank_8", {2, 3, 2, 5, 2, 3, 2, 7}, {7, 2, 5, 0, 3, 6, 1, 4}),
  };
  return cases;
}

void ExpectCopies(const LayoutCase& layout, DataType dtype, std::size_t misalignment) {
  SCOPED_TRACE(fmt::format("{} {}", layout.name, dtype));
  const auto item = static_cast<std::size_t>(tensor::itemsize(dtype));
  std::mt19937_64 random(42);
  const auto src_window = static_cast<std::size_t>(Window(layout.dims, layout.src_strides));
  const auto dst_window = static_cast<std::size_t>(Window(layout.dims, layout.dst_strides));
  Storage src(src_window * item, misalignment);
  for (std::size_t i = 0; i < src_window * item; ++i)
    src.data()[i] = static_cast<std::byte>(random());
  const std::size_t compared = dst_window * item + 32;
  Storage expected(compared, misalignment);
  Storage whole(compared, misalignment);
  Storage pieces(compared, misalignment);
  ForEachElement(layout, 0, 0, 0, [&](std::int64_t to, std::int64_t from) {
    std::memcpy(expected.data() + static_cast<std::size_t>(to) * item,
                src.data() + static_cast<std::size_t>(from) * item, item);
  });
  const CopyPlan plan = PlanOf(layout, dtype, dtype);
  ASSERT_TRUE(plan.Run(whole.data(), src.data()));
  ASSERT_TRUE(whole.SameAs(expected, compared));
  ASSERT_TRUE(RunInPieces(plan, pieces.data(), src.data(), random));
  ASSERT_TRUE(pieces.SameAs(expected, compared));
}

TEST(LargeLayoutTest, CopiesEveryItemSizeAlignedOrNot) {
  for (const LayoutCase& layout : Layouts()) {
    for (const DataType dtype :
         {DataType::kUInt8, DataType::kFloat16, DataType::kFloat32, DataType::kInt64}) {
      ExpectCopies(layout, dtype, 0);
      ExpectCopies(layout, dtype, 1);
    }
  }
}

// Every small edge of the register tiles, on both sides.
TEST(LargeLayoutTest, TransposesOfEverySmallSize) {
  for (std::int64_t rows = 1; rows <= 70; rows += rows < 34 ? 1 : 5) {
    for (std::int64_t cols = 1; cols <= 70; cols += cols < 20 ? 1 : 7) {
      const LayoutCase layout = Permuted("small", {rows, cols}, {1, 0});
      for (const DataType dtype :
           {DataType::kInt8, DataType::kBFloat16, DataType::kInt32, DataType::kFloat64}) {
        ExpectCopies(layout, dtype, 0);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Several blocks in either direction, aligned and misaligned destinations, tiles that divide
// neither. Where caches are small (strided.without_caches_*), stores bypass them.
TEST(LargeLayoutTest, LayoutsOfManyBlocks) {
  constexpr std::int64_t kRows = 2112;
  constexpr std::int64_t kCols = 4160;
  ExpectCopies(Permuted("transpose", {kRows, kCols}, {1, 0}), DataType::kInt32, 0);
  ExpectCopies(Permuted("transpose_u8", {kRows, kCols}, {1, 0}), DataType::kUInt8, 4);
  ExpectCopies({"rows", {kRows, 4000}, {4000, 1}, {4100, 1}}, DataType::kInt32, 4);
  ExpectCopies({"run", {kRows * kCols}, {1}, {1}}, DataType::kInt32, 1);
  // Destination rows that begin alike within their lines.
  ExpectCopies({"transpose_with_tails", {1011, 4149}, {4160, 1}, {1, 1011}}, DataType::kInt32, 0);
}

// Casts of that size go through a block in the cache; an element that does not fit stops them.
TEST(LargeLayoutTest, CastsOfManyBlocks) {
  const LayoutCase run = {"cast", {3'000'000}, {1}, {1}};
  const LayoutCase rows = {"cast_rows", {750, 4000}, {4000, 1}, {4001, 1}};
  const LayoutCase transposed = {"cast_transposed", {752, 4000}, {4000, 1}, {1, 752}};
  for (const LayoutCase& layout : {run, rows, transposed}) {
    SCOPED_TRACE(layout.name);
    std::vector<float> src(static_cast<std::size_t>(Window(layout.dims, layout.src_strides)));
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i * 7 % 251) - 125.0f;
    std::vector<tensor::bfloat16> dst(
        static_cast<std::size_t>(Window(layout.dims, layout.dst_strides)));
    ASSERT_TRUE(
        PlanOf(layout, DataType::kBFloat16, DataType::kFloat32).Run(dst.data(), src.data()));
    std::int64_t wrong = 0;
    ForEachElement(layout, 0, 0, 0, [&](std::int64_t to, std::int64_t from) {
      // Integers of at most 7 bits are exact in bfloat16.
      if (static_cast<float>(dst[static_cast<std::size_t>(to)]) !=
          src[static_cast<std::size_t>(from)]) {
        ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0);
    const CopyPlan checked = PlanOf(layout, DataType::kInt8, DataType::kFloat32);
    EXPECT_TRUE(checked.Run(dst.data(), src.data()));
    src.back() = 128.0f;
    EXPECT_FALSE(checked.Run(dst.data(), src.data()));
  }
}

// Fused conversions: float to half by the half's own constructor (no NaN among the values),
// widening, and a checked narrowing.
TEST(LargeLayoutTest, ConvertsWhileItMoves) {
  for (const LayoutCase& layout : Layouts()) {
    SCOPED_TRACE(layout.name);
    std::mt19937_64 random(7);
    const auto src_window = static_cast<std::size_t>(Window(layout.dims, layout.src_strides));
    const auto dst_window = static_cast<std::size_t>(Window(layout.dims, layout.dst_strides));
    std::vector<float> src(src_window);
    for (float& value : src) value = static_cast<float>(static_cast<int>(random() % 255) - 127);
    std::vector<tensor::float16> halves(dst_window, tensor::float16(0.5f));
    std::vector<tensor::float16> expected_halves = halves;
    std::vector<std::int8_t> bytes(dst_window, 99);
    std::vector<std::int8_t> expected_bytes = bytes;
    std::vector<double> doubles(dst_window, 0.25);
    std::vector<double> expected_doubles = doubles;
    ForEachElement(layout, 0, 0, 0, [&](std::int64_t to, std::int64_t from) {
      const float value = src[static_cast<std::size_t>(from)];
      expected_halves[static_cast<std::size_t>(to)] = tensor::float16(value);
      expected_bytes[static_cast<std::size_t>(to)] = static_cast<std::int8_t>(value);
      expected_doubles[static_cast<std::size_t>(to)] = static_cast<double>(value);
    });
    ASSERT_TRUE(
        PlanOf(layout, DataType::kFloat16, DataType::kFloat32).Run(halves.data(), src.data()));
    ASSERT_EQ(std::memcmp(halves.data(), expected_halves.data(), 2 * dst_window), 0);
    const CopyPlan checked = PlanOf(layout, DataType::kInt8, DataType::kFloat32);
    ASSERT_TRUE(RunInPieces(checked, reinterpret_cast<std::byte*>(bytes.data()),
                            reinterpret_cast<const std::byte*>(src.data()), random));
    ASSERT_EQ(bytes, expected_bytes);
    ASSERT_TRUE(
        PlanOf(layout, DataType::kFloat64, DataType::kFloat32).Run(doubles.data(), src.data()));
    ASSERT_EQ(doubles, expected_doubles);
  }
}

// One bad element anywhere is found, and named by its logical index whatever the traversal.
TEST(LargeLayoutTest, OneOffenderAmongManyElements) {
  const LayoutCase layout = Permuted("offender", {130, 257}, {1, 0});
  std::vector<float> src(130 * 257, 1.0f);
  std::vector<std::int8_t> dst(130 * 257);
  const CopyPlan plan = PlanOf(layout, DataType::kInt8, DataType::kFloat32);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{257}, std::size_t{17000}, std::size_t{130 * 257 - 1}}) {
    src[at] = 128.0f;
    EXPECT_FALSE(plan.Run(dst.data(), src.data()));
    const std::size_t row = at / 257;
    const std::size_t col = at % 257;
    const std::string place = fmt::format("[{}, {}] (element {})", col, row, col * 130 + row);
    EXPECT_NE(plan.FirstOffender(src.data()).message().find(place), std::string::npos)
        << plan.FirstOffender(src.data()) << ", expected " << place;
    src[at] = 1.0f;
  }
  EXPECT_TRUE(plan.Run(dst.data(), src.data()));
}

// Making a plan is arithmetic on the layout alone, and must not overflow on ones that no memory
// holds.
TEST(LargeLayoutTest, PlansForAbsurdLayoutsCanBeMade) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const DataType byte = DataType::kInt8;
  EXPECT_GT(CopyPlan::Make({kHuge}, byte, {1}, byte, {1}).num_units(), 0);
  EXPECT_GT(CopyPlan::Make({kHuge}, DataType::kFloat64, {1}, DataType::kInt64, {3}).num_units(), 0);
  EXPECT_GT(CopyPlan::Make({kMax}, byte, {1}, DataType::kInt16, {2}).num_units(), 0);
  EXPECT_GT(CopyPlan::Make({300, 300}, byte, {kMax, 1}, byte, {1, kMax}).num_units(), 0);
  EXPECT_GT(CopyPlan::Make({3, 3, 300}, DataType::kInt64, {kMax, kMax / 2, 1}, DataType::kInt64,
                           {1, kMax, kMax / 3})
                .num_units(),
            0);
  // Patterns that repeat, whose rows, or items, are too far apart to count.
  const DataType word = DataType::kInt32;
  for (const Strides& far : {Strides{kMax / 4, 1, 3},
                             {kMax, kMax, kMax},
                             {9, kMax / 2, 1},
                             {9, -kMax, kMax},
                             {9, -kMax / 2, -kMax}}) {
    EXPECT_GT(CopyPlan::Make({1000, 3, 3}, word, {9, 3, 1}, word, far).num_units(), 0);
  }
}

// FNV-1a over the results of a mixed workload: the same constant for every target and machine.
TEST(LargeLayoutTest, TheSameBytesOnEveryTarget) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  std::mt19937_64 random(2026);
  for (const LayoutCase& layout : Layouts()) {
    const auto src_window = static_cast<std::size_t>(Window(layout.dims, layout.src_strides));
    const auto dst_window = static_cast<std::size_t>(Window(layout.dims, layout.dst_strides));
    std::vector<std::byte> src(src_window * 8);
    for (const DataType from : tensor::kAllDataTypes) {
      for (const DataType to : tensor::kAllDataTypes) {
        if (!IsConvertible(to, from)) continue;
        // Any bit pattern into floating targets; small values, which everything holds, into
        // integers.
        const bool small = tensor::is_integral(to) && from != to;
        if (small) {
          const CopyPlan fill = CopyPlan::Make({static_cast<std::int64_t>(src_window)}, from, {1},
                                               DataType::kUInt8, {1});
          std::vector<std::uint8_t> values(src_window);
          for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random() % 128);
          ASSERT_TRUE(from == DataType::kUInt8 || fill.Run(src.data(), values.data()));
          if (from == DataType::kUInt8) std::memcpy(src.data(), values.data(), src_window);
        } else {
          for (std::byte& byte : src) byte = static_cast<std::byte>(random() >> 11);
        }
        const auto item = static_cast<std::size_t>(tensor::itemsize(to));
        std::vector<std::byte> dst(dst_window * item);
        ASSERT_TRUE(PlanOf(layout, to, from).Run(dst.data(), src.data()));
        for (const std::byte byte : dst) {
          hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;
        }
      }
    }
  }
  EXPECT_EQ(hash, 10901769976088546022u);
}

}  // namespace
}  // namespace engine::strided
