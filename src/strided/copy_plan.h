// strided/copy_plan.h: a prepared copy or cast between two strided layouts.
// Layer 2. No allocation, no threads, no locks.
//
//   const CopyPlan plan = CopyPlan::Make(shape, DataType::kFloat16, dst_strides,
//                                        DataType::kFloat32, src_strides);
//   if (!plan.Run(dst, src)) return plan.FirstOffender(src);
//
// Source: docs/design/strided.md; docs/design/tensor.md, "Copy" and "Casts".
#ifndef ENGINE_STRIDED_COPY_PLAN_H_
#define ENGINE_STRIDED_COPY_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "strided/layout.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::strided {

enum class Regime : std::uint8_t;

// True when CopyPlan can be made for the pair: equal dtypes that are not reserved, or two different
// dtypes neither of which is bool or reserved.
[[nodiscard]] bool IsConvertible(tensor::DataType dst, tensor::DataType src);

// Element by element, by logical index: dst[i] = convert(src[i]). Equal dtypes copy bytes.
// Different dtypes convert as strided/convert.h defines, whatever floating-point mode the host has
// set. The bytes do not depend on the CPU.
//
// A plan holds layouts, not addresses, and may run any number of times, concurrently on distinct
// destinations. Its work splits into num_units() independent units, so that a caller's own thread
// pool can share it out; any partition gives the same bytes and the same verdict.
//
// Reads stay between the first and the last element of the source; bytes between its elements may
// be read and are never used. Writes touch the destination's elements only.
class CopyPlan {
 public:
  // Strides in elements.
  //   CHECKs   IsConvertible(dst_dtype, src_dtype); the ranks agree.
  [[nodiscard]] static CopyPlan Make(const tensor::Shape& shape, tensor::DataType dst_dtype,
                                     const tensor::Strides& dst_strides, tensor::DataType src_dtype,
                                     const tensor::Strides& src_strides);

  // Make(...).Run(dst, src), for a layout that is moved once: a few elements of one dtype go without
  // a plan, which would take longer than they do.
  //   Returns, pointers, aliasing, CHECKs  as Make and RunUnits.
  [[nodiscard]] static bool RunOnce(const tensor::Shape& shape, tensor::DataType dst_dtype,
                                    const tensor::Strides& dst_strides, tensor::DataType src_dtype,
                                    const tensor::Strides& src_strides, void* dst, const void* src);

  // How many units there are; 0 for an empty shape.
  [[nodiscard]] std::int64_t num_units() const { return num_units_; }

  // Runs units [begin, end). `dst` and `src` address the first logical element of each side. Takes
  // up to 176 KiB of stack.
  //   Returns  false when an element was not representable in an integer destination dtype; the
  //            destination's elements are then unspecified, and FirstOffender says which it was.
  //   Pointers any alignment; null only when the shape is empty.
  //   Aliasing the two sides disjoint, else undefined.
  //   Threads  safe for disjoint unit ranges of one destination.
  //   CHECKs   0 <= begin <= end <= num_units().
  [[nodiscard]] bool RunUnits(void* dst, const void* src, std::int64_t begin,
                              std::int64_t end) const;

  // Runs every unit.
  [[nodiscard]] bool Run(void* dst, const void* src) const {
    return RunUnits(dst, src, 0, num_units_);
  }

  // InvalidArgument naming the first element in logical (row-major) order that the destination
  // dtype cannot represent, its index and both dtypes; OK when there is none. Independent of how
  // the units were partitioned.
  [[nodiscard]] core::Status FirstOffender(const void* src) const;

 private:
  friend class PlanBuilder;
  friend class PlanRunner;

  // How the axes are walked.
  enum class Strategy : std::uint8_t {
    kNothing,      // empty shape
    kElements,     // so few elements that a plain loop is fastest
    kContiguous,   // one run on both sides
    kRows,         // runs on both sides
    kStridedRows,  // rows along one axis, strided on one side or both
    kTable,        // short rows, dense in the destination, whose elements a table finds
    kTranspose,    // contiguous along different axes
    kInterleave,   // a few channels, in planes on one side and interleaved on the other
  };

  CopyPlan() = default;

  // The walk: outer axes, then those that enumerate the rows of a block, then those along its
  // columns; within each group outermost first.
  std::array<Axis, tensor::kMaxRank> axes_;
  int outer_rank_ = 0;
  int rows_rank_ = 0;
  int cols_rank_ = 0;
  std::int64_t rows_ = 1;
  std::int64_t cols_ = 1;
  std::int64_t row_blocks_ = 1;
  std::int64_t col_blocks_ = 1;
  std::int64_t block_rows_ = 1;
  std::int64_t block_cols_ = 1;
  std::int64_t num_units_ = 0;
  std::int64_t prefetch_bytes_ = 0;
  std::int64_t prefetch_rows_ = 0;

  Strategy strategy_ = Strategy::kNothing;
  bool full_lines_ = false;
  bool down_ = false;
  bool pack_ = false;
  bool stream_ = false;
  Regime regime_{};
  tensor::DataType dst_dtype_ = tensor::DataType::kFloat32;
  tensor::DataType src_dtype_ = tensor::DataType::kFloat32;
  std::uint8_t dst_item_bytes_ = 4;
  std::uint8_t src_item_bytes_ = 4;

  // For FirstOffender: the logical order.
  tensor::Shape shape_;
  tensor::Strides src_strides_;
};

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_COPY_PLAN_H_
