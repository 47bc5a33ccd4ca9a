// dense/output.h: destinations of operations that overwrite their output.
// Layer 4.
// Source: docs/design/dense.md, "Initial values", init.output.
#ifndef ENGINE_DENSE_OUTPUT_H_
#define ENGINE_DENSE_OUTPUT_H_

#include "core/status.h"
#include "dense/concepts.h"
#include "dense/copy.h"
#include "dense/layout.h"
#include "dense/storage.h"
#include "memory/allocator.h"

namespace engine::dense {

namespace internal {

// Whether `output` has elements of exactly these extents.
template <StridedSource D>
[[nodiscard]] bool HasExtents(const D& output, const Extents<kRankOf<D>>& extents) {
  return output.extents() == extents && (kRankOf<D> > 0 || output.data() != nullptr);
}

}  // namespace internal

// Makes `output` ready to be overwritten: with these extents already it keeps its storage and its
// values; otherwise it is reset to them, uninitialised where the type knows the tag and in its
// ordinary way where it does not. On an error nothing has changed.
//   Errors   as the output's reset_shape.
template <OwningTensor D>
[[nodiscard]] core::Status prepare_output(D& output, const Extents<kRankOf<D>>& extents) {
  if (internal::HasExtents(output, extents)) return core::OkStatus();
  if constexpr (requires { output.reset_shape(uninitialized, extents); }) {
    return output.reset_shape(uninitialized, extents);
  } else {
    return output.reset_shape(extents);
  }
}
// The same with fresh storage, where it is needed, from `allocator` (null: the default one), for
// owners that can be told. Storage that fits is kept, wherever it came from.
template <OwningTensor D>
[[nodiscard]] core::Status prepare_output(D& output, const Extents<kRankOf<D>>& extents,
                                          memory::Allocator* allocator) requires requires {
  output.reset_shape(uninitialized, extents, allocator);
}
{
  if (internal::HasExtents(output, extents)) return core::OkStatus();
  return output.reset_shape(uninitialized, extents, allocator);
}

// For outputs that must not move, views among them: that the extents are right already.
//   Errors   InvalidArgument: other extents.
template <MutableStrided D>
[[nodiscard]] core::Status require_output(D&& output, const Extents<kRankOf<D>>& extents) {
  if (internal::HasExtents(output, extents)) return core::OkStatus();
  ENGINE_ASSIGN_OR_RETURN(const tensor::Shape expected,
                          internal::ShapeOf("require_output", extents));
  return core::InvalidArgumentError(
      "require_output: the output has shape {}, expected {} "
      "(init.output)",
      internal::ToShape(output.extents()), expected);
}

}  // namespace engine::dense

#endif  // ENGINE_DENSE_OUTPUT_H_
