// More than 2^31 elements, and offsets beyond 2^32: nothing may be counted in 32 bits. Clause:
// copies and casts of any size that memory holds; the offender's index is exact. P42.
//
// Sources are mapped, never filled: reading them costs no memory, and a few pages of marks tell
// where elements come from. Each case takes a little over 2 GiB, for its destination.
#include <sys/mman.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/check.h"
#include "strided/copy_plan.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/status_matchers.h"

namespace engine::strided {
namespace {

using tensor::DataType;
using tensor::Shape;
using tensor::Strides;

constexpr std::int64_t k2To31 = std::int64_t{1} << 31;
// A few units of every kind beyond 2^31, and odd.
constexpr std::int64_t kNumel = k2To31 + 3 * 1000 * 1000 + 7;

// Zeros, backed by memory only where they are written.
class LazyBytes {
 public:
  explicit LazyBytes(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* const data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ENGINE_CHECK(data != MAP_FAILED, "LazyBytes: mmap of {} bytes failed", bytes_);
    data_ = static_cast<unsigned char*>(data);
  }
  ~LazyBytes() { munmap(data_, bytes_); }
  LazyBytes(const LazyBytes&) = delete;
  LazyBytes& operator=(const LazyBytes&) = delete;

  [[nodiscard]] unsigned char* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(bytes_); }
  void Fill(int byte) { std::memset(data_, byte, bytes_); }

 private:
  std::size_t bytes_;
  unsigned char* data_ = nullptr;
};

// Logical indices around every power of two where a narrower count would wrap, and the ends.
std::vector<std::int64_t> MarkedIndices(std::int64_t numel) {
  std::vector<std::int64_t> indices = {0, 1, numel / 3, numel - 2, numel - 1};
  for (const std::int64_t power : {k2To31 / 2, k2To31}) {
    for (const std::int64_t near : {-1025, -1, 0, 1, 1025, 1'000'003})
      indices.push_back(power + near);
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

// Compares the whole of `dst` with zeros but for `marks`, offset to value.
void ExpectMarks(const LazyBytes& dst, const std::map<std::int64_t, unsigned char>& marks) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  const std::vector<unsigned char> zeros(kChunk);
  const auto expect_zeros = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::size_t n = std::min(kChunk, static_cast<std::size_t>(end - at));
      ASSERT_EQ(std::memcmp(dst.data() + at, zeros.data(), n), 0) << "somewhere from byte " << at;
    }
  };
  std::int64_t begin = 0;
  for (const auto& [at, value] : marks) {
    ASSERT_NO_FATAL_FAILURE(expect_zeros(begin, at));
    ASSERT_EQ(dst.data()[at], value) << "byte " << at;
    begin = at + 1;
  }
  ASSERT_NO_FATAL_FAILURE(expect_zeros(begin, dst.size()));
}

// Copies or casts one-byte elements of a logical order in which the destination is dense, with
// marks at the indices above.
void ExpectMoves(const Shape& shape, DataType dst_dtype, DataType src_dtype,
                 const Strides& src_strides) {
  const std::int64_t numel = shape.numel();
  ASSERT_GT(numel, k2To31 + 1'000'003);  // the furthest mark
  const auto source_offset = [&](std::int64_t index) {
    std::int64_t offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += index % shape.dim(axis) * src_strides[axis];
      index /= shape.dim(axis);
    }
    return offset;
  };
  const LazyBytes src(source_offset(numel - 1) + 1);
  LazyBytes dst(numel);
  dst.Fill(0xEE);  // what is never written must show
  std::map<std::int64_t, unsigned char> marks;
  for (const std::int64_t index : MarkedIndices(numel)) {
    const auto mark = static_cast<unsigned char>(1 + marks.size());
    marks[index] = mark;
    src.data()[source_offset(index)] = mark;
  }
  const CopyPlan plan =
      CopyPlan::Make(shape, dst_dtype, tensor::RowMajorStrides(shape), src_dtype, src_strides);
  ASSERT_GT(plan.num_units(), 1);
  ASSERT_TRUE(plan.Run(dst.data(), src.data()));
  ExpectMarks(dst, marks);
}

TEST(CopyPlanLargeTest, Run) { ExpectMoves({kNumel}, DataType::kUInt8, DataType::kUInt8, {1}); }

// Source offsets pass 2^32.
TEST(CopyPlanLargeTest, Steps) { ExpectMoves({kNumel}, DataType::kUInt8, DataType::kUInt8, {2}); }

