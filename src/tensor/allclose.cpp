// Compiled with -ffp-contract=off: a fused atol + rtol * |b| would move the border of "close".
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"
#include "strided/layout.h"
#include "tensor/internal/ops_common.h"
#include "tensor/ops.h"

namespace engine::tensor::ops {
namespace {

// What a comparison has seen so far. Differences of integers are exact, which int64_t and double
// are not.
template <typename T>
struct Tally {
  using Difference = std::conditional_t<strided::kIsFloating<T>, double, std::uint64_t>;

  void AddMismatch(std::int64_t logical_index, Difference rank) {
    ++mismatches;
    if (worst >= 0 && !(rank > worst_rank)) return;
    worst = logical_index;
    worst_rank = rank;
  }

  std::int64_t mismatches = 0;
  Difference max_difference = 0;
  std::int64_t worst = -1;
  Difference worst_rank = 0;
};

// One row of each side, the strides in elements: in bytes that of an axis of extent 1 may overflow.
struct RowPair {
  const std::byte* a;
  std::int64_t a_stride;
  const std::byte* b;
  std::int64_t b_stride;
  std::int64_t count;
  std::int64_t first_logical_index;
};

template <typename T>
T LoadAt(const std::byte* base, std::int64_t offset) {
  return strided::LoadElement<T>(base + offset * static_cast<std::int64_t>(sizeof(T)));
}

template <typename T>
requires strided::kIsFloating<T>
void CompareRow(const RowPair& row, const AllCloseTolerance& tolerance, Tally<T>& tally) {
  constexpr double kNaNRank = -1;  // below every difference
  for (std::int64_t i = 0; i < row.count; ++i) {
    const double a = strided::WidenToDouble(LoadAt<T>(row.a, i * row.a_stride));
    const double b = strided::WidenToDouble(LoadAt<T>(row.b, i * row.b_stride));
    if (a == b) continue;
    const double difference = std::abs(a - b);  // NaN exactly when a or b is
    if (difference > tally.max_difference) tally.max_difference = difference;
    if (std::isfinite(a) && std::isfinite(b) &&
        difference <= tolerance.atol + tolerance.rtol * std::abs(b)) {
      continue;
    }
    tally.AddMismatch(row.first_logical_index + i, std::isnan(difference) ? kNaNRank : difference);
  }
}

template <typename T>
requires std::integral<T>
void CompareRow(const RowPair& row, const AllCloseTolerance& /*tolerance*/, Tally<T>& tally) {
  for (std::int64_t i = 0; i < row.count; ++i) {
    const T a = LoadAt<T>(row.a, i * row.a_stride);
    const T b = LoadAt<T>(row.b, i * row.b_stride);
    if (a == b) continue;
    // Sign extension cancels: the unsigned difference of the larger and the smaller is exact.
    const auto wide_a = static_cast<std::uint64_t>(a);
    const auto wide_b = static_cast<std::uint64_t>(b);
    const std::uint64_t difference = a > b ? wide_a - wide_b : wide_b - wide_a;
    if (difference > tally.max_difference) tally.max_difference = difference;
    tally.AddMismatch(row.first_logical_index + i, difference);
  }
}

template <typename T>
double ElementAsDouble(const Tensor& tensor, std::int64_t logical_index) {
  const T value = LoadAt<T>(static_cast<const std::byte*>(tensor.data()),
                            strided::OffsetOf(logical_index, tensor.shape(), tensor.strides()));
  if constexpr (std::same_as<T, bool>) {
    return value ? 1 : 0;
  } else {
    return strided::WidenToDouble(value);
  }
}

// Out of line, so that the arithmetic stays inside the caller's floating-point scope.
template <typename T>
[[gnu::noinline]] void Compare(const Tensor& a, const Tensor& b, const AllCloseTolerance& tolerance,
                               AllCloseResult& result) {
  constexpr auto kItemBytes = static_cast<std::int64_t>(sizeof(T));
  const auto* const a_base = static_cast<const std::byte*>(a.data());
  const auto* const b_base = static_cast<const std::byte*>(b.data());
  Tally<T> tally;
  const auto compare_row = [&](const auto& offsets, const auto& strides, std::int64_t count,
                               std::int64_t first) {
    CompareRow<T>({.a = a_base + offsets[0] * kItemBytes,
                   .a_stride = strides[0],
                   .b = b_base + offsets[1] * kItemBytes,
                   .b_stride = strides[1],
                   .count = count,
                   .first_logical_index = first},
                  tolerance, tally);
    return true;
  };
  if (a.is_contiguous() && b.is_contiguous()) {
    const Strides unit = {1};
    strided::ForEachRow<2>(Shape{a.numel()}, {&unit, &unit}, compare_row);
  } else {
    strided::ForEachRow<2>(a.shape(), {&a.strides(), &b.strides()}, compare_row);
  }

  result.mismatch_count = tally.mismatches;
  result.close = tally.mismatches == 0;
  result.max_abs_diff = static_cast<double>(tally.max_difference);
  if (result.close) return;
  result.worst_element = tally.worst;
  result.worst_index = strided::CoordinatesOf(tally.worst, a.shape());
  result.worst_a = ElementAsDouble<T>(a, tally.worst);
  result.worst_b = ElementAsDouble<T>(b, tally.worst);
}

using Comparer = void (*)(const Tensor&, const Tensor&, const AllCloseTolerance&, AllCloseResult&);

Comparer SelectComparer(DataType dtype) {
  return strided::VisitDType(
      dtype, []<typename T>(strided::TypeTag<T>) -> Comparer { return &Compare<T>; },
      [](DataType) -> Comparer { return nullptr; });
}

// In bits, whatever the floating-point mode makes of subnormals: -0 is a tolerance of 0.
bool IsTolerance(double value) {
  constexpr std::uint64_t kMinusZero = 0x8000000000000000u;
  constexpr std::uint64_t kInfinity = 0x7FF0000000000000u;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits <= kInfinity || bits == kMinusZero;
}

template <typename T>
constexpr AllCloseTolerance kDefaultTolerance = {};
template <>
constexpr AllCloseTolerance kDefaultTolerance<float> = {.rtol = 1e-5, .atol = 1e-8};
template <>
constexpr AllCloseTolerance kDefaultTolerance<double> = {.rtol = 1e-7, .atol = 1e-7};
template <>
constexpr AllCloseTolerance kDefaultTolerance<float16> = {.rtol = 1e-3, .atol = 1e-5};
template <>
constexpr AllCloseTolerance kDefaultTolerance<bfloat16> = {.rtol = 1.6e-2, .atol = 1e-5};

}  // namespace

std::string AllCloseResult::Summary() const {
  if (close) return fmt::format("all of {} elements close, max |a - b| = {}", numel, max_abs_diff);
  return fmt::format(
      "{} of {} elements differ, max |a - b| = {}, worst at {} (element {}): a = {}, b = {}",
      mismatch_count, numel, max_abs_diff, worst_index, worst_element, worst_a, worst_b);
}

AllCloseTolerance default_allclose_tolerance(DataType dtype) {
  ENGINE_CHECK(!is_reserved(dtype), "default_allclose_tolerance: {} is a reserved dtype", dtype);
  return strided::VisitDType(
      dtype, []<typename T>(strided::TypeTag<T>) { return kDefaultTolerance<T>; },
      [](DataType) { return AllCloseTolerance{}; });
}

core::StatusOr<AllCloseResult> allclose(const Tensor& a, const Tensor& b) {
  return allclose(a, b, default_allclose_tolerance(a.dtype()));
}

core::StatusOr<AllCloseResult> allclose(const Tensor& a, const Tensor& b,
                                        AllCloseTolerance tolerance) {
  internal::CheckOnCpu("allclose", a);
  internal::CheckOnCpu("allclose", b);
  ENGINE_RETURN_IF_ERROR(internal::RequireSameShape("allclose", a, b));
  ENGINE_RETURN_IF_ERROR(internal::RequireSameDType("allclose", a, b));
  if (!IsTolerance(tolerance.rtol) || !IsTolerance(tolerance.atol)) {
    return core::InvalidArgumentError("allclose: rtol {} and atol {}, expected values >= 0",
                                      tolerance.rtol, tolerance.atol);
  }
  const Comparer compare = SelectComparer(a.dtype());
  AllCloseResult result;
  result.numel = a.numel();
  const strided::ScopedDefaultFpEnvironment environment;
  compare(a, b, tolerance, result);
  return result;
}

}  // namespace engine::tensor::ops
