// Compiled with -ffp-contract=off: low + u * (high - low) and mean + stddev * z fused into one
// rounding give other bits, and which compiler and target fuse is not ours to choose.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"
#include "strided/layout.h"
#include "tensor/internal/box_muller.h"
#include "tensor/internal/ops_common.h"
#include "tensor/ops.h"

namespace engine::tensor::ops {
namespace {

core::Status RequireRandomTarget(const char* operation, const Tensor& tensor) {
  internal::CheckOnCpu(operation, tensor);
  ENGINE_RETURN_IF_ERROR(internal::RequireWritable(operation, tensor));
  if (is_floating_point(tensor.dtype())) return core::OkStatus();
  return core::InvalidArgumentError("{}: the dtype is {}, expected a floating one", operation,
                                    tensor.dtype());
}

// Stores next() to every element in row-major order, narrowed to T.
template <typename T, typename Next>
void Generate(const Tensor& tensor, Next& next) {
  constexpr auto kItemBytes = static_cast<std::int64_t>(sizeof(T));
  auto* const base = static_cast<std::byte*>(tensor.data());
  strided::ForEachRow<1>(
      tensor.shape(), {&tensor.strides()},
      [&](const auto& offsets, const auto& inner, std::int64_t count, std::int64_t /*first*/) {
        std::byte* const row = base + offsets[0] * kItemBytes;
        for (std::int64_t i = 0; i < count; ++i) {
          strided::StoreElement(row + i * inner[0] * kItemBytes,
                                strided::NarrowFromDouble<T>(next()));
        }
        return true;
      });
}

template <typename Next>
void GenerateElements(const Tensor& tensor, Next next) {
  strided::VisitDType(
      tensor.dtype(),
      [&]<typename T>(strided::TypeTag<T>) {
        if constexpr (strided::kIsFloating<T>) Generate<T>(tensor, next);
      },
      [](DataType) {});
}

// The two below are out of line, so that their arithmetic stays inside the caller's floating-point
// scope; comparing the arguments is arithmetic too (subnormals under DAZ).
[[gnu::noinline]] core::Status FillUniform(const Tensor& tensor, std::uint64_t seed, double low,
                                           double high) {
  const double extent = high - low;
  // An infinite bound makes the extent infinite or NaN.
  if (!std::isfinite(extent) || low > high) {
    return core::InvalidArgumentError(
        "fill_uniform: [{}, {}) is not a range of finite bounds, low <= high, and finite extent",
        low, high);
  }
  std::mt19937_64 engine(seed);
  GenerateElements(tensor, [&] { return low + internal::UnitUniform(engine) * extent; });
  return core::OkStatus();
}

[[gnu::noinline]] core::Status FillNormal(const Tensor& tensor, std::uint64_t seed, double mean,
                                          double stddev) {
  if (!std::isfinite(mean) || !std::isfinite(stddev) || stddev < 0) {
    return core::InvalidArgumentError(
        "fill_normal: mean {} and stddev {}, expected finite values and stddev >= 0", mean, stddev);
  }
  std::mt19937_64 engine(seed);
  internal::BoxMuller normal(engine);
  GenerateElements(tensor, [&] { return mean + stddev * normal.Next(); });
  return core::OkStatus();
}

}  // namespace

core::Status fill_uniform(const Tensor& tensor, std::uint64_t seed, double low, double high) {
  ENGINE_RETURN_IF_ERROR(RequireRandomTarget("fill_uniform", tensor));
  const strided::ScopedDefaultFpEnvironment environment;
  return FillUniform(tensor, seed, low, high);
}

core::Status fill_normal(const Tensor& tensor, std::uint64_t seed, double mean, double stddev) {
  ENGINE_RETURN_IF_ERROR(RequireRandomTarget("fill_normal", tensor));
  const strided::ScopedDefaultFpEnvironment environment;
  return FillNormal(tensor, seed, mean, stddev);
}

}  // namespace engine::tensor::ops