TEST(CopyPlanLargeTest, Rows) {
  ExpectMoves({46399, 46399}, DataType::kUInt8, DataType::kUInt8, {50021, 1});
}

// Rows that enumerate two axes.
TEST(CopyPlanLargeTest, RowsOfThreeAxes) {
  ExpectMoves({1300, 1300, 1280}, DataType::kUInt8, DataType::kUInt8, {1300 * 1300 + 7, 1300, 1});
}

// The offset of the last matrix alone passes 2^31, on both sides.
TEST(CopyPlanLargeTest, TransposesOfManyMatrices) {
  ExpectMoves({200, 3290, 3290}, DataType::kUInt8, DataType::kUInt8, {1 << 24, 1, 3290});
}

TEST(CopyPlanLargeTest, Transpose) {
  ExpectMoves({46399, 46399}, DataType::kUInt8, DataType::kUInt8, {1, 46399});
}

TEST(CopyPlanLargeTest, Cast) { ExpectMoves({kNumel}, DataType::kUInt8, DataType::kInt8, {1}); }

TEST(CopyPlanLargeTest, TransposedCast) {
  ExpectMoves({46399, 46399}, DataType::kUInt8, DataType::kInt8, {1, 46399});
}

// Destination offsets pass 2^32, and what lies between stays unwritten. Only the last unit runs, so
// that most of the destination needs no memory.
TEST(CopyPlanLargeTest, ScatterOfTheLastUnit) {
  const LazyBytes src(kNumel);
  const LazyBytes dst(3 * (kNumel - 1) + 1);
  for (std::int64_t i = kNumel - 1000; i < kNumel; ++i) {
    src.data()[i] = static_cast<unsigned char>(1 + i % 251);
  }
  const CopyPlan plan = CopyPlan::Make({kNumel}, DataType::kUInt8, {3}, DataType::kUInt8, {1});
  ASSERT_GT(plan.num_units(), 1);
  ASSERT_TRUE(plan.RunUnits(dst.data(), src.data(), plan.num_units() - 1, plan.num_units()));
  for (std::int64_t i = kNumel - 1000; i < kNumel; ++i) {
    ASSERT_EQ(dst.data()[3 * i], 1 + i % 251) << i;
    if (i + 1 < kNumel) {
      ASSERT_EQ(dst.data()[3 * i + 1], 0) << i;
      ASSERT_EQ(dst.data()[3 * i + 2], 0) << i;
    }
  }
}

TEST(CopyPlanLargeTest, TheOffenderIsNamedBeyond2To31) {
  constexpr std::int64_t kIndex = k2To31 + 12345;
  const LazyBytes src(kNumel);
  const LazyBytes dst(kNumel);
  src.data()[kIndex] = 0xFF;
  src.data()[kIndex + 1] = 0x80;
  const CopyPlan plan = CopyPlan::Make({kNumel}, DataType::kUInt8, {1}, DataType::kInt8, {1});
  std::int64_t failed = 0;
  for (std::int64_t unit = 0; unit < plan.num_units(); ++unit) {
    if (!plan.RunUnits(dst.data(), src.data(), unit, unit + 1)) ++failed;
  }
  EXPECT_EQ(failed, 1);
  EXPECT_THAT(plan.FirstOffender(src.data()),
              testing::StatusIs(core::StatusCode::kInvalidArgument,
                                ::testing::StrEq("cast: -1 at [2147495993] (element 2147495993) of "
                                                 "int8 is not representable in uint8")));
}

// In column-major memory the first in logical order comes late.
TEST(CopyPlanLargeTest, TheOffenderOfATransposeIsNamedBeyond2To31) {
  constexpr std::int64_t kSide = 46349;
  const LazyBytes src(kSide * kSide);
  // Row 46348 is the last: its logical indices are beyond 2^31.
  src.data()[46348 + 46340 * kSide] = 0xFE;
  src.data()[46348 + 46341 * kSide] = 0xFF;
  const CopyPlan plan =
      CopyPlan::Make({kSide, kSide}, DataType::kUInt8, {kSide, 1}, DataType::kInt8, {1, kSide});
  const std::int64_t index = 46348 * kSide + 46340;
  ASSERT_GT(index, k2To31);
  EXPECT_THAT(plan.FirstOffender(src.data()),
              testing::StatusIs(core::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("cast: -2 at [46348, 46340] (element " +
                                                     std::to_string(index) + ") of int8 ")));
}

}  // namespace
}  // namespace engine::strided
