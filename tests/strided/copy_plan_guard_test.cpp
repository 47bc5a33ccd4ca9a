// Every kernel family between guard pages: each count from nothing to a little beyond two of the
// widest vectors, at every misalignment, both sides flush against the page behind and against the
// one before. Clause: reads stay between the first and the last element of the source, writes touch
// the destination's elements only, whatever layout, dtypes and verdict. P43, P44.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "strided/copy_plan.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/guarded_copy.h"
#include "testing/reference.h"
#include "testing/samples.h"

namespace engine::strided {
namespace {

using tensor::DataType;
using tensor::Strides;
using testing::GuardedCase;
using testing::GuardedCopy;

// Bytes of the widest vector of any target.
constexpr std::int64_t kVectorBytes = 64;
// Holds the largest case, 129 rows a little more than 4096 bytes apart; untouched pages are free.
constexpr std::size_t kSideBytes = std::size_t{2} << 20;

std::int64_t MaxCount(DataType dst, DataType src) {
  return 2 * kVectorBytes / std::min(tensor::itemsize(dst), tensor::itemsize(src)) + 1;
}

// Rows of `count` so that a plan of them has more elements than a nested loop would take.
std::int64_t RowsOf(std::int64_t count) { return 65 / count + 2; }

// Plans of one dtype; the parameter stands for its item size.
class CopyGuardTest : public ::testing::TestWithParam<DataType> {
 protected:
  static DataType dtype() { return GetParam(); }
  static std::int64_t item() { return tensor::itemsize(GetParam()); }
  static std::int64_t max_count() { return MaxCount(GetParam(), GetParam()); }
};

TEST_P(CopyGuardTest, ContiguousRuns) {
  GuardedCopy copy(kSideBytes);
  // Up to six lines: a run that bypasses the caches has a head, whole lines and a tail.
  for (std::int64_t count = 0; count <= 6 * kVectorBytes / item() + 1; ++count) {
    for (std::int64_t dst_shift = 0; dst_shift < kVectorBytes; ++dst_shift) {
      for (const std::int64_t src_shift : {0, 1, 40}) {
        ASSERT_EQ(copy.Run({{count}, dtype(), {1}, dtype(), {1}, dst_shift, src_shift}), "");
      }
    }
  }
}

// Gaps of one element make neighbouring rows start at different misalignments, larger ones leave
// room for a stray vector; a gap on one side only keeps runs from merging.
TEST_P(CopyGuardTest, Rows) {
  GuardedCopy copy(kSideBytes);
  for (std::int64_t count = 1; count <= 6 * kVectorBytes / item() + 1; ++count) {
    for (const auto& [dst_gap, src_gap] : {std::pair(1, 0), {0, 1}, {1, 1}, {70, 3}, {3, 70}}) {
      for (const std::int64_t shift : {0, 1, 63}) {
        ASSERT_EQ(copy.Run({{RowsOf(count), count},
                            dtype(),
                            {count + dst_gap, 1},
                            dtype(),
                            {count + src_gap, 1},
                            shift,
                            shift}),
                  "");
      }
    }
  }
}

// So many, and so long, that several may be under way at a time.
TEST_P(CopyGuardTest, ManyRows) {
  GuardedCopy copy(kSideBytes);
  for (const std::int64_t bytes : {136, 192, 200, 264, 400, 1032, 2056}) {
    const std::int64_t count = bytes / item();
    for (const std::int64_t rows : {2, 3, 8, 31, 33, 43, 64, 67, 97}) {
      for (const std::int64_t gap : {1, 7}) {
        const Strides dst = {count + gap, 1};
        ASSERT_EQ(
            copy.Run({{rows, count}, dtype(), dst, dtype(), {count + 2 * gap, 1}, gap, rows % 8}),
            "");
      }
    }
  }
}

// Rows whose lines begin alike: where bypassing the caches pays at all.
TEST_P(CopyGuardTest, RowsThatBeginAlikeWithinLines) {
  GuardedCopy copy(kSideBytes);
  const std::int64_t line = kVectorBytes / item();
  for (std::int64_t count = 1; count <= 6 * line + 1; ++count) {
    const std::int64_t pitch = (count / line + 1) * line;
    for (std::int64_t shift = 0; shift < kVectorBytes; shift += 7) {
      ASSERT_EQ(copy.Run({{RowsOf(count), count}, dtype(), {pitch, 1}, dtype(), {pitch, 1}, shift}),
                "");
    }
  }
}

TEST_P(CopyGuardTest, StridedRows) {
  GuardedCopy copy(kSideBytes);
  for (const auto& [dst_step, src_step] : {std::pair(1, 2),
                                           {1, 3},
                                           {1, 4},
                                           {1, 5},
                                           {1, 6},
                                           {1, 7},
                                           {1, 8},
                                           {1, 9},
                                           {2, 1},
                                           {3, 1},
                                           {4, 1},
                                           {7, 1},
                                           {2, 3},
                                           {4, 2}}) {
    for (std::int64_t count = 1; count <= max_count(); ++count) {
      for (const std::int64_t shift : {0, 1}) {
        const Strides dst = {count * dst_step + 1, dst_step};
        const Strides src = {count * src_step + 2, src_step};
        ASSERT_EQ(copy.Run({{RowsOf(count), count}, dtype(), dst, dtype(), src, shift, 2 * shift}),
                  "");
        ASSERT_EQ(copy.Run({{count}, dtype(), {dst_step}, dtype(), {src_step}, shift, shift}), "");
      }
    }
  }
}

// Every count against every other: tiles that end in either direction, at every remainder.
TEST_P(CopyGuardTest, TransposesOfEveryCount) {
  GuardedCopy copy(kSideBytes);
  for (std::int64_t rows = 1; rows <= max_count(); ++rows) {
    for (std::int64_t cols = 1; cols <= max_count(); ++cols) {
      // Dense, and with gaps; sides that are misaligned, one or the other.
      const std::int64_t gap = cols % 2;
      const Strides dst = {rows + gap, 1};
      const Strides src = {1, cols + gap};
      ASSERT_EQ(copy.Run({{cols, rows}, dtype(), dst, dtype(), src, rows % 2, cols % 3}), "");
    }
  }
}

// Rows a power of two apart share cache sets, which other forms of the kernels are for: whole
// source lines, dense blocks first. Rows that begin alike within their lines can bypass the caches.
TEST_P(CopyGuardTest, TransposesOfAliasingRows) {
  constexpr std::int64_t kEdges[] = {1, 2, 4, 7, 16, 17, 33, 48, 63, 65, 129};
  GuardedCopy copy(kSideBytes);
  const auto beyond = [](std::int64_t pitch_bytes, std::int64_t count) {
    const std::int64_t pitch = pitch_bytes / item();
    return (count + pitch - 1) / pitch * pitch;
  };
  for (const std::int64_t rows : kEdges) {
    for (const std::int64_t cols : kEdges) {
      const auto run = [&](std::int64_t dst_pitch, std::int64_t src_pitch, std::int64_t shift) {
        const Strides dst = {dst_pitch == 0 ? rows + 1 : beyond(dst_pitch, rows), 1};
        const Strides src = {1, src_pitch == 0 ? cols + 1 : beyond(src_pitch, cols)};
        return copy.Run({{cols, rows}, dtype(), dst, dtype(), src, shift, shift});
      };
      ASSERT_EQ(run(0, 4096, 0), "");
      ASSERT_EQ(run(4096, 0, 0), "");
      ASSERT_EQ(run(4096, 4096, 1), "");
      ASSERT_EQ(run(0, 256, 0), "");
      ASSERT_EQ(run(1024, 0, 1), "");
      ASSERT_EQ(run(1024, 1024, 0), "");
      for (const std::int64_t shift : {0, 4, 8, 63}) {
        ASSERT_EQ(run(64, 0, shift), "");
        ASSERT_EQ(run(256, 256, shift), "");
      }
    }
  }
}

// Gathered, transposed and scattered in blocks; and rows and columns that enumerate several axes.
TEST_P(CopyGuardTest, TransposesWithStepsAndOfSeveralAxes) {
  constexpr std::int64_t kEdges[] = {3, 8, 17, 33, 63, 64, 65, 127, 129};
  GuardedCopy copy(kSideBytes);
  for (const std::int64_t rows : kEdges) {
    for (const std::int64_t cols : kEdges) {
      for (const auto& [dst_step, src_step] : {std::pair(1, 2), {2, 1}, {3, 2}, {1, 3}}) {
        const Strides dst = {rows * dst_step + 1, dst_step};
        const Strides src = {src_step, cols * src_step + 1};
        ASSERT_EQ(copy.Run({{cols, rows}, dtype(), dst, dtype(), src, 0, 1}), "");
      }
    }
  }
  for (const std::int64_t inner : {5, 7, 9}) {
    // Four axes reversed, and two of three exchanged.
    const std::int64_t a = inner + 2;
    const Strides reversed = {1, a, 6 * a, 24 * a};
    ASSERT_EQ(
        copy.Run({{a, 6, 4, inner}, dtype(), {24 * inner, 4 * inner, inner, 1}, dtype(), reversed}),
        "");
    ASSERT_EQ(copy.Run({{inner, a, 40}, dtype(), {41 * a, 41, 1}, dtype(), {a, 1, a * inner}}), "");
  }
}

// Short patterns that repeat: small matrices one after another, pixels of many planes, windows that
// overlap, rows cut out of longer ones. As many of them as end anywhere within a group of vectors.
TEST_P(CopyGuardTest, PatternsThatRepeat) {
  GuardedCopy copy(kSideBytes);
  for (const std::int64_t repeats : {31, 64, 65, 79, 97, 128, 200}) {
    for (const auto& [a, b] :
         {std::pair(3, 3), {2, 5}, {5, 5}, {7, 9}, {3, 16}, {16, 3}, {11, 5}}) {
      const std::int64_t size = a * b;
      const Strides dense = {size, b, 1};
      const std::int64_t shift = repeats % 3;
      // Transposed one by one, with and without gaps between them.
      for (const std::int64_t gap : {0, 1, 20}) {
        const Strides src = {size + gap, 1, a};
        ASSERT_EQ(copy.Run({{repeats, a, b}, dtype(), dense, dtype(), src, shift, shift}), "");
      }
      // Windows; several rows of them, so that a run ends within a block.
      const Strides windows = {1, repeats + b, 1};
      ASSERT_EQ(copy.Run({{repeats, a, b}, dtype(), dense, dtype(), windows, shift}), "");
      const Strides many = {repeats * size, size, b, 1};
      const Strides rows_of_windows = {repeats + 2 * b, 1, repeats + 2 * b, 1};
      ASSERT_EQ(copy.Run({{3, repeats, a, b}, dtype(), many, dtype(), rows_of_windows, shift}), "");
    }
    for (const std::int64_t planes : {3, 5, 7, 11, 15}) {
      const Strides pixels = {planes, 1};
      ASSERT_EQ(copy.Run({{repeats, planes}, dtype(), pixels, dtype(), {1, repeats + 1}}), "");
      ASSERT_EQ(copy.Run({{repeats, planes}, dtype(), pixels, dtype(), {planes + 2, 1}}), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ItemSizes, CopyGuardTest,
                         ::testing::Values(DataType::kUInt8, DataType::kBFloat16, DataType::kInt32,
                                           DataType::kFloat64),
                         [](const auto& info) {
                           return std::string(tensor::to_string(info.param));
                         });

// Casts from one dtype to every other.
class CastGuardTest : public ::testing::TestWithParam<DataType> {
 protected:
  template <typename Body>
  static void ForEachTarget(const Body& body) {
    for (const DataType dst : testing::kCastableDTypes) {
      if (dst == GetParam()) continue;
      body(dst, GetParam());
      if (HasFatalFailure()) return;
    }
  }

  // With elements that fit, and again with one that does not, if that is possible.
  static std::string RunFittingAndNot(GuardedCopy& copy, const GuardedCase& c) {
    std::string difference = copy.Run(c);
    const std::uint64_t misfit =
        testing::reference::LowBits(~std::uint64_t{0}, tensor::itemsize_bits(c.src_dtype));
    if (difference.empty() && c.shape.numel() > 0 &&
        !testing::reference::ConvertBits(c.dst_dtype, c.src_dtype, misfit).has_value()) {
      difference = copy.Run(c, /*last_misfits=*/true);
    }
    return difference;
  }
};

TEST_P(CastGuardTest, ContiguousRuns) {
  GuardedCopy copy(kSideBytes);
  ForEachTarget([&](DataType dst, DataType src) {
    for (std::int64_t count = 0; count <= MaxCount(dst, src); ++count) {
      for (const std::int64_t shift : {0, 1, 2, 3, 5, 8, 20, 37}) {
        const GuardedCase c = {{count}, dst, {1}, src, {1}, shift, 3 * shift % 64};
        ASSERT_EQ(RunFittingAndNot(copy, c), "");
      }
    }
  });
}

// Longer than the blocks that a run may be cut into, and just as long.
TEST_P(CastGuardTest, LongRuns) {
  GuardedCopy copy(kSideBytes);
  ForEachTarget([&](DataType dst, DataType src) {
    for (const std::int64_t count :
         {255, 256, 257, 511, 1023, 1025, 1344, 2049, 4097, 8191, 16387}) {
      ASSERT_EQ(RunFittingAndNot(copy, {{count}, dst, {1}, src, {1}, count % 3, count % 5}), "");
    }
  });
}

// Short rows are packed before they are converted, long ones are not.
TEST_P(CastGuardTest, Rows) {
  GuardedCopy copy(kSideBytes);
  ForEachTarget([&](DataType dst, DataType src) {
    for (std::int64_t count = 1; count <= MaxCount(dst, src); ++count) {
      for (const auto& [dst_gap, src_gap] : {std::pair(1, 0), {0, 1}, {70, 3}}) {
        const GuardedCase c = {{RowsOf(count), count},
                               dst,
                               {count + dst_gap, 1},
                               src,
                               {count + src_gap, 1},
                               count % 2,
                               count % 3};
        ASSERT_EQ(RunFittingAndNot(copy, c), "");
      }
    }
  });
}

TEST_P(CastGuardTest, StridedRows) {
  GuardedCopy copy(kSideBytes);
  ForEachTarget([&](DataType dst, DataType src) {
    for (const auto& [dst_step, src_step] : {std::pair(1, 2), {2, 1}, {1, 3}, {3, 1}, {4, 4}}) {
      for (std::int64_t count = 1; count <= MaxCount(dst, src); count += count < 40 ? 1 : 6) {
        const GuardedCase c = {{RowsOf(count), count},
                               dst,
                               {count * dst_step + 1, dst_step},
                               src,
                               {count * src_step + 2, src_step}};
        ASSERT_EQ(RunFittingAndNot(copy, c), "");
      }
    }
  });
}

// Converted on the way, in blocks of scratch memory.
TEST_P(CastGuardTest, Transposes) {
  constexpr std::int64_t kEdges[] = {2, 3, 8, 15, 16, 17, 33, 63, 64, 65, 129};
  GuardedCopy copy(kSideBytes);
  ForEachTarget([&](DataType dst, DataType src) {
    for (const std::int64_t rows : kEdges) {
      for (const std::int64_t cols : kEdges) {
        const std::int64_t dst_step = rows % 5 == 0 ? 2 : 1;
        const std::int64_t src_step = cols % 4 == 3 ? 2 : 1;
        const GuardedCase c = {{cols, rows},
                               dst,
                               {rows * dst_step + 1, dst_step},
                               src,
                               {src_step, cols * src_step + 1}};
        ASSERT_EQ(RunFittingAndNot(copy, c), "");
      }
    }
  });
}

// Thin matrices, either way: blocks as long as the tables of offsets allow, of rows too short to be
// converted where they are. The sides differ in item size, the scratch memory does not.
TEST_P(CastGuardTest, ThinTransposes) {
  GuardedCopy copy(kSideBytes);
  ForEachTarget([&](DataType dst, DataType src) {
    for (const std::int64_t thin : {2, 8, 15, 17}) {
      for (const std::int64_t length : {1984, 2017, 4133}) {
        const std::int64_t step = thin == 8 ? 2 : 1;
        const GuardedCase tall = {
            {thin, length}, dst, {length + 1, 1}, src, {step, thin * step + 1}};
        const GuardedCase wide = {
            {length, thin}, dst, {thin * step + 1, step}, src, {1, length + 1}};
        ASSERT_EQ(RunFittingAndNot(copy, tall), "");
        ASSERT_EQ(RunFittingAndNot(copy, wide), "");
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sources, CastGuardTest, ::testing::ValuesIn(testing::kCastableDTypes),
                         [](const auto& info) {
                           return std::string(tensor::to_string(info.param));
                         });

}  // namespace
}  // namespace engine::strided
