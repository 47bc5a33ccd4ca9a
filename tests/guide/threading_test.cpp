// The code of docs/guide/threading.md; guide_text_test.cpp compares the two.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "strided/copy_plan.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
namespace strided = engine::strided;
using engine::core::Status;
using engine::tensor::DataType;
using engine::tensor::Tensor;

Status Handles() {
  ENGINE_ASSIGN_OR_RETURN(const Tensor weights, ops::ones({64, 64}, DataType::kFloat32));
  // [snippet]
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([weights, i] {  // a handle of its own
      const auto rows = weights.slice(0, 16 * i, 16 * (i + 1));
      if (rows.ok()) static_cast<void>(ops::fill(*rows, i));  // disjoint elements
    });
  }
  for (std::thread& thread : threads) thread.join();
  // [/snippet]
  for (std::int64_t row = 0; row < 64; ++row) {
    const std::int64_t thread = row / 16;
    EXPECT_EQ(weights.item<float>({row, 63}), static_cast<float>(thread));
  }
  return core::OkStatus();
}

TEST(ThreadingTest, Handles) { ENGINE_EXPECT_OK(Handles()); }

// [snippet]
// cast_into on `workers` threads. The bytes and the error are those of cast_into.
Status ParallelCastInto(const Tensor& dst, const Tensor& src, int workers) {
  ENGINE_ASSIGN_OR_RETURN(const strided::CopyPlan plan, ops::plan_cast(dst, src));
  std::atomic<bool> fits = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    const std::int64_t begin = plan.num_units() * i / workers;
    const std::int64_t end = plan.num_units() * (i + 1) / workers;
    threads.emplace_back([&plan, &dst, &src, &fits, begin, end] {
      if (!plan.RunUnits(dst.data(), src.data(), begin, end)) fits = false;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return fits ? core::OkStatus() : plan.FirstOffender(src.data());
}
// [/snippet]

TEST(ThreadingTest, ParallelCastInto) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor src, Tensor::empty({300, 500}, DataType::kFloat32,
                                                              engine::tensor::Device::Cpu()));
  ENGINE_ASSERT_OK(ops::fill_uniform(src, 1, -100, 100));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, src.transpose(0, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor expected, ops::cast(turned, DataType::kInt8));
  for (const int workers : {1, 3, 7}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor dst, ops::zeros({500, 300}, DataType::kInt8));
    ENGINE_ASSERT_OK(ParallelCastInto(dst, turned, workers));
    ENGINE_ASSERT_OK_AND_ASSIGN(const ops::AllCloseResult result, ops::allclose(dst, expected));
    EXPECT_TRUE(result.close) << result.Summary();
  }
  ENGINE_ASSERT_OK(ops::fill(*src.slice(0, 7, 8), 1000));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor dst, ops::zeros({500, 300}, DataType::kInt8));
  EXPECT_EQ(ParallelCastInto(dst, turned, 5), ops::cast_into(dst, turned));
}

}  // namespace
