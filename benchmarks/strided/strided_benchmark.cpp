// A ready plan into warmed buffers, against memcpy of the same number of bytes (read plus written)
// in the same rounds: the counter `vs_memcpy` is the median of memcpy time over ours. Absolute
// times drift on shared machines; the ratios hold. Cases are named after their layouts, sizes after
// the cache they fit.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/check.h"
#include "strided/copy_plan.h"
#include "strided/target.h"
#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/shape.h"

namespace {

using engine::strided::CopyPlan;
using engine::tensor::DataType;
using engine::tensor::DimVector;
using engine::tensor::Shape;
using engine::tensor::Strides;

struct Case {
  std::string name;
  DataType dst;
  DataType src;
  DimVector dims;       // of the destination, which is dense
  Strides src_strides;  // elements
};

// A dense source of these extents; destination axis i is source axis axes[i].
Case Permuted(std::string name, DataType dst, DataType src, const DimVector& source,
              const std::vector<int>& axes) {
  const Strides strides = engine::tensor::RowMajorStrides(*Shape::FromDims(source.values()));
  Case result{std::move(name), dst, src, {}, {}};
  for (const int axis : axes) {
    result.dims.push_back(source[axis]);
    result.src_strides.push_back(strides[axis]);
  }
  return result;
}

struct Size {
  const char* name;
  std::int64_t total_bytes;
  std::array<std::int64_t, 4> squares;  // sides of u8, f16, f32 and f64 matrices of about that size
};
constexpr std::array<Size, 3> kSizes = {
    {{"L2", std::int64_t{256} << 10, {360, 248, 180, 120}},
     {"L3", std::int64_t{8} << 20, {2000, 1448, 1000, 720}},
     {"DRAM", std::int64_t{256} << 20, {11576, 8000, 5792, 4000}}}};

void AddCopies(const Size& size, std::vector<Case>& cases) {
  const std::string at = std::string("/") + size.name;
  const DataType f32 = DataType::kFloat32;
  const std::int64_t n = size.total_bytes / 8;
  cases.push_back({"copy_contig_f32" + at, f32, f32, {n}, {1}});
  cases.push_back({"copy_rows_f32_C64" + at, f32, f32, {n / 64, 64}, {128, 1}});
  cases.push_back({"copy_rows_f32_C1024" + at, f32, f32, {n / 1024, 1024}, {2048, 1}});
  cases.push_back({"copy_stride2_f32" + at, f32, f32, {n}, {2}});
  cases.push_back({"copy_stride3_f32" + at, f32, f32, {n / 3 * 3}, {3}});
}

void AddTransposes(const Size& size, std::vector<Case>& cases) {
  const std::string at = std::string("/") + size.name;
  const bool small = size.total_bytes < (1 << 20);
  const bool large = size.total_bytes > (64 << 20);
  const DataType f32 = DataType::kFloat32;
  const DataType f16 = DataType::kFloat16;
  const std::int64_t n = size.total_bytes / 8;
  const auto matrix = [&](const char* name, DataType dtype, std::int64_t rows, std::int64_t cols) {
    cases.push_back(Permuted(name + at, dtype, dtype, {rows, cols}, {1, 0}));
  };
  matrix("transpose2d_u8", DataType::kUInt8, size.squares[0], size.squares[0]);
  matrix("transpose2d_f16", f16, size.squares[1], size.squares[1]);
  matrix("transpose2d_f32_NxN", f32, size.squares[2], size.squares[2]);
  matrix("transpose2d_f64", DataType::kFloat64, size.squares[3], size.squares[3]);
  matrix("transpose2d_f32_128xN", f32, 128, n / 128);
  matrix("transpose2d_f32_Nx128", f32, n / 128, 128);
  if (!small) matrix("transpose2d_f32_pow2", f32, large ? 4096 : 1024, large ? 4096 : 1024);
  const std::int64_t batch = small ? 1 : large ? 160 : 8;
  const std::int64_t channels = small ? 32 : 64;
  const std::int64_t side = small ? 32 : 56;
  cases.push_back(Permuted("permute_nchw_to_nhwc_f32" + at, f32, f32, {batch, channels, side, side},
                           {0, 2, 3, 1}));
  cases.push_back(Permuted("permute_nhwc_to_nchw_f32" + at, f32, f32, {batch, side, side, channels},
                           {0, 3, 1, 2}));
  cases.push_back(Permuted("permute_bshd_to_bhsd_f16" + at, f16, f16,
                           {1,
                            small   ? 16
                            : large ? 16384
                                    : 512,
                            32, 128},
                           {0, 2, 1, 3}));
  cases.push_back(Permuted("permute_reverse4d_f32" + at, f32, f32,
                           small   ? DimVector{12, 16, 14, 12}
                           : large ? DimVector{64, 80, 80, 80}
                                   : DimVector{32, 48, 40, 36},
                           {3, 2, 1, 0}));
  const auto cast_side =
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(size.total_bytes) / 6) / 8) * 8;
  cases.push_back(
      Permuted("cast_transposed_f32_f16" + at, f16, f32, {cast_side, cast_side}, {1, 0}));
}

