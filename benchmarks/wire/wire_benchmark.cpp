// Encoding, decoding and dequantising messages. Encoding and dequantising run against memcpy of the
// same bytes in the same rounds: the counter `vs_memcpy` is the median of memcpy time over ours,
// for encoding of the payload copied, for dequantising of the bytes read plus written, halved.
// Decoding copies no payload, so its time must not depend on the size.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"
#include "memory/buffer.h"
#include "strided/dequantize.h"
#include "strided/target.h"
#include "wire/tensor_message.h"

namespace engine::wire {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

// An owned message of `bytes` uint8 elements whose pages have been touched.
TensorMessage MakeMessage(std::int64_t bytes) {
  TensorMessage message;
  message.set_dtype(TensorMessage::kUint8);
  const auto extent = static_cast<std::uint32_t>(bytes);
  ENGINE_CHECK(message.set_shape(&extent, 1).ok());
  ENGINE_CHECK(message.create(static_cast<std::size_t>(bytes)).ok());
  std::memset(message.mutable_data(), 7, static_cast<std::size_t>(bytes));
  message.set_quant_scale(0.0235f);
  message.set_quant_zero_point(128);
  return message;
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// Rounds of a memcpy of `copied_bytes` and of `ours`, repeated so that a round is not too short to
// measure.
template <typename Ours>
void RunAgainstMemcpy(benchmark::State& state, std::byte* dst, const std::byte* src,
                      std::int64_t copied_bytes, Ours&& ours) {
  const std::int64_t repeats = std::max<std::int64_t>(1, 16 * kMiB / copied_bytes);
  std::vector<double> ratios;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < repeats; ++i) {
      std::memcpy(dst, src, static_cast<std::size_t>(copied_bytes));
      benchmark::ClobberMemory();
    }
    const double copied = Seconds(start);
    start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < repeats; ++i) {
      ours();
      benchmark::ClobberMemory();
    }
    const double taken = Seconds(start);
    ratios.push_back(copied / taken);
    state.SetIterationTime(taken / static_cast<double>(repeats));
  }
  const auto median = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), median, ratios.end());
  state.counters["vs_memcpy"] = *median;
}

// Both copies go from the same source to the same place.
void BM_Encode(benchmark::State& state) {
  const TensorMessage message = MakeMessage(state.range(0));
  memory::Buffer buffer;
  ENGINE_CHECK((message >> buffer).ok());
  auto* const out = static_cast<std::uint8_t*>(buffer.data());
  RunAgainstMemcpy(state, reinterpret_cast<std::byte*>(out + kPayloadOffset),
                   reinterpret_cast<const std::byte*>(message.data()), state.range(0),
                   [&] { ENGINE_CHECK(message.Encode(std::span(out, buffer.size_bytes())).ok()); });
}
BENCHMARK(BM_Encode)
    ->Arg(4 * kKiB)
    ->Arg(64 * kKiB)
    ->Arg(kMiB)
    ->Arg(16 * kMiB)
    ->UseManualTime()
    ->Iterations(61);

void BM_DecodeBorrowed(benchmark::State& state) {
  const memory::Buffer buffer = *MakeMessage(state.range(0)).EncodeToBuffer();
  const std::span bytes(static_cast<const std::uint8_t*>(buffer.data()), buffer.size_bytes());
  TensorMessage message;
  for (auto _ : state) {
    ENGINE_CHECK(message.Decode(bytes).ok());
    benchmark::DoNotOptimize(message);
  }
}
BENCHMARK(BM_DecodeBorrowed)->Arg(kKiB)->Arg(16 * kMiB);

// What a receiver does with a buffer of its transport.
void BM_DecodeShared(benchmark::State& state, bool as_tensor) {
  const auto buffer =
      std::make_shared<memory::Buffer>(*MakeMessage(state.range(0)).EncodeToBuffer());
  TensorMessage message;
  for (auto _ : state) {
    ENGINE_CHECK(message.Decode(buffer).ok());
    if (as_tensor) {
      auto tensor = message.ToTensor();
      ENGINE_CHECK(tensor.ok());
      benchmark::DoNotOptimize(tensor);
    }
    benchmark::DoNotOptimize(message);
  }
}
BENCHMARK_CAPTURE(BM_DecodeShared, message, false)->Arg(kKiB)->Arg(16 * kMiB);
BENCHMARK_CAPTURE(BM_DecodeShared, message_and_tensor, true)->Arg(kKiB)->Arg(16 * kMiB);

void BM_Dequantize(benchmark::State& state) {
  const TensorMessage message = MakeMessage(state.range(0));
  const tensor::Shape shape{state.range(0)};
  const std::int64_t copied_bytes = state.range(0) * 5 / 2;
  std::vector<std::byte> dst(static_cast<std::size_t>(4 * state.range(0)), std::byte{1});
  const std::vector<std::byte> src(static_cast<std::size_t>(copied_bytes), std::byte{1});
  RunAgainstMemcpy(state, dst.data(), src.data(), copied_bytes, [&] {
    strided::Dequantize(dst.data(), message.data(), shape, {1}, tensor::DataType::kUInt8,
                        {message.quant_scale(), message.quant_zero_point()});
  });
}
BENCHMARK(BM_Dequantize)
    ->Arg(50 * kKiB)
    ->Arg(kMiB)
    ->Arg(16 * kMiB)
    ->UseManualTime()
    ->Iterations(61);

}  // namespace
}  // namespace engine::wire

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("target", std::string(engine::strided::ActiveTarget()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
