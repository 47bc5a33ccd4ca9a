// Layouts of which one side is narrow: a few channels of many pixels, small matrices one after
// another, single elements and rows repeated, matrices thinner than two register tiles. Each has
// kernels of its own, with an end of their own. Between guard pages, flush and displaced, compared
// with the naive reference. Clause: as for every layout, reads stay between the first and the last
// element of the source, writes touch the destination's elements only. P43.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "strided/internal/policy.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/guarded_copy.h"

namespace engine::strided {
namespace {

using enum tensor::DataType;
using tensor::DataType;
using tensor::Shape;
using tensor::Strides;

// Bytes of the widest vector of any target.
constexpr std::int64_t kVectorBytes = 64;
// Holds the largest case; untouched pages are free.
constexpr std::size_t kSideBytes = std::size_t{2} << 20;

struct Conversion {
  DataType dst;
  DataType src;
};
std::string NameOf(const Conversion& c) {
  return c.dst == c.src ? fmt::format("{}", c.src) : fmt::format("{}_to_{}", c.src, c.dst);
}
void PrintTo(const Conversion& c, std::ostream* os) { *os << NameOf(c); }

class CopyPlanNarrowTest : public ::testing::TestWithParam<Conversion> {
 protected:
  static bool converts() { return GetParam().dst != GetParam().src; }
  static std::int64_t dst_item() { return tensor::itemsize(GetParam().dst); }
  static std::int64_t src_item() { return tensor::itemsize(GetParam().src); }
  // Items of the narrower side that a vector holds.
  static std::int64_t most_lanes() { return kVectorBytes / std::min(dst_item(), src_item()); }

  // Against the pages, then displaced, by other amounts from call to call. Empty when all is well.
  [[nodiscard]] std::string Differs(const Shape& shape, const Strides& dst, const Strides& src) {
    std::string difference = copy_.Run({shape, GetParam().dst, dst, GetParam().src, src});
    if (!difference.empty()) return difference;
    ++calls_;
    return copy_.Run({shape, GetParam().dst, dst, GetParam().src, src, 1 + 5 * calls_ % 63,
                      1 + 11 * calls_ % 62});
  }

