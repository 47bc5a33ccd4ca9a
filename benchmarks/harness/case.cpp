#include "harness/case.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "strided/copy_plan.h"

namespace engine::benchmarks {
namespace {

using core::InvalidArgumentError;
using tensor::DataType;
using tensor::DimVector;
using tensor::Shape;
using tensor::Strides;

std::optional<DataType> FromShortName(std::string_view name) {
  for (const DataType dtype : tensor::kAllDataTypes) {
    if (!tensor::is_reserved(dtype) && ShortName(dtype) == name) return dtype;
  }
  return std::nullopt;
}

// Non-negative integers between separators; nullopt when there is anything else, or too many.
std::optional<DimVector> ParseNumbers(std::string_view text, char separator) {
  DimVector numbers;
  while (true) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || numbers.size() == tensor::kMaxRank) {
      return std::nullopt;
    }
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return numbers;
    if (text.front() != separator) return std::nullopt;
    text.remove_prefix(1);
  }
}

std::int64_t Window(const Shape& shape, const Strides& strides, std::int64_t offset) {
  if (shape.numel() == 0) return offset;
  std::int64_t last = offset;
  for (int i = 0; i < shape.rank(); ++i) last += (shape.dim(i) - 1) * strides[i];
  return last + 1;
}

// Reorders a dense source: destination axis i becomes source axis axes[i].
core::StatusOr<Case> Permuted(Case layout, const DimVector& axes) {
  const int rank = layout.shape.rank();
  DimVector dims;
  Strides strides;
  unsigned seen = 0;
  for (const std::int64_t axis : axes) {
    if (axis >= rank || ((seen >> axis) & 1u) != 0) {
      return InvalidArgumentError("axes= is not a permutation");
    }
    seen |= 1u << axis;
    dims.push_back(layout.shape.dim(static_cast<int>(axis)));
    strides.push_back(layout.src_strides[static_cast<int>(axis)]);
  }
  ENGINE_ASSIGN_OR_RETURN(layout.shape, Shape::FromDims(dims.values()));
  layout.src_strides = strides;
  layout.dst_strides = tensor::RowMajorStrides(layout.shape);
  return layout;
}

core::StatusOr<Case> ApplyWord(Case layout, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::optional<DimVector> values =
      equals == std::string::npos ? std::nullopt : ParseNumbers(word.substr(equals + 1), ',');
  const int expected = key == "at" ? 2 : layout.shape.rank();
  if (!values.has_value() || values->size() != expected) {
    return InvalidArgumentError("'{}' is not key=number,... with {} numbers", word, expected);
  }
  if (key == "axes") return Permuted(std::move(layout), *values);
  if (key == "src") {
    layout.src_strides = *values;
  } else if (key == "dst") {
    layout.dst_strides = *values;
  } else if (key == "at") {
    layout.dst_offset = (*values)[0];
    layout.src_offset = (*values)[1];
  } else {
    return InvalidArgumentError("'{}' is not axes, src, dst or at", key);
  }
  return layout;
}

core::StatusOr<Case> ParseWords(std::string_view line) {
  std::istringstream words{std::string(line)};
  Case layout;
  std::string src, dst, extents;
  if (!(words >> layout.name >> layout.size >> src >> dst >> extents)) {
    return InvalidArgumentError("expected: name size src dst extents [layout]");
  }
  const std::optional<DataType> src_dtype = FromShortName(src);
  const std::optional<DataType> dst_dtype = FromShortName(dst);
  const std::optional<DimVector> dims = ParseNumbers(extents, 'x');
  if (!src_dtype.has_value() || !dst_dtype.has_value() || !dims.has_value()) {
    return InvalidArgumentError("'{} {} {}' are not two dtypes and extents", src, dst, extents);
  }
  if (!strided::IsConvertible(*dst_dtype, *src_dtype)) {
    return InvalidArgumentError("{} does not convert to {}", src, dst);
  }
  layout.src = *src_dtype;
  layout.dst = *dst_dtype;
  ENGINE_ASSIGN_OR_RETURN(layout.shape, Shape::FromDims(dims->values()));
  layout.dst_strides = tensor::RowMajorStrides(layout.shape);
  layout.src_strides = layout.dst_strides;
  for (std::string word; words >> word;) {
    ENGINE_ASSIGN_OR_RETURN(layout, ApplyWord(std::move(layout), word));
  }
  return layout;
}

}  // namespace

std::int64_t Case::dst_window() const { return Window(shape, dst_strides, dst_offset); }
std::int64_t Case::src_window() const { return Window(shape, src_strides, src_offset); }
std::int64_t Case::total_bytes() const {
  return shape.numel() * (tensor::itemsize(dst) + tensor::itemsize(src));
}

std::string ShortName(DataType dtype) {
  const int bits = tensor::itemsize_bits(dtype);
  if (dtype == DataType::kBFloat16) return "bf16";
  if (dtype == DataType::kBool) return "bool";
  if (tensor::is_floating_point(dtype)) return fmt::format("f{}", bits);
  return fmt::format("{}{}", tensor::to_string(dtype).front(), bits);
}

core::StatusOr<Case> ParseCase(std::string_view line) {
  core::StatusOr<Case> layout = ParseWords(line);
  if (layout.ok()) return layout;
  return InvalidArgumentError("case '{}': {}", line, std::string(layout.status().message()));
}

core::StatusOr<std::vector<Case>> ReadCases(const std::string& path) {
  std::ifstream file(path);
  if (!file) return core::NotFoundError("cannot read {}", path);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    ENGINE_ASSIGN_OR_RETURN(Case layout, ParseCase(line));
    cases.push_back(std::move(layout));
  }
  return cases;
}

}  // namespace engine::benchmarks
