// The cost of handles and views: no element is touched.
//
// Reference counts are plain integers in libstdc++ until the process has had a second thread, and
// atomic ever after, so every benchmark runs twice: first as `single_threaded/...`, then, after a
// thread has come and gone, as `threaded/...`. The order is that of registration; a run that does
// not start single-threaded reports an error instead of a wrong figure.
#include <benchmark/benchmark.h>
#include <sys/single_threaded.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/check.h"
#include "harness/machine.h"
#include "tensor/tensor.h"

namespace engine::tensor {
namespace {

// A key cache as an engine holds it: [layers, heads, positions, head size].
const Shape kShape = {4, 8, 128, 64};

Tensor MakeTensor() {
  core::StatusOr<Tensor> tensor = Tensor::empty(kShape, DataType::kFloat32, Device::Cpu());
  ENGINE_CHECK(tensor.ok());
  return *std::move(tensor);
}

// Times one call of `operation` on a key cache; its result is destroyed within the timing.
template <typename Operation>
void RunOne(benchmark::State& state, bool threaded, Operation operation) {
  if (threaded) {
    std::thread([] {}).join();
  } else if (__libc_single_threaded == 0) {
    state.SkipWithError("the process has had a second thread already");
    return;
  }
  const Tensor tensor = MakeTensor();
  for (auto _ : state) {
    auto result = operation(tensor);
    benchmark::DoNotOptimize(result);
  }
  state.counters["sizeof"] = static_cast<double>(sizeof(Tensor));
}

template <typename Operation>
void Register(const std::string& name, bool threaded, Operation operation) {
  const std::string prefix = threaded ? "threaded/" : "single_threaded/";
  benchmark::RegisterBenchmark((prefix + name).c_str(), [=](benchmark::State& state) {
    RunOne(state, threaded, operation);
  });
}

void RegisterAll(bool threaded) {
  Register("BM_HandleCopy", threaded, [](const Tensor& t) { return Tensor(t); });
  // A copy, so that there is something to move, and two moves.
  Register("BM_HandleCopyAndTwoMoves", threaded, [](const Tensor& t) {
    Tensor copy(t);
    benchmark::DoNotOptimize(copy);
    Tensor moved(std::move(copy));
    benchmark::DoNotOptimize(moved);
    return Tensor(std::move(moved));
  });
  Register("BM_Slice", threaded, [](const Tensor& t) { return t.slice(2, 16, 96); });
  Register("BM_Select", threaded, [](const Tensor& t) { return t.select(0, 3); });
  Register("BM_StridedSlice", threaded, [](const Tensor& t) {
    return t.strided_slice({{0, 4, 2}, {1, 8}, {0, 128, 3}, {0, 64}});
  });
  Register("BM_Permute", threaded, [](const Tensor& t) { return t.permute({0, 2, 1, 3}); });
  Register("BM_Transpose", threaded, [](const Tensor& t) { return t.transpose(1, 2); });
  Register("BM_Unsqueeze", threaded, [](const Tensor& t) { return t.unsqueeze(1); });
  Register("BM_Reshape", threaded,
           [shape = Shape{32, 8192}](const Tensor& t) { return t.reshape(shape); });
  Register("BM_ViewAsDtype", threaded,
           [](const Tensor& t) { return t.view_as_dtype(DataType::kInt32); });
  Register("BM_Item", threaded, [](const Tensor& t) { return t.item<float>({3, 7, 100, 5}); });
}

}  // namespace
}  // namespace engine::tensor

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  // As the programs that compare do; where that is not allowed the scheduler chooses.
  (void)engine::benchmarks::PinTo(-1);
  engine::tensor::RegisterAll(/*threaded=*/false);
  engine::tensor::RegisterAll(/*threaded=*/true);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
