// harness/case.h: a layout to time, as a line of text.
//
//   name   size  src  dst  extents      layout
//   rows   L2    f32  f32  512x64       src=128,1
//   turn   L3    f32  f16  1000x1000    axes=1,0
//
// `size` is a label only. By default both sides are dense and row-major. Layout words:
//   axes=A      the source is dense, of these extents; axis i of the destination is its axis A[i]
//   src=S       source strides in elements, one per axis; 0 repeats an element
//   dst=S       destination strides in elements, one per axis
//   at=DST,SRC  elements that lie before the first one of each side
// Empty lines and what follows a '#' are ignored.
#ifndef ENGINE_BENCHMARKS_HARNESS_CASE_H_
#define ENGINE_BENCHMARKS_HARNESS_CASE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace engine::benchmarks {

struct Case {
  std::string name;
  std::string size;
  tensor::DataType dst = tensor::DataType::kFloat32;
  tensor::DataType src = tensor::DataType::kFloat32;
  tensor::Shape shape;  // of the destination
  tensor::Strides dst_strides;
  tensor::Strides src_strides;
  std::int64_t dst_offset = 0;
  std::int64_t src_offset = 0;

  [[nodiscard]] std::string label() const { return name + "/" + size; }
  // Elements from the start of the side's storage to the end of its last element.
  [[nodiscard]] std::int64_t dst_window() const;
  [[nodiscard]] std::int64_t src_window() const;
  // Read plus written.
  [[nodiscard]] std::int64_t total_bytes() const;
};

// The short spelling that case files use: "f32", "bf16", "u8".
[[nodiscard]] std::string ShortName(tensor::DataType dtype);

// Errors   InvalidArgument: the line and what is wrong with it.
[[nodiscard]] core::StatusOr<Case> ParseCase(std::string_view line);

// Errors   ParseCase's; NotFound: the file cannot be read.
[[nodiscard]] core::StatusOr<std::vector<Case>> ReadCases(const std::string& path);

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_CASE_H_
