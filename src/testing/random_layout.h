// testing/random_layout.h: shapes and strides drawn from any source of integers.
// Test support; never installed.
//
// A source is callable as draw(low, high) and returns an integer of [low, high]: a seeded generator
// in tests (RandomDraw), the input bytes in a fuzzer.
#ifndef ENGINE_TESTING_RANDOM_LAYOUT_H_
#define ENGINE_TESTING_RANDOM_LAYOUT_H_

#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tensor/shape.h"

namespace engine::testing {

// std::uniform_int_distribution differs between libraries; this does not.
class RandomDraw {
 public:
  explicit RandomDraw(std::uint64_t seed) : random_(seed) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(random_() % span);
  }

 private:
  std::mt19937_64 random_;
};

// Where the elements of one side lie, in elements.
struct DrawnLayout {
  tensor::Strides strides;
  std::int64_t first = 0;         // the first logical element, from the start of the storage
  std::int64_t storage_size = 0;  // covers every element, with room before and behind
};

// Rank 0 to 8, at most `max_numel` elements; axes of extent 1 are common, of extent 0 rare.
template <typename Draw>
[[nodiscard]] tensor::Shape DrawShape(Draw& draw, std::int64_t max_numel) {
  tensor::DimVector dims;
  std::int64_t numel = 1;
  for (std::int64_t rank = draw(0, tensor::kMaxRank); rank > 0; --rank) {
    std::int64_t dim = draw(0, 3) == 0 ? 1 : draw(1, 2 + max_numel / (2 * numel));
    if (dim > max_numel / numel) dim = 1;
    if (draw(0, 99) == 99) dim = 0;
    if (dim > 0) numel *= dim;
    dims.push_back(dim);
  }
  return *tensor::Shape::FromDims(dims.values());
}

// Rank 1 to 4, extents next to those at which vectors, register tiles, cache blocks and tables end,
// or prime; at most `max_numel` elements.
template <typename Draw>
[[nodiscard]] tensor::Shape DrawShapeNearBlocks(Draw& draw, std::int64_t max_numel) {
  constexpr std::int64_t kEdges[] = {4,   8,   16,   32,   48,   64,   128,
                                     256, 512, 1024, 1984, 2016, 2048, 4096};
  constexpr std::int64_t kPrimes[] = {2, 3, 5, 7, 11, 13, 37, 61, 127, 251, 509, 1999, 4093};
  tensor::DimVector dims;
  std::int64_t numel = 1;
  for (std::int64_t rank = draw(1, 4); rank > 0; --rank) {
    std::int64_t dim = 0;
    do {
      dim = draw(0, 2) == 0 ? kPrimes[draw(0, std::ssize(kPrimes) - 1)]
                            : kEdges[draw(0, std::ssize(kEdges) - 1)] + draw(-1, 1);
    } while (dim > max_numel / numel && max_numel / numel > 1);
    if (dim > max_numel / numel) dim = 1;
    numel *= dim;
    dims.push_back(dim);
  }
  // The long axes come first as drawn: let any be the innermost.
  for (int i = dims.size() - 1; i > 0; --i) std::swap(dims[i], dims[static_cast<int>(draw(0, i))]);
  return *tensor::Shape::FromDims(dims.values());
}

// Axes in any memory order, with gaps; the strides of axes of extent 1 are arbitrary. Distinct
// elements have distinct offsets unless `may_overlap`. Strides of half of `alias` and more become
// multiples of it, so that rows can be made to share cache sets, or begin alike within lines.
template <typename Draw>
[[nodiscard]] DrawnLayout DrawLayout(Draw& draw, const tensor::Shape& shape, bool may_overlap,
                                     std::int64_t alias = 1) {
  const int rank = shape.rank();
  DrawnLayout layout;
  std::vector<int> inner_to_outer;
  for (int i = 0; i < rank; ++i) {
    layout.strides.push_back(0);
    inner_to_outer.insert(inner_to_outer.begin(), i);
  }
  if (draw(0, 1) == 1) {
    for (int i = rank - 1; i > 0; --i) {
      std::swap(inner_to_outer[static_cast<std::size_t>(i)],
                inner_to_outer[static_cast<std::size_t>(draw(0, i))]);
    }
  }
  const bool gaps = draw(0, 1) == 1;
  std::int64_t reach = 1;  // elements from the first to the last one placed so far, inclusive
  for (const int axis : inner_to_outer) {
    if (shape.dim(axis) == 1) {
      layout.strides[axis] = draw(0, 1) == 0 ? 1 : draw(0, std::int64_t{1} << 40);
      continue;
    }
    std::int64_t stride = reach;
    if (gaps) stride += draw(0, 2) == 0 ? draw(0, 3) : 0;
    if (may_overlap) stride = draw(1, stride);
    if (stride >= (alias + 1) / 2) stride = (stride + alias - 1) / alias * alias;
    layout.strides[axis] = stride;
    if (shape.dim(axis) > 1) reach += (shape.dim(axis) - 1) * stride;
  }
  layout.first = draw(0, 9);
  layout.storage_size = layout.first + reach + draw(0, 9);
  return layout;
}

// Repeats the layout along some axes: their stride becomes 0.
template <typename Draw>
void DrawRepeatedAxes(Draw& draw, DrawnLayout& layout) {
  for (int i = 0; i < layout.strides.size(); ++i) {
    if (draw(0, 2) == 0) layout.strides[i] = 0;
  }
}

}  // namespace engine::testing

#endif  // ENGINE_TESTING_RANDOM_LAYOUT_H_
