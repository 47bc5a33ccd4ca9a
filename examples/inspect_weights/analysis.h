// inspect_weights/analysis.h: statistics of a tensor, and checks of what was made from one.
#ifndef ENGINE_EXAMPLES_INSPECT_WEIGHTS_ANALYSIS_H_
#define ENGINE_EXAMPLES_INSPECT_WEIGHTS_ANALYSIS_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "core/status.h"
#include "progress.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace inspect_weights {

// Of all elements as float64; NaNs are counted and otherwise left out.
struct Statistics {
  std::int64_t value_count = 0;
  std::int64_t nan_count = 0;
  std::int64_t infinite_count = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
};

// How a converted tensor differs from its source.
struct CastCheck {
  engine::tensor::ops::AllCloseTolerance tolerance;
  std::int64_t overflow_count = 0;  // finite in the source, infinite in the result
  std::int64_t mismatch_count = 0;  // other differences beyond the tolerance
  double max_abs_diff = 0;
  std::string example;  // one of them, or empty

  [[nodiscard]] bool ok() const { return overflow_count == 0 && mismatch_count == 0; }
};

// The functions below read a tensor in pieces, so that their scratch memory stays small however
// large it is. `tensor`, `source` and `converted` are contiguous. `progress` advances by the bytes
// of the tensor (of the source).

[[nodiscard]] engine::core::StatusOr<Statistics> ComputeStatistics(
    const engine::tensor::Tensor& tensor, Progress& progress);

// Compares `converted` with the `source` it was cast from, within the tolerance of the coarser of
// the two dtypes; a cast to integers may drop fractions.
[[nodiscard]] engine::core::StatusOr<CastCheck> CheckCast(const engine::tensor::Tensor& source,
                                                          const engine::tensor::Tensor& converted,
                                                          Progress& progress);

// A contiguous copy of the permuted tensor.
struct PermutedCopy {
  engine::tensor::Tensor tensor;
  std::int64_t mismatch_count = 0;  // elements whose bits differ from the view's
};

[[nodiscard]] engine::core::StatusOr<PermutedCopy> CopyPermuted(
    const engine::tensor::Tensor& tensor, std::span<const int> permutation);

}  // namespace inspect_weights

#endif  // ENGINE_EXAMPLES_INSPECT_WEIGHTS_ANALYSIS_H_
