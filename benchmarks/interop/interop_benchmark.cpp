// Opening and writing a checkpoint of 1 GiB, and what a DLPack round trip costs.
//
// Files go to a folder of their own below ENGINE_BENCHMARK_DIR (default: the system's temporary
// folder), which needs 2 GiB; give it one on a tmpfs to see the writer rather than the disk.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "interop/dlpack.h"
#include "interop/npy.h"
#include "interop/safetensors.h"
#include "tensor/ops.h"

namespace engine {
namespace {

using safetensors::NamedTensor;
using tensor::DataType;
using tensor::Tensor;

constexpr std::int64_t kTensors = 256;
constexpr std::int64_t kRows = 1024;
constexpr std::int64_t kCols = 1024;  // float32: 4 MiB a tensor, 1 GiB in all
constexpr std::int64_t kTotalBytes = kTensors * kRows * kCols * 4;

// A folder that disappears when the program ends.
class Folder {
 public:
  Folder() {
    const char* const given = std::getenv("ENGINE_BENCHMARK_DIR");
    const std::filesystem::path parent =
        given != nullptr ? given : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "engine_benchmark_XXXXXX").string();
    ENGINE_CHECK(mkdtemp(pattern.data()) != nullptr, "no folder {}", pattern);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string File(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

const Folder& TheFolder() {
  static const Folder folder;
  return folder;
}

Tensor OneTensor() {
  core::StatusOr<Tensor> tensor = tensor::ops::full({kRows, kCols}, 1.5, DataType::kFloat32);
  ENGINE_CHECK(tensor.ok());
  return *std::move(tensor);
}

// All share the storage of one, so that memory traffic does not hide the writer.
std::vector<NamedTensor> Checkpoint(const Tensor& tensor) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(kTensors);
  for (std::int64_t i = 0; i < kTensors; ++i) {
    tensors.push_back({fmt::format("model.layers.{}.weight", i), tensor});
  }
  return tensors;
}

std::int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void BM_OpenSafetensors(benchmark::State& state) {
  const std::string path = TheFolder().File("open.safetensors");
  ENGINE_CHECK(safetensors::Save(path, Checkpoint(OneTensor())).ok());
  std::int64_t grown = 0;
  for (auto _ : state) {
    const std::int64_t before = ResidentBytes();
    const core::StatusOr<safetensors::File> file = safetensors::File::Open(path);
    ENGINE_CHECK(file.ok());
    benchmark::DoNotOptimize(file->tensors().data());
    grown = std::max(grown, ResidentBytes() - before);
  }
  state.counters["resident_growth_bytes"] = static_cast<double>(grown);
  std::filesystem::remove(path);
}
BENCHMARK(BM_OpenSafetensors)->Unit(benchmark::kMicrosecond);

void BM_LoadNpy(benchmark::State& state) {
  const std::string path = TheFolder().File("load.npy");
  ENGINE_CHECK(npy::Save(path, OneTensor()).ok());
  for (auto _ : state) {
    const core::StatusOr<Tensor> tensor = npy::Load(path);
    ENGINE_CHECK(tensor.ok());
    benchmark::DoNotOptimize(tensor->data());
  }
}
BENCHMARK(BM_LoadNpy)->Unit(benchmark::kMicrosecond);

// The yardstick: the same bytes by write(2), one tensor a call, made durable the same way.
void WritePlainly(const std::string& path, const Tensor& tensor) {
  const std::string temporary = path + ".tmp";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  ENGINE_CHECK(file >= 0);
  for (std::int64_t i = 0; i < kTensors; ++i) {
    const auto* next = static_cast<const std::byte*>(tensor.data());
    for (std::size_t left = tensor.nbytes(); left > 0;) {
      const ssize_t written = write(file, next, left);
      ENGINE_CHECK(written > 0);
      next += written;
      left -= static_cast<std::size_t>(written);
    }
  }
  ENGINE_CHECK(fsync(file) == 0 && close(file) == 0);
  ENGINE_CHECK(std::rename(temporary.c_str(), path.c_str()) == 0);
}

enum class Writer : std::int64_t { kPlain, kSafetensors, kTransposed };

void BM_Write(benchmark::State& state, Writer writer) {
  const std::string path = TheFolder().File("write.bin");
  Tensor tensor = OneTensor();
  if (writer == Writer::kTransposed) tensor = *tensor.transpose(0, 1);
  const std::vector<NamedTensor> tensors = Checkpoint(tensor);
  for (auto _ : state) {
    if (writer == Writer::kPlain) {
      WritePlainly(path, tensor);
    } else {
      ENGINE_CHECK(safetensors::Save(path, tensors).ok());
    }
    state.PauseTiming();
    std::filesystem::remove(path);
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kTotalBytes);
}
// Repetitions of few iterations, so that the writers alternate and the disk's moods even out.
BENCHMARK_CAPTURE(BM_Write, plain_write, Writer::kPlain)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Write, safetensors, Writer::kSafetensors)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Write, safetensors_transposed, Writer::kTransposed)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void BM_DLPackRoundTrip(benchmark::State& state) {
  const Tensor tensor = OneTensor();
  for (auto _ : state) {
    core::StatusOr<dlpack::VersionedHandle> handle = dlpack::Export(tensor);
    const core::StatusOr<Tensor> back = dlpack::Import(*std::move(handle));
    benchmark::DoNotOptimize(back->data());
  }
}
BENCHMARK(BM_DLPackRoundTrip)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace engine

BENCHMARK_MAIN();
