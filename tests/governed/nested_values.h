// Values without layout: the model that random operations are compared with.
#ifndef ENGINE_TESTS_GOVERNED_NESTED_VALUES_H_
#define ENGINE_TESTS_GOVERNED_NESTED_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/tensor.h"

namespace engine::governed {

using Dims = std::vector<std::int64_t>;

// A vector of vectors of ... of numbers.
struct Nested {
  std::vector<Nested> rows;
  float value = 0;
};

// The nested vector of these extents whose element at `index` is element(index).
inline Nested Build(const Dims& dims, const std::function<float(const Dims&)>& element,
                    Dims prefix = {}) {
  if (prefix.size() == dims.size()) return {{}, element(prefix)};
  Nested result;
  for (std::int64_t i = 0; i < dims[prefix.size()]; ++i) {
    prefix.push_back(i);
    result.rows.push_back(Build(dims, element, prefix));
    prefix.pop_back();
  }
  return result;
}

inline float& At(Nested& nested, const Dims& index) {
  Nested* at = &nested;
  for (const std::int64_t i : index) at = &at->rows[static_cast<std::size_t>(i)];
  return at->value;
}

inline void Flatten(const Nested& nested, std::vector<float>& out) {
  if (nested.rows.empty()) out.push_back(nested.value);
  for (const Nested& row : nested.rows) Flatten(row, out);
}

// The rows that `ranges` keep, from axis `axis` on.
inline Nested Slice(const Nested& nested, const std::vector<tensor::SliceRange>& ranges,
                    std::size_t axis = 0) {
  if (axis == ranges.size()) return nested;
  Nested result;
  for (std::int64_t i = ranges[axis].start; i < ranges[axis].end; i += ranges[axis].step) {
    result.rows.push_back(Slice(nested.rows[static_cast<std::size_t>(i)], ranges, axis + 1));
  }
  return result;
}

// Whether memory shows `nested` at `data`, `strides` elements apart.
inline bool Shows(const float* data, const Dims& strides, const Nested& nested,
                  std::size_t axis = 0) {
  if (axis == strides.size()) return *data == nested.value;
  for (const Nested& row : nested.rows) {
    if (!Shows(data, strides, row, axis + 1)) return false;
    data += strides[axis];
  }
  return true;
}

}  // namespace engine::governed

#endif  // ENGINE_TESTS_GOVERNED_NESTED_VALUES_H_
