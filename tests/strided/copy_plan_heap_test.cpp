// Making a plan and running it does not touch the heap, whatever strategy the layout leads to: an
// engine may do both on its hot path.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "strided/copy_plan.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/heap.h"
#include "testing/reference.h"

namespace engine::strided {
namespace {

namespace reference = testing::reference;

using enum tensor::DataType;
using tensor::DataType;

struct HeapCase {
  const char* name;
  tensor::Shape shape;
  DataType dst_dtype;
  tensor::Strides dst_strides;
  DataType src_dtype;
  tensor::Strides src_strides;
};
void PrintTo(const HeapCase& c, std::ostream* os) { *os << c.name; }
std::string NameOf(const ::testing::TestParamInfo<HeapCase>& info) { return info.param.name; }

// At least one per strategy and per way through its blocks.
const HeapCase kCases[] = {
    {"Empty", {3, 0}, kFloat32, {0, 1}, kFloat32, {0, 1}},
    {"Elements", {4, 4}, kFloat32, {4, 1}, kFloat32, {1, 4}},
    {"ElementsCast", {4, 4}, kInt16, {4, 1}, kFloat32, {1, 4}},
    {"Contiguous", {5000}, kFloat32, {1}, kFloat32, {1}},
    {"ContiguousCast", {5000}, kInt16, {1}, kFloat32, {1}},
    {"Rows", {100, 100}, kFloat32, {101, 1}, kFloat32, {100, 1}},
    {"RowsCast", {100, 100}, kInt32, {101, 1}, kFloat16, {100, 1}},
    {"ShortRowsCast", {100, 7}, kFloat32, {8, 1}, kFloat16, {9, 1}},
    {"EverySecond", {100, 100}, kFloat32, {100, 1}, kFloat32, {201, 2}},
    {"EveryThird", {100, 100}, kFloat32, {100, 1}, kFloat32, {301, 3}},
    {"EveryFifth", {100, 100}, kFloat32, {100, 1}, kFloat32, {501, 5}},
    {"Scatter", {100, 100}, kFloat32, {301, 3}, kFloat32, {100, 1}},
    {"GatherAndScatter", {100, 100}, kFloat32, {201, 2}, kFloat32, {301, 3}},
    {"GatherAndScatterCast", {100, 100}, kInt8, {201, 2}, kFloat32, {301, 3}},
    {"Fill", {100, 100}, kFloat32, {100, 1}, kFloat32, {1, 0}},
    {"Table", {2500, 2, 3}, kFloat32, {6, 3, 1}, kFloat32, {6, 1, 2}},
    {"TableCast", {2500, 2, 3}, kUInt64, {6, 3, 1}, kFloat32, {6, 1, 2}},
    {"ToPlanes", {3, 1500}, kUInt8, {1500, 1}, kUInt8, {1, 3}},
    {"ToPlanesCast", {3, 1500}, kFloat32, {1500, 1}, kUInt8, {1, 3}},
    {"ToPixels", {3, 1500}, kUInt8, {1, 3}, kUInt8, {1500, 1}},
    {"ToPixelsCast", {3, 1500}, kUInt8, {1, 3}, kFloat32, {1500, 1}},
    {"Transpose", {100, 100}, kFloat32, {100, 1}, kFloat32, {1, 100}},
    {"TransposeOfAliasingRows", {100, 1024}, kFloat32, {1024, 1}, kFloat32, {1, 100}},
    {"TransposeAndScatter", {100, 100}, kFloat32, {201, 2}, kFloat32, {1, 100}},
    {"TransposeCast", {100, 100}, kFloat16, {100, 1}, kFloat32, {1, 100}},
    {"TransposeCastOfAliasingRows", {100, 1024}, kFloat32, {1024, 1}, kUInt8, {1, 100}},
    {"TransposeCastOfThinMatrix", {12, 2100}, kInt16, {2100, 1}, kFloat64, {1, 12}},
    {"GatherTransposeCastAndScatter", {100, 100}, kFloat32, {201, 2}, kInt64, {3, 301}},
};

// Elements from the first to the last; 0 when there are none.
std::size_t WindowSize(const tensor::Shape& shape, const tensor::Strides& strides) {
  if (shape.numel() == 0) return 0;
  std::int64_t last = 0;
  for (int i = 0; i < shape.rank(); ++i) last += (shape.dim(i) - 1) * strides[i];
  return static_cast<std::size_t>(last + 1);
}

class CopyPlanHeapTest : public ::testing::TestWithParam<HeapCase> {
 protected:
  CopyPlanHeapTest()
      : src_(WindowSize(c_.shape, c_.src_strides) * src_item()),
        dst_(WindowSize(c_.shape, c_.dst_strides) * dst_item()) {
    // Small integers, which every castable dtype holds.
    for (std::size_t i = 0; i < src_.size() / src_item(); ++i) {
      reference::StoreBits(&src_[i * src_item()],
                           *reference::ConvertBits(c_.src_dtype, kUInt8, i % 101),
                           tensor::itemsize(c_.src_dtype));
    }
  }

