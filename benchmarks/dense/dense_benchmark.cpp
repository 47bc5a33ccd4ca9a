// Construction, materialisation and layout changes, each against the plainest code that gives the
// same result, in the same rounds: the counter `vs_plain` is the median of its time over ours, so
// that 1 is as fast and more is faster. Times are ours. Sizes are the bytes of the result.
//
//   zeros            create and destroy            | allocate, memset, free
//   zeros_warm       the same                      | memset alone, of memory that is there already
//   zeros_written    create, write once, destroy   | the same with memset before
//   uninitialized    create and destroy            | zeros
//   full, eye        make_tensor and destroy       | allocate, write the values, free
//   full_ops         the same                      | ops::full
//   full_into        copy(full) into storage       | memset of the same bytes
//   full_into_ops    the same                      | ops::fill
//   layout           make_tensor<ColumnMajor>      | allocate, CopyPlan::RunOnce, free
//   layout_into      copy between layouts          | CopyPlan::RunOnce
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "dense/dense_tensor.h"
#include "dense/generated.h"
#include "dense/operations.h"
#include "memory/allocator.h"
#include "strided/copy_plan.h"
#include "strided/target.h"
#include "tensor/ops.h"

namespace {

using engine::dense::ColumnMajor;
using engine::dense::copy;
using engine::dense::DenseMatrix;
using engine::dense::DenseVector;
using engine::dense::eye;
using engine::dense::full;
using engine::dense::make_tensor;
using engine::dense::uninitialized;
using engine::memory::Buffer;
using engine::strided::CopyPlan;
using engine::tensor::DataType;

struct Size {
  const char* name;
  std::size_t bytes;
};
constexpr Size kSizes[] = {{"1KiB", 1 << 10}, {"16KiB", 16 << 10}, {"256KiB", 256 << 10},
                           {"4MiB", 4 << 20}, {"64MiB", 64 << 20}, {"256MiB", 256 << 20}};

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// Seconds per call.
double Timed(const std::function<void()>& call, std::size_t repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < repeats; ++i) call();
  return Seconds(start) / static_cast<double>(repeats);
}

// Rounds of a part of each, that goes first by turns; long enough to time, few where a call takes
// long.
void Compare(benchmark::State& state, std::size_t bytes, const std::function<void()>& ours,
             const std::function<void()>& plain) {
  const std::size_t repeats = std::clamp<std::size_t>((std::size_t{4} << 20) / bytes, 1, 500);
  std::vector<double> ratios;
  ours();
  plain();
  for (auto _ : state) {
    const bool ours_first = ratios.size() % 2 == 0;
    double our_seconds = ours_first ? Timed(ours, repeats) : 0;
    const double plain_seconds = Timed(plain, repeats);
    if (!ours_first) our_seconds = Timed(ours, repeats);
    ratios.push_back(plain_seconds / our_seconds);
    state.SetIterationTime(our_seconds);
  }
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2),
                   ratios.end());
  state.counters["vs_plain"] = ratios[ratios.size() / 2];
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

Buffer Allocated(std::size_t bytes) {
  auto buffer = engine::memory::DefaultCpuAllocator()->Allocate(bytes, 64);
  ENGINE_CHECK(buffer.ok());
  return *std::move(buffer);
}

template <typename T>
void Keep(T* data) {
  benchmark::DoNotOptimize(data);
  benchmark::ClobberMemory();
}

void AllocateAndSet(std::size_t bytes) {
  const Buffer buffer = Allocated(bytes);
  std::memset(buffer.data(), 0, bytes);
  Keep(buffer.data());
}

void Zeros(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  Compare(
      state, bytes, [n] { Keep(DenseVector<float>(n).data()); },
      [bytes] { AllocateAndSet(bytes); });
}

void ZerosWarm(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  const Buffer warm = Allocated(bytes);
  Compare(
      state, bytes, [n] { Keep(DenseVector<float>(n).data()); },
      [&] {
        std::memset(warm.data(), 0, bytes);
        Keep(warm.data());
      });
}

void ZerosWritten(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  Compare(
      state, bytes,
      [&] {
        DenseVector<float> vector(n);
        std::memset(vector.data(), 1, bytes);
        Keep(vector.data());
      },
      [&] {
        const Buffer buffer = Allocated(bytes);
        std::memset(buffer.data(), 0, bytes);
        Keep(buffer.data());
        std::memset(buffer.data(), 1, bytes);
        Keep(buffer.data());
      });
}

void UninitializedStorage(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  Compare(
      state, bytes, [n] { Keep(DenseVector<float>(uninitialized, n).data()); },
      [n] { Keep(DenseVector<float>(n).data()); });
}

