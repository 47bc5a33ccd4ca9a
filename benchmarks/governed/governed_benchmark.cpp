// What governance costs: an element by Get and Set beside a raw access, Materialize beside ops::copy
// into memory of the same kind, and the operations on handles.
//
// The latter run twice, as in tensor_benchmark: first as `single_threaded/...`, then, after a thread
// has come and gone, as `threaded/...`. The count is atomic in both.
#include <benchmark/benchmark.h>
#include <sys/single_threaded.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/check.h"
#include "governed/governed_tensor.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace engine::governed {
namespace {

using tensor::DataType;
using tensor::Device;
using tensor::Tensor;
using Governed = GovernedTensor<float>;

Governed MakeTensor(std::initializer_list<std::int64_t> dims) {
  core::StatusOr<Governed> made = Governed::Alloc(dims);
  ENGINE_CHECK(made.ok());
  return *std::move(made);
}

// --- One element ---

constexpr std::int64_t kSide = 64;  // 16 KiB, within L1

// Calls access(row, column) for every element of a kSide x kSide matrix.
template <typename Access>
void ForEachElement(benchmark::State& state, Access access) {
  for (auto _ : state) {
    for (std::int64_t row = 0; row < kSide; ++row) {
      for (std::int64_t column = 0; column < kSide; ++column) access(row, column);
    }
  }
  state.counters["per_element"] = benchmark::Counter(
      static_cast<double>(kSide * kSide),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_Get(benchmark::State& state) {
  const Governed t = MakeTensor({kSide, kSide});
  ForEachElement(state, [&](std::int64_t row, std::int64_t column) {
    const core::StatusOr<float> value = t.Get({row, column});
    benchmark::DoNotOptimize(*value);
  });
}
BENCHMARK(BM_Get);

void BM_RawRead(benchmark::State& state) {
  const Governed t = MakeTensor({kSide, kSide});
  const float* const data = t.data();
  ForEachElement(state, [&](std::int64_t row, std::int64_t column) {
    benchmark::DoNotOptimize(data[row * kSide + column]);
  });
}
BENCHMARK(BM_RawRead);

void BM_Set(benchmark::State& state) {
  Governed t = MakeTensor({kSide, kSide});
  ForEachElement(state, [&](std::int64_t row, std::int64_t column) {
    benchmark::DoNotOptimize(t.Set({row, column}, 1.0f).ok());
    benchmark::ClobberMemory();
  });
}
BENCHMARK(BM_Set);

void BM_RawWrite(benchmark::State& state) {
  Governed t = MakeTensor({kSide, kSide});
  float* const data = *t.mutable_data();
  ForEachElement(state, [&](std::int64_t row, std::int64_t column) {
    data[row * kSide + column] = 1.0f;
    benchmark::ClobberMemory();
  });
}
BENCHMARK(BM_RawWrite);

// The clone of a shared [8, 8].
void BM_SetShared(benchmark::State& state) {
  const Governed t = MakeTensor({8, 8});
  for (auto _ : state) {
    Governed sibling = t;
    benchmark::DoNotOptimize(sibling.Set({3, 4}, 1.0f).ok());
  }
}
BENCHMARK(BM_SetShared);

// --- Materialize ---

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// Materialize against Tensor::empty and ops::copy, which allocate and copy as much, in the same
// rounds; both give the memory back. The counter `vs_copy` is the median of the latter's time over
// ours. Absolute times drift on shared machines; the ratio holds.
void Materialize(benchmark::State& state, std::int64_t side, bool turned) {
  Governed shared = MakeTensor({side, side});
  const tensor::Shape shape = shared.shape();
  if (turned) ENGINE_CHECK(shared.Transpose({1, 0}).ok());
  const Tensor source = *shared.AsTensor();
  // In batches of siblings that stay within the first cache, made outside the timing.
  std::array<Governed, 32> siblings;
  const auto batches =
      std::max<std::int64_t>(1, (std::int64_t{1} << 21) / (side * side) / std::ssize(siblings));
  std::vector<double> ratios;
  for (auto _ : state) {
    double copied = 0;
    double ours = 0;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      siblings.fill(shared);
      auto start = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < siblings.size(); ++i) {
        const Tensor copy = *Tensor::empty(shape, DataType::kFloat32, Device::Cpu());
        ENGINE_CHECK(tensor::ops::copy(copy, source).ok());
        benchmark::ClobberMemory();
      }
      copied += Seconds(start);
      start = std::chrono::steady_clock::now();
      for (Governed& sibling : siblings) {
        ENGINE_CHECK(sibling.Materialize().ok());
        benchmark::ClobberMemory();
        sibling.Free();
      }
      ours += Seconds(start);
    }
    ratios.push_back(copied / ours);
    state.SetIterationTime(ours / static_cast<double>(batches * std::ssize(siblings)));
  }
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2),
                   ratios.end());
  state.counters["vs_copy"] = ratios[ratios.size() / 2];
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * side * side * 2 *
                          static_cast<std::int64_t>(sizeof(float)));
}

void RegisterMaterialize() {
  for (const std::int64_t side : {16, 64, 180, 1000, 2048}) {
    for (const bool turned : {false, true}) {
      const std::string name =
          "BM_Materialize/" + std::string(turned ? "turned/" : "shared/") + std::to_string(side);
      benchmark::RegisterBenchmark(
          name.c_str(), [=](benchmark::State& state) { Materialize(state, side, turned); })
          ->UseManualTime()
          ->Iterations(51);
    }
  }
}

// --- Handles ---

// Times one call of `operation` on a key cache [layers, heads, positions, head size]; its result is
// destroyed within the timing.
template <typename Operation>
void RunOne(benchmark::State& state, bool threaded, Operation operation) {
  if (threaded) {
    std::thread([] {}).join();
  } else if (__libc_single_threaded == 0) {
    state.SkipWithError("the process has had a second thread already");
    return;
  }
  Governed t = MakeTensor({4, 8, 128, 64});
  for (auto _ : state) {
    auto result = operation(t);
    benchmark::DoNotOptimize(result);
  }
  state.counters["sizeof"] = static_cast<double>(sizeof(Governed));
}

template <typename Operation>
void Register(const std::string& name, bool threaded, Operation operation) {
  const std::string prefix = threaded ? "threaded/" : "single_threaded/";
  benchmark::RegisterBenchmark((prefix + name).c_str(), [=](benchmark::State& state) {
    RunOne(state, threaded, operation);
  });
}

void RegisterHandles(bool threaded) {
  Register("BM_HandleCopy", threaded, [](const Governed& t) { return Governed(t); });
  Register("BM_View", threaded, [](const Governed& t) {
    return t.View({{0, 4, 2}, {1, 8}, {0, 128, 3}, {0, 64}});
  });
  Register("BM_Transpose", threaded, [](Governed& t) { return t.Transpose({0, 2, 1, 3}); });
  Register("BM_OwnsStorage", threaded, [](const Governed& t) { return t.owns_storage(); });
  Register("BM_AsTensor", threaded, [](const Governed& t) { return t.AsTensor(); });
}

}  // namespace
}  // namespace engine::governed

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  engine::governed::RegisterMaterialize();
  engine::governed::RegisterHandles(/*threaded=*/false);
  engine::governed::RegisterHandles(/*threaded=*/true);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
