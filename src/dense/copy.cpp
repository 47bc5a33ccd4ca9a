#include "dense/copy.h"

namespace engine::dense::internal {

core::Status ShapesDiffer(const char* operation, const tensor::Shape& dst,
                          const tensor::Shape& src) {
  return core::InvalidArgumentError("{}: the destination has shape {}, the source {} (op.copy)",
                                    operation, dst, src);
}

}  // namespace engine::dense::internal
