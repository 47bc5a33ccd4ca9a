// The code of docs/guide/performance.md; guide_text_test.cpp compares the two.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "strided/copy_plan.h"
#include "strided/target.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
namespace strided = engine::strided;
using engine::core::Status;
using engine::tensor::DataType;
using engine::tensor::Tensor;

// [snippet]
// Layers whose tensors have one layout: planned once.
Status ConvertAll(const std::vector<Tensor>& dst, const std::vector<Tensor>& src) {
  if (src.empty()) return core::OkStatus();
  ENGINE_ASSIGN_OR_RETURN(const strided::CopyPlan plan, ops::plan_cast(dst[0], src[0]));
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (!plan.Run(dst[i].data(), src[i].data())) return plan.FirstOffender(src[i].data());
  }
  return core::OkStatus();
}
// [/snippet]

TEST(PerformanceGuideTest, ConvertAll) {
  std::vector<Tensor> dst;
  std::vector<Tensor> src;
  for (int i = 0; i < 3; ++i) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor from, ops::full({3, 5}, i, DataType::kFloat32));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, from.transpose(0, 1));
    src.push_back(turned);
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor to, ops::zeros({5, 3}, DataType::kInt16));
    dst.push_back(to);
  }
  ENGINE_ASSERT_OK(ConvertAll(dst, src));
  EXPECT_EQ(dst[2].item<std::int16_t>({4, 2}), 2);
  ENGINE_EXPECT_OK(ConvertAll({}, {}));
}

TEST(PerformanceGuideTest, Target) {
  // [snippet]
  const std::string_view target = strided::ActiveTarget();  // "avx3", "avx2", "sse4", "neon", ...
  // [/snippet]
  bool supported = false;
  for (const std::string_view name : strided::SupportedTargets()) supported |= name == target;
  EXPECT_TRUE(supported);
}

}  // namespace