 private:
  testing::GuardedCopy copy_{kSideBytes};
  std::int64_t calls_ = 0;
};

// --- channels ---

// From as few pixels as are worth a kernel to a little beyond two vectors more, and around the
// blocks in which pixels are converted.
TEST_P(CopyPlanNarrowTest, ChannelsOfPixels) {
  std::vector<std::int64_t> counts = {1023, 1024, 1025, 2049};
  for (std::int64_t pixels = 63; pixels <= 2 * most_lanes() + 65; ++pixels) {
    counts.push_back(pixels);
  }
  for (const std::int64_t channels : {2, 3, 4}) {
    for (const std::int64_t pixels : counts) {
      // An image is dense, or has gaps between its planes and behind its pixels.
      const std::int64_t gap = pixels / 2 % 2;
      const Shape images = {2, channels, pixels};
      const Strides planes = {channels * (pixels + gap), pixels + gap, 1};
      const Strides interleaved = {channels * pixels + gap, 1, channels};
      ASSERT_EQ(Differs(images, planes, interleaved), "");
      ASSERT_EQ(Differs(images, interleaved, planes), "");
    }
  }
}

// --- small matrices one after another ---

struct Matrix {
  std::int64_t rows;
  std::int64_t cols;
  [[nodiscard]] constexpr std::int64_t size() const { return rows * cols; }
};
// Among them both sides of the longest pattern that is looked up.
constexpr Matrix kMatrices[] = {{2, 2}, {2, 3}, {2, 4},  {3, 3},  {4, 4}, {5, 5},
                                {7, 9}, {8, 8}, {5, 13}, {64, 2}, {43, 3}};
static_assert(kMatrices[9].size() == kMaxPeriod && kMatrices[10].size() == kMaxPeriod + 1);

// The fewest matrices that are looked up: kMinGroups times as many as make whole vectors. Items of
// 1 and 8 bytes never are; any number will do.
std::int64_t FewestLookedUp(const Matrix& matrix, std::int64_t item) {
  if (item != 2 && item != 4) return kMinGroups;
  const std::int64_t lanes = kVectorBytes / item;
  return kMinGroups * (lanes / std::gcd(lanes, matrix.size()));
}

// How many matrices: around that number, and as many as no longer fit one table of offsets.
std::vector<std::int64_t> MatrixCounts(const Matrix& matrix, std::int64_t item) {
  const std::int64_t lanes = kVectorBytes / item;
  const std::int64_t fewest = FewestLookedUp(matrix, item);
  return {1,
          2 * lanes,
          2 * lanes + 1,
          fewest - 1,
          fewest,
          fewest + 1,
          fewest + 9,
          kMaxTabled / matrix.size(),
          kMaxTabled / matrix.size() + 1};
}

TEST_P(CopyPlanNarrowTest, TransposedSmallMatrices) {
  const std::int64_t lanes = kVectorBytes / src_item();
  for (const Matrix& m : kMatrices) {
    std::vector<std::int64_t> counts = MatrixCounts(m, src_item());
    // Remainders of a group, odd and even.
    const std::int64_t grouped = std::max(kMaxTabled / m.size() + 1, FewestLookedUp(m, src_item()));
    for (std::int64_t more = 2; more <= lanes + 1; more += 3) counts.push_back(grouped + more);
    for (const std::int64_t count : counts) {
      ASSERT_EQ(Differs({count, m.rows, m.cols}, {m.size(), m.cols, 1}, {m.size(), 1, m.rows}), "");
    }
  }
}

// The source ends before its last row does, or its rows overlap, or reach into the next ones.
TEST_P(CopyPlanNarrowTest, SmallMatricesOfRepeatedElements) {
  for (const Matrix& m : kMatrices) {
    for (const std::int64_t count : MatrixCounts(m, src_item())) {
      const Shape shape = {count, m.rows, m.cols};
      const Strides dense = {m.size(), m.cols, 1};
      for (const Strides& src : {Strides{m.size(), 0, 1},
                                 {m.size(), 1, 0},
                                 {m.size(), 1, 1},
                                 {m.size(), m.size() - 1, 1},
                                 {m.size(), m.size(), 1},
                                 {1, 1, m.rows}}) {
        ASSERT_EQ(Differs(shape, dense, src), "");
      }
    }
  }
}

// Nothing repeats across a gap, wherever in a block of rows it lies, on either side.
TEST_P(CopyPlanNarrowTest, TransposedSmallMatricesWithGaps) {
  const std::int64_t lanes = kVectorBytes / src_item();
  for (const Matrix& m : kMatrices) {
    const std::int64_t tabled = kMaxTabled / m.size();
    for (const std::int64_t count : {lanes, tabled + 1, std::max(tabled, 3 * lanes)}) {
      const std::int64_t batch = count * m.size();
      const Shape shape = {3, count, m.rows, m.cols};
      for (const auto& [dst_gap, src_gap] : {std::pair(1, 0), {0, 1}, {2, 2}}) {
        ASSERT_EQ(Differs(shape, {batch + dst_gap, m.size(), m.cols, 1},
                          {batch + src_gap, m.size(), 1, m.rows}),
                  "");
        ASSERT_EQ(Differs({count, m.rows, m.cols}, {m.size() + dst_gap, m.cols, 1},
                          {m.size() + src_gap, 1, m.rows}),
                  "");
      }
    }
  }
}

// More rows than a block has; those of the last one are too few for a group, or just enough.
TEST_P(CopyPlanNarrowTest, BlocksOfTransposedSmallMatrices) {
  for (const Matrix& m : {Matrix{2, 2}, Matrix{2, 3}, Matrix{3, 3}}) {
    const std::int64_t block = converts() ? std::min(kScratchElements / m.size(), kMaxBlock)
                                          : kUnitBytes / dst_item() / m.size();
    const std::int64_t group = FewestLookedUp(m, src_item()) / kMinGroups;
    for (const std::int64_t more :
         {std::int64_t{0}, std::int64_t{1}, group - 1, group, group + 1, 2 * group + 1}) {
      ASSERT_EQ(
          Differs({block + more, m.rows, m.cols}, {m.size(), m.cols, 1}, {m.size(), 1, m.rows}),
          "");
    }
  }
}

// --- repeated elements and rows ---

TEST_P(CopyPlanNarrowTest, Fills) {
  for (std::int64_t count = 1; count <= 4 * most_lanes() + 1; ++count) {
    const std::int64_t rows = kElementLoopMax / count + 2;
    for (const Strides& src : {Strides{1, 0}, {0, 1}, {0, 0}}) {
      for (const Strides& dst :
           {Strides{count, 1}, {count + 1, 1}, {1, rows}, {2 * count + 1, 2}}) {
        ASSERT_EQ(Differs({rows, count}, dst, src), "");
      }
    }
  }
}

// --- thin matrices ---

TEST_P(CopyPlanNarrowTest, ThinTransposes) {
  std::vector<std::int64_t> lengths = {2049};
  for (std::int64_t length = 65; length < 200; length += 2) lengths.push_back(length);
  for (const std::int64_t thin : {5, 7, 11, 15}) {
    for (const std::int64_t length : lengths) {
      const std::int64_t gap = length / 2 % 2;
      const std::int64_t step = length % 3 == 0 ? 2 : 1;
      ASSERT_EQ(Differs({thin, length}, {length + gap, 1}, {step, thin * step + 2 * gap}), "");
      ASSERT_EQ(Differs({length, thin}, {thin + gap, 1}, {step, length * step + 2 * gap}), "");
    }
  }
}

// Every item size, and a cast from each; the sides of the casts differ in theirs.
INSTANTIATE_TEST_SUITE_P(
    Conversions, CopyPlanNarrowTest,
    ::testing::Values(Conversion{kUInt8, kUInt8}, Conversion{kBFloat16, kBFloat16},
                      Conversion{kInt32, kInt32}, Conversion{kFloat64, kFloat64},
                      Conversion{kFloat32, kUInt8}, Conversion{kUInt8, kFloat32},
                      Conversion{kFloat32, kFloat16}, Conversion{kFloat16, kFloat64}),
    [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace engine::strided