void Full(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  Compare(
      state, bytes, [n] { Keep(make_tensor(full(1.5f, n))->data()); },
      [&] {
        const Buffer buffer = Allocated(bytes);
        std::fill_n(static_cast<float*>(buffer.data()), n, 1.5f);
        Keep(buffer.data());
      });
}

void FullOps(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  Compare(
      state, bytes, [n] { Keep(make_tensor(full(1.5f, n))->data()); },
      [n] {
        Keep(engine::tensor::ops::full({n}, 1.5, DataType::kFloat32, engine::tensor::Device::Cpu())
                 ->data());
      });
}

void FullInto(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  DenseVector<float> vector(uninitialized, n);
  Compare(
      state, bytes,
      [&] {
        ENGINE_CHECK(copy(vector, full(1.5f, n)).ok());
        Keep(vector.data());
      },
      [&] {
        std::memset(vector.data(), 1, bytes);
        Keep(vector.data());
      });
}

void FullIntoOps(benchmark::State& state, std::size_t bytes) {
  const auto n = static_cast<std::int64_t>(bytes / sizeof(float));
  DenseVector<float> vector(uninitialized, n);
  const auto tensor = vector.AsTensor();
  ENGINE_CHECK(tensor.ok());
  Compare(
      state, bytes,
      [&] {
        ENGINE_CHECK(copy(vector, full(1.5f, n)).ok());
        Keep(vector.data());
      },
      [&] {
        ENGINE_CHECK(engine::tensor::ops::fill(*tensor, 1.5).ok());
        Keep(vector.data());
      });
}

std::int64_t SideOf(std::size_t bytes) {
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes) / sizeof(float)));
}

void Eye(benchmark::State& state, std::size_t bytes) {
  const std::int64_t side = SideOf(bytes);
  Compare(
      state, bytes, [side] { Keep(make_tensor(eye<float>(side, side))->data()); },
      [&] {
        const Buffer buffer = Allocated(bytes);
        std::memset(buffer.data(), 0, bytes);
        auto* const elements = static_cast<float*>(buffer.data());
        for (std::int64_t i = 0; i < side; ++i) elements[i * (side + 1)] = 1;
        Keep(buffer.data());
      });
}

// A row-major to column-major change, by the strided core.
void ChangeLayout(std::int64_t side, void* dst, const void* src) {
  ENGINE_CHECK(CopyPlan::RunOnce({side, side}, DataType::kFloat32, {1, side}, DataType::kFloat32,
                                 {side, 1}, dst, src));
}

void Layout(benchmark::State& state, std::size_t bytes) {
  const std::int64_t side = SideOf(bytes);
  const DenseMatrix<float> matrix(side, side);
  Compare(
      state, bytes, [&] { Keep(make_tensor<ColumnMajor>(matrix)->data()); },
      [&] {
        const Buffer buffer = Allocated(bytes);
        ChangeLayout(side, buffer.data(), matrix.data());
        Keep(buffer.data());
      });
}

void LayoutInto(benchmark::State& state, std::size_t bytes) {
  const std::int64_t side = SideOf(bytes);
  const DenseMatrix<float> matrix(side, side);
  DenseMatrix<float, ColumnMajor> target(side, side);
  Compare(
      state, bytes,
      [&] {
        ENGINE_CHECK(copy(target, matrix).ok());
        Keep(target.data());
      },
      [&] {
        ChangeLayout(side, target.data(), matrix.data());
        Keep(target.data());
      });
}

struct Case {
  const char* name;
  void (*run)(benchmark::State& state, std::size_t bytes);
};
constexpr Case kCases[] = {{"zeros", Zeros},
                           {"zeros_warm", ZerosWarm},
                           {"zeros_written", ZerosWritten},
                           {"uninitialized", UninitializedStorage},
                           {"full", Full},
                           {"full_ops", FullOps},
                           {"full_into", FullInto},
                           {"full_into_ops", FullIntoOps},
                           {"eye", Eye},
                           {"layout", Layout},
                           {"layout_into", LayoutInto}};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("target", std::string(engine::strided::ActiveTarget()));
  for (const Case& layout : kCases) {
    for (const Size& size : kSizes) {
      benchmark::RegisterBenchmark(
          (std::string(layout.name) + "/" + size.name).c_str(),
          [&layout, &size](benchmark::State& state) { layout.run(state, size.bytes); })
          ->UseManualTime()
          ->Iterations(size.bytes > (std::size_t{16} << 20) ? 5 : 31);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