  [[nodiscard]] std::size_t src_item() const {
    return static_cast<std::size_t>(tensor::itemsize(c_.src_dtype));
  }
  [[nodiscard]] std::size_t dst_item() const {
    return static_cast<std::size_t>(tensor::itemsize(c_.dst_dtype));
  }

  // A plan made, run as a whole and unit by unit. Returns its verdict.
  bool MakeAndRun() {
    const CopyPlan plan =
        CopyPlan::Make(c_.shape, c_.dst_dtype, c_.dst_strides, c_.src_dtype, c_.src_strides);
    bool fits = plan.Run(dst_.data(), src_.data());
    for (std::int64_t unit = 0; unit < plan.num_units(); ++unit) {
      fits = plan.RunUnits(dst_.data(), src_.data(), unit, unit + 1) && fits;
    }
    return fits;
  }

  const HeapCase& c_ = GetParam();
  std::vector<std::byte> src_;
  std::vector<std::byte> dst_;
};

TEST_P(CopyPlanHeapTest, MakingAndRunningAllocateNothing) {
  std::vector<std::byte> expected(dst_.size());
  reference::ConvertStrided(c_.shape, c_.dst_dtype, expected.data(), c_.dst_strides, c_.src_dtype,
                            src_.data(), c_.src_strides);
  const std::int64_t before = testing::HeapAllocationsOnThisThread();
  const bool fits = MakeAndRun();
  const std::int64_t allocations = testing::HeapAllocationsOnThisThread() - before;
  EXPECT_EQ(allocations, 0);
  EXPECT_TRUE(fits);
  EXPECT_TRUE(dst_ == expected);
}

INSTANTIATE_TEST_SUITE_P(Layouts, CopyPlanHeapTest, ::testing::ValuesIn(kCases), NameOf);

// Nor does a run that meets what it cannot convert: the message is made by FirstOffender.
class CopyPlanMisfitHeapTest : public CopyPlanHeapTest {};

TEST_P(CopyPlanMisfitHeapTest, FailingAllocatesNothing) {
  for (std::byte& byte : src_) byte = std::byte{0xFF};  // NaN
  const std::int64_t before = testing::HeapAllocationsOnThisThread();
  const bool fits = MakeAndRun();
  const std::int64_t allocations = testing::HeapAllocationsOnThisThread() - before;
  EXPECT_EQ(allocations, 0);
  EXPECT_FALSE(fits);
}

std::vector<HeapCase> FloatsToIntegers() {
  std::vector<HeapCase> cases;
  for (const HeapCase& c : kCases) {
    if (tensor::is_floating_point(c.src_dtype) && !tensor::is_floating_point(c.dst_dtype)) {
      cases.push_back(c);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Layouts, CopyPlanMisfitHeapTest, ::testing::ValuesIn(FloatsToIntegers()),
                         NameOf);

}  // namespace
}  // namespace engine::strided
