#include "analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "strided/layout.h"

namespace inspect_weights {
namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
using engine::tensor::DataType;
using engine::tensor::Device;
using engine::tensor::Tensor;

// 512 KiB of float64: two pieces stay in a second-level cache.
constexpr std::int64_t kPieceElements = 1 << 16;

core::StatusOr<Tensor> Flatten(const Tensor& tensor) { return tensor.reshape({tensor.numel()}); }

// The elements of one piece after another in another dtype, always in the same storage.
class Scratch {
 public:
  explicit Scratch(DataType dtype) : dtype_(dtype) {}

  // Elements [begin, end) of a rank 1 tensor; valid until the next call.
  core::StatusOr<Tensor> Load(const Tensor& flat, std::int64_t begin, std::int64_t end) {
    if (!storage_.defined()) {
      const std::int64_t capacity = std::min(kPieceElements, flat.numel());
      ENGINE_ASSIGN_OR_RETURN(storage_, Tensor::empty({capacity}, dtype_, Device::Cpu()));
    }
    ENGINE_ASSIGN_OR_RETURN(Tensor target, storage_.slice(0, 0, end - begin));
    ENGINE_ASSIGN_OR_RETURN(Tensor piece, flat.slice(0, begin, end));
    if (piece.dtype() == DataType::kBool) {  // not a number, so cast does not take it
      ENGINE_ASSIGN_OR_RETURN(piece, piece.view_as_dtype(DataType::kUInt8));
    }
    ENGINE_RETURN_IF_ERROR(ops::cast_into(target, piece));
    return target;
  }

 private:
  DataType dtype_;
  Tensor storage_;
};

std::span<const double> ValuesOf(const Tensor& float64_piece) {
  return {float64_piece.data_ptr<const double>(), static_cast<std::size_t>(float64_piece.numel())};
}

void Add(double value, Statistics& statistics) {
  if (std::isnan(value)) {
    ++statistics.nan_count;
    return;
  }
  ++statistics.value_count;
  if (std::isinf(value)) ++statistics.infinite_count;
  statistics.min = std::min(statistics.min, value);
  statistics.max = std::max(statistics.max, value);
  statistics.sum += value;
}

// Integers compare exactly, as the source's dtype; everything else as float64, which holds all
// values but integers beyond 2^53.
DataType ComparisonDType(DataType source, DataType converted) {
  return is_integral(source) && is_integral(converted) ? source : DataType::kFloat64;
}

ops::AllCloseTolerance ToleranceOf(DataType source, DataType converted) {
  if (is_integral(converted)) return {.rtol = 0, .atol = is_integral(source) ? 0.0 : 1.0};
  const ops::AllCloseTolerance a = ops::default_allclose_tolerance(source);
  const ops::AllCloseTolerance b = ops::default_allclose_tolerance(converted);
  return a.rtol > b.rtol ? a : b;
}

std::string Example(std::int64_t element, const Tensor& tensor, double source, double converted) {
  return fmt::format("{} (element {}): {} became {}",
                     engine::strided::CoordinatesOf(element, tensor.shape()), element, source,
                     converted);
}

DataType UnsignedOfWidth(int bytes) {
  if (bytes == 1) return DataType::kUInt8;
  if (bytes == 2) return DataType::kUInt16;
  return bytes == 4 ? DataType::kUInt32 : DataType::kUInt64;
}

// What allclose counts as mismatches but is a category of its own here.
struct NonFinite {
  std::int64_t nan_pairs = 0;  // a NaN that stayed one: right
  std::int64_t overflows = 0;
  std::int64_t first_overflow = 0;  // position in the piece
};

NonFinite CountNonFinite(std::span<const double> source, std::span<const double> converted) {
  NonFinite counts;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (std::isnan(source[i]) && std::isnan(converted[i])) ++counts.nan_pairs;
    if (std::isfinite(source[i]) && std::isinf(converted[i])) {
      if (counts.overflows++ == 0) counts.first_overflow = static_cast<std::int64_t>(i);
    }
  }
  return counts;
}

}  // namespace

