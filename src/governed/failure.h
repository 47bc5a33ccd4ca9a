// governed/failure.h: why a governed operation refused.
// Layer 4.
// Source: docs/design/governed.md, "Failures".
#ifndef ENGINE_GOVERNED_FAILURE_H_
#define ENGINE_GOVERNED_FAILURE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/status.h"

namespace engine::governed {

// The contract's nine reasons. In brackets the Status code that carries each.
enum class Failure : std::uint8_t {
  // No axes, or an axis without elements. (InvalidArgument)
  kEmptyTensor,
  // No memory, or a size that no memory has. (kOutOfMemory, without text as everywhere)
  kOutOfMemory,
  // Not one coordinate or range per axis, or more axes than tensor::kMaxRank. (InvalidArgument)
  kDimensionMismatch,
  // A range that is empty, has no positive step or leaves its axis. (InvalidArgument)
  kInvalidSliceRange,
  // Not every axis exactly once. (InvalidArgument)
  kInvalidPermutation,
  // Another number of elements. (InvalidArgument)
  kShapeMismatch,
  // The strides are not the canonical ones; Materialize() helps. (FailedPrecondition)
  kNotContiguous,
  // Others share the storage; Materialize() helps. (FailedPrecondition)
  kNotExclusive,
  // A coordinate outside its axis. (InvalidArgument)
  kIndexOutOfBounds,
};

// The number of enumerators.
inline constexpr int kNumFailures = 9;

// The contract's name, e.g. "InvalidSliceRange". Valid for the life of the process.
//   CHECKs   `failure` is an enumerator.
[[nodiscard]] std::string_view to_string(Failure failure);

// The reason that `status` carries; every error that is described with a Failure in
// governed_tensor.h has one. A kOutOfMemory of any origin is Failure::kOutOfMemory. None for OK and
// for other errors. Allocates nothing.
[[nodiscard]] std::optional<Failure> FailureOf(const core::Status& status);

}  // namespace engine::governed

#endif  // ENGINE_GOVERNED_FAILURE_H_