void AddCasts(const Size& size, std::vector<Case>& cases) {
  using enum DataType;
  constexpr std::array<std::array<DataType, 2>, 14> kPairs = {{{kFloat32, kFloat16},
                                                               {kFloat16, kFloat32},
                                                               {kFloat32, kBFloat16},
                                                               {kBFloat16, kFloat32},
                                                               {kFloat32, kInt8},
                                                               {kInt8, kFloat32},
                                                               {kUInt8, kFloat32},
                                                               {kInt32, kFloat32},
                                                               {kFloat32, kInt32},
                                                               {kInt64, kInt32},
                                                               {kInt32, kInt64},
                                                               {kFloat16, kBFloat16},
                                                               {kFloat64, kFloat32},
                                                               {kFloat32, kFloat64}}};
  for (const auto& [src, dst] : kPairs) {
    const std::int64_t n = size.total_bytes /
                           (engine::tensor::itemsize(src) + engine::tensor::itemsize(dst)) / 64 *
                           64;
    cases.push_back({fmt::format("cast_{}_{}/{}", src, dst, size.name), dst, src, {n}, {1}});
  }
}

// Values that every dtype holds, as elements of `dtype`.
std::vector<std::byte> Source(DataType dtype, std::int64_t elements) {
  std::vector<std::int8_t> small(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<std::int8_t>(i * 7 % 125);
  std::vector<std::byte> bytes(small.size() *
                               static_cast<std::size_t>(engine::tensor::itemsize(dtype)));
  const CopyPlan fill = CopyPlan::Make({elements}, dtype, {1}, DataType::kInt8, {1});
  ENGINE_CHECK(fill.Run(bytes.data(), small.data()));
  return bytes;
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

void Run(benchmark::State& state, const Case& layout) {
  const Shape shape = *Shape::FromDims(layout.dims.values());
  const CopyPlan plan = CopyPlan::Make(shape, layout.dst, engine::tensor::RowMajorStrides(shape),
                                       layout.src, layout.src_strides);
  std::int64_t window = 1;
  for (int i = 0; i < shape.rank(); ++i) window += (shape.dim(i) - 1) * layout.src_strides[i];
  const std::int64_t dst_bytes = shape.numel() * engine::tensor::itemsize(layout.dst);
  const std::int64_t total_bytes = dst_bytes + shape.numel() * engine::tensor::itemsize(layout.src);
  const auto half = static_cast<std::size_t>(total_bytes / 2);
  std::vector<std::byte> src = Source(layout.src, window);
  src.resize(std::max(src.size(), half));
  std::vector<std::byte> dst(std::max(static_cast<std::size_t>(dst_bytes), half));
  // Rounds of about a tenth of a millisecond, each a memcpy part and a part of ours.
  const auto repeats = std::max<std::int64_t>(1, (std::int64_t{16} << 20) / total_bytes);
  std::vector<double> ratios;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < repeats; ++i) {
      std::memcpy(dst.data(), src.data(), half);
      benchmark::ClobberMemory();
    }
    const double copied = Seconds(start);
    start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < repeats; ++i) {
      ENGINE_CHECK(plan.Run(dst.data(), src.data()));
      benchmark::ClobberMemory();
    }
    const double ours = Seconds(start);
    ratios.push_back(copied / ours);
    state.SetIterationTime(ours / static_cast<double>(repeats));
  }
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2),
                   ratios.end());
  state.counters["vs_memcpy"] = ratios[ratios.size() / 2];
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * total_bytes);
}

// A copy of 4 x 4 floats out of a wider matrix: the cost of a call, with and without planning.
void TinyCopy(benchmark::State& state, bool planned) {
  namespace ops = engine::tensor::ops;
  const auto wide = *ops::zeros({4, 8}, DataType::kFloat32);
  const auto src = *wide.slice(1, 0, 4);
  const auto dst = *ops::zeros({4, 4}, DataType::kFloat32);
  const CopyPlan plan = *ops::plan_copy(dst, src);
  for (auto _ : state) {
    if (planned) {
      benchmark::DoNotOptimize(plan.Run(dst.data(), src.data()));
    } else {
      benchmark::DoNotOptimize(ops::copy(dst, src).ok());
    }
    benchmark::ClobberMemory();
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("target", std::string(engine::strided::ActiveTarget()));
  std::vector<Case> cases;
  for (const Size& size : kSizes) {
    AddCopies(size, cases);
    AddTransposes(size, cases);
    AddCasts(size, cases);
  }
  for (const Case& layout : cases) {
    benchmark::RegisterBenchmark(layout.name.c_str(),
                                 [&layout](benchmark::State& state) { Run(state, layout); })
        ->UseManualTime()
        ->Iterations(31);
  }
  benchmark::RegisterBenchmark("tiny_4x4/ops_copy",
                               [](benchmark::State& state) { TinyCopy(state, false); });
  benchmark::RegisterBenchmark("tiny_4x4/plan",
                               [](benchmark::State& state) { TinyCopy(state, true); });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
