// strided/internal/plan_builder.h: turns a normalised layout into a CopyPlan's strategy and blocks.
#ifndef ENGINE_STRIDED_INTERNAL_PLAN_BUILDER_H_
#define ENGINE_STRIDED_INTERNAL_PLAN_BUILDER_H_

#include <cstdint>

#include "strided/copy_plan.h"
#include "strided/layout.h"

namespace engine::strided {

class PlanBuilder {
 public:
  // Fills `plan`, whose dtypes and item sizes are set.
  explicit PlanBuilder(CopyPlan& plan) : plan_(plan) {}
  void Build(const Layout& layout);

 private:
  // Rows along the given axis.
  void BuildRows(const Layout& layout, int inner_axis);
  // These return false, and leave the plan alone, when the layout is not theirs.
  [[nodiscard]] bool BuildInterleave(const Layout& layout);
  [[nodiscard]] bool BuildTable(const Layout& layout);
  // False when the matrices are too small to be worth it.
  [[nodiscard]] bool BuildTranspose(const Layout& layout, int src_inner);
  // The blocks of a transpose and what goes with them, by policy; the axes are the innermost ones of
  // its rows and columns.
  void SetTransposeBlocks(const Axis& row_axis, const Axis& col_axis, const Layout& layout,
                          bool rows_line_aligned);
  // Blocks that fit the scratch memory.
  void SetStagedBlocks(const Axis& row_axis, const Axis& col_axis);
  // Cuts rows and columns into blocks of the given sizes and counts the units; a last block takes
  // over a remainder below `min_block`.
  void SetBlocks(std::int64_t block_rows, std::int64_t block_cols, std::int64_t min_block);

  CopyPlan& plan_;
};

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_INTERNAL_PLAN_BUILDER_H_