core::StatusOr<Statistics> ComputeStatistics(const Tensor& tensor, Progress& progress) {
  Statistics statistics;
  Scratch scratch(DataType::kFloat64);
  ENGINE_ASSIGN_OR_RETURN(const Tensor flat, Flatten(tensor));
  const bool is_bool = tensor.dtype() == DataType::kBool;
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kPieceElements) {
    const std::int64_t end = std::min(begin + kPieceElements, flat.numel());
    ENGINE_ASSIGN_OR_RETURN(const Tensor piece, scratch.Load(flat, begin, end));
    for (const double value : ValuesOf(piece)) {
      Add(is_bool && value != 0 ? 1.0 : value, statistics);
    }
    progress.Advance(static_cast<std::uint64_t>((end - begin) * itemsize(tensor.dtype())));
  }
  return statistics;
}

core::StatusOr<CastCheck> CheckCast(const Tensor& source, const Tensor& converted,
                                    Progress& progress) {
  CastCheck check;
  const DataType dtype = ComparisonDType(source.dtype(), converted.dtype());
  check.tolerance = ToleranceOf(source.dtype(), converted.dtype());
  Scratch source_scratch(dtype);
  Scratch converted_scratch(dtype);
  ENGINE_ASSIGN_OR_RETURN(const Tensor flat_source, Flatten(source));
  ENGINE_ASSIGN_OR_RETURN(const Tensor flat_converted, Flatten(converted));
  for (std::int64_t begin = 0; begin < source.numel(); begin += kPieceElements) {
    const std::int64_t end = std::min(begin + kPieceElements, source.numel());
    ENGINE_ASSIGN_OR_RETURN(const Tensor a, source_scratch.Load(flat_source, begin, end));
    ENGINE_ASSIGN_OR_RETURN(const Tensor b, converted_scratch.Load(flat_converted, begin, end));
    ENGINE_ASSIGN_OR_RETURN(const ops::AllCloseResult result, ops::allclose(b, a, check.tolerance));
    NonFinite special;
    if (dtype == DataType::kFloat64) special = CountNonFinite(ValuesOf(a), ValuesOf(b));

    const std::int64_t mismatches = result.mismatch_count - special.nan_pairs - special.overflows;
    if (check.example.empty() && special.overflows > 0) {
      const std::int64_t i = special.first_overflow;
      check.example = Example(begin + i, source, a.item<double>({i}), b.item<double>({i}));
    } else if (check.example.empty() && mismatches > 0) {
      const std::int64_t i = result.worst_index[0];
      check.example = Example(begin + i, source, result.worst_b, result.worst_a);
    }
    check.overflow_count += special.overflows;
    check.mismatch_count += mismatches;
    check.max_abs_diff = std::max(check.max_abs_diff, result.max_abs_diff);
    progress.Advance(static_cast<std::uint64_t>((end - begin) * itemsize(source.dtype())));
  }
  return check;
}

core::StatusOr<PermutedCopy> CopyPermuted(const Tensor& tensor, std::span<const int> permutation) {
  ENGINE_ASSIGN_OR_RETURN(const Tensor view, tensor.permute(permutation));
  ENGINE_ASSIGN_OR_RETURN(Tensor contiguous,
                          Tensor::empty(view.shape(), view.dtype(), view.device()));
  ENGINE_RETURN_IF_ERROR(ops::copy(contiguous, view));

  // As unsigned integers of the same width, so that NaNs compare too.
  const DataType bits = UnsignedOfWidth(itemsize(tensor.dtype()));
  ENGINE_ASSIGN_OR_RETURN(const Tensor view_bits, view.view_as_dtype(bits));
  ENGINE_ASSIGN_OR_RETURN(const Tensor contiguous_bits, contiguous.view_as_dtype(bits));
  ENGINE_ASSIGN_OR_RETURN(const ops::AllCloseResult result,
                          ops::allclose(contiguous_bits, view_bits));
  return PermutedCopy{std::move(contiguous), result.mismatch_count};
}

}  // namespace inspect_weights
