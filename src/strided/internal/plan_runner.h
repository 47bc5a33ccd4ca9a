// strided/internal/plan_runner.h: executes the units of a CopyPlan.
#ifndef ENGINE_STRIDED_INTERNAL_PLAN_RUNNER_H_
#define ENGINE_STRIDED_INTERNAL_PLAN_RUNNER_H_

#include <cstddef>
#include <cstdint>

#include "strided/copy_plan.h"
#include "tensor/shape.h"

namespace engine::strided {

class PlanRunner {
 public:
  // Runs units [begin, end), begin < end; returns as CopyPlan::RunUnits.
  static bool Run(const CopyPlan& plan, std::byte* dst, const std::byte* src, std::int64_t begin,
                  std::int64_t end);

  // Copies every element of equal-shaped layouts (strides in elements), one by one.
  static void CopyFewElements(int item_bytes, const tensor::Shape& shape,
                              const tensor::Strides& dst_strides,
                              const tensor::Strides& src_strides, std::byte* dst,
                              const std::byte* src);

 private:
  class BlockRunner;

  static bool RunElements(const CopyPlan& plan, std::byte* dst, const std::byte* src);
  static bool RunContiguous(const CopyPlan& plan, std::byte* dst, const std::byte* src,
                            std::int64_t begin, std::int64_t end);
  static bool RunBlocks(const CopyPlan& plan, std::byte* dst, const std::byte* src,
                        std::int64_t begin, std::int64_t end);
};

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_INTERNAL_PLAN_RUNNER_H_
