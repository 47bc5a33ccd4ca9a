// Random chains of views against a model that knows no strides: the list of storage elements that a
// view shows, in row-major order, and its extents.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"
#include "tensor_test_support.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using Dims = std::vector<std::int64_t>;

struct Model {
  Dims dims;
  std::vector<std::int32_t> elements;

  // The model of extents `new_dims` whose element at `index` is this model's at source(index).
  Model Map(const Dims& new_dims, const std::function<Dims(const Dims&)>& source) const {
    Model result{new_dims, {}};
    const std::int64_t count =
        std::accumulate(new_dims.begin(), new_dims.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t linear = 0; linear < count; ++linear) {
      Dims index(new_dims.size());
      std::int64_t rest = linear;
      for (std::size_t axis = new_dims.size(); axis-- > 0;) {
        index[axis] = rest % new_dims[axis];
        rest /= new_dims[axis];
      }
      const Dims from = source(index);
      std::int64_t position = 0;
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        position = position * dims[axis] + from[axis];
      }
      result.elements.push_back(elements[static_cast<std::size_t>(position)]);
    }
    return result;
  }

  bool Consecutive() const {
    for (std::size_t i = 1; i < elements.size(); ++i) {
      if (elements[i] != elements[i - 1] + 1) return false;
    }
    return true;
  }
};

class Chain {
 public:
  explicit Chain(std::uint64_t seed) : random_(seed) { Restart(); }

  // Applies one random operation to both sides and compares them.
  void Step() {
    if (tensor_.shape().rank() > 6 || Pick(0, 7) == 0) Restart();
    switch (Pick(0, 7)) {
      case 0:
        return Slice();
      case 1:
        return StridedSlice();
      case 2:
        return Select();
      case 3:
        return Permute();
      case 4:
        return Transpose();
      case 5:
        return Squeeze();
      case 6:
        return Unsqueeze();
      default:
        return Reshape();
    }
  }

  int accepted() const { return accepted_; }
  int refused() const { return refused_; }

 private:
  std::int64_t Pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  // An axis, or now and then one on either side of the range.
  int PickAxis() { return static_cast<int>(Pick(Pick(0, 9) == 0 ? -1 : 0, Rank())); }
  std::int64_t Rank() const { return static_cast<std::int64_t>(model_.dims.size()); }
  bool Has(int axis) const { return axis >= 0 && axis < Rank(); }

  void Restart() {
    Dims dims;
    std::int64_t count = 1;
    for (std::int64_t rank = Pick(0, 5); rank > 0; --rank) {
      dims.push_back(Pick(0, 9) == 0 ? 0 : Pick(1, 4));
      count *= std::max<std::int64_t>(dims.back(), 1);
      if (count > 100) break;
    }
    const core::StatusOr<Shape> shape = Shape::FromDims(dims);
    ENGINE_ASSERT_OK(shape);
    tensor_ = Iota(*shape, static_cast<std::size_t>(Pick(0, 9)));
    model_.dims = dims;
    model_.elements.resize(static_cast<std::size_t>(shape->numel()));
    std::iota(model_.elements.begin(), model_.elements.end(), 0);
    Compare("base");
  }

  // `expected` null: the operation must be refused and change nothing.
  void Check(const std::string& operation, const core::StatusOr<Tensor>& view,
             const Model* expected) {
    if (expected == nullptr) {
      ++refused_;
      EXPECT_THAT(view, testing::StatusIs(core::StatusCode::kInvalidArgument)) << operation;
    } else {
      ++accepted_;
      ENGINE_ASSERT_OK(view) << operation;
      tensor_ = *view;
      model_ = *expected;
    }
    Compare(operation);
  }

  void Compare(const std::string& operation) const {
    const std::span<const std::int64_t> dims = tensor_.shape().dims();
    ASSERT_EQ(Dims(dims.begin(), dims.end()), model_.dims) << operation;
    ASSERT_EQ(tensor_.numel(), static_cast<std::int64_t>(model_.elements.size())) << operation;
    ASSERT_EQ(tensor_.strides().size(), tensor_.shape().rank()) << operation;
    for (const std::int64_t stride : tensor_.strides()) ASSERT_GE(stride, 1) << operation;
    ASSERT_EQ(Elements(tensor_), model_.elements) << operation;
    ASSERT_EQ(tensor_.is_contiguous(), model_.Consecutive()) << operation;
    ASSERT_LE(tensor_.byte_offset() + (tensor_.numel() > 0 ? 4 : 0), tensor_.buffer()->size_bytes())
        << operation;
  }

  void Slice() {
    const int axis = PickAxis();
    const std::int64_t start = Pick(0, 4);
    const std::int64_t end = Pick(start == 0 ? 0 : start - 1, 4);
    const core::StatusOr<Tensor> view = tensor_.slice(axis, start, end);
    if (!Has(axis) || start > end || end > model_.dims[static_cast<std::size_t>(axis)]) {
      return Check("slice", view, nullptr);
    }
    Dims dims = model_.dims;
    dims[static_cast<std::size_t>(axis)] = end - start;
    const Model expected = model_.Map(dims, [&](Dims index) {
      index[static_cast<std::size_t>(axis)] += start;
      return index;
    });
    Check("slice", view, &expected);
  }

  void StridedSlice() {
    std::vector<SliceRange> ranges;
    Dims dims;
    for (const std::int64_t extent : model_.dims) {
      const std::int64_t start = Pick(0, extent);
      const std::int64_t end = Pick(0, 3) == 0 ? Pick(start, extent) : extent;
      const std::int64_t step = Pick(0, 9) == 0 ? INT64_MAX - Pick(0, 3) : Pick(1, 4);
      ranges.push_back({start, end, step});
      std::int64_t count = 0;
      for (std::int64_t i = start; i < end; i += std::min<std::int64_t>(step, 100)) ++count;
      dims.push_back(count);
    }
    const Model expected = model_.Map(dims, [&](Dims index) {
      // An index above 0 exists only where the step is small.
      for (std::size_t a = 0; a < index.size(); ++a) {
        index[a] = ranges[a].start + (index[a] == 0 ? 0 : index[a] * ranges[a].step);
      }
      return index;
    });
    Check("strided_slice", tensor_.strided_slice(ranges), &expected);
  }

  void Select() {
    const int axis = PickAxis();
    const std::int64_t at = Pick(0, 3);
    const core::StatusOr<Tensor> view = tensor_.select(axis, at);
    if (!Has(axis) || at >= model_.dims[static_cast<std::size_t>(axis)]) {
      return Check("select", view, nullptr);
    }
    Dims dims = model_.dims;
    dims.erase(dims.begin() + axis);
    const Model expected = model_.Map(dims, [&](Dims index) {
      index.insert(index.begin() + axis, at);
      return index;
    });
    Check("select", view, &expected);
  }

  void Permute() {
    std::vector<int> axes(model_.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random_() % i]);
    if (axes.size() > 1 && Pick(0, 9) == 0) {
      axes[0] = axes[1];
      return Check("permute", tensor_.permute(axes), nullptr);
    }
    Dims dims;
    for (const int axis : axes) dims.push_back(model_.dims[static_cast<std::size_t>(axis)]);
    const Model expected = model_.Map(dims, [&](const Dims& index) {
      Dims from(index.size());
      for (std::size_t a = 0; a < index.size(); ++a) {
        from[static_cast<std::size_t>(axes[a])] = index[a];
      }
      return from;
    });
    Check("permute", tensor_.permute(axes), &expected);
  }

  void Transpose() {
    const int a = PickAxis();
    const int b = PickAxis();
    const core::StatusOr<Tensor> view = tensor_.transpose(a, b);
    if (!Has(a) || !Has(b)) return Check("transpose", view, nullptr);
    const auto swapped = [&](Dims values) {
      std::swap(values[static_cast<std::size_t>(a)], values[static_cast<std::size_t>(b)]);
      return values;
    };
    const Model expected = model_.Map(swapped(model_.dims), swapped);
    Check("transpose", view, &expected);
  }

  void Squeeze() {
    const int axis = PickAxis();
    const core::StatusOr<Tensor> view = tensor_.squeeze(axis);
    if (!Has(axis) || model_.dims[static_cast<std::size_t>(axis)] != 1) {
      return Check("squeeze", view, nullptr);
    }
    Model expected = model_;
    expected.dims.erase(expected.dims.begin() + axis);
    Check("squeeze", view, &expected);
  }

  void Unsqueeze() {
    const int axis = PickAxis();
    const core::StatusOr<Tensor> view = tensor_.unsqueeze(axis);
    if (axis < 0) return Check("unsqueeze", view, nullptr);
    Model expected = model_;
    expected.dims.insert(expected.dims.begin() + axis, 1);
    Check("unsqueeze", view, &expected);
  }

  void Reshape() {
    Dims dims;
    auto rest = static_cast<std::int64_t>(model_.elements.size());
    while (rest > 1 && dims.size() < 4) {
      std::int64_t factor = Pick(1, std::min<std::int64_t>(rest, 5));
      while (rest % factor != 0) --factor;
      dims.push_back(factor);
      rest /= factor;
    }
    if (rest != 1) dims.push_back(rest);
    const bool wrong = Pick(0, 9) == 0;
    if (wrong) dims.push_back(model_.elements.empty() ? 0 : 2);
    const core::StatusOr<Shape> shape = Shape::FromDims(dims);
    ENGINE_ASSERT_OK(shape);
    const Model expected{dims, model_.elements};
    const bool fits = shape->numel() == static_cast<std::int64_t>(model_.elements.size());
    Check("reshape", tensor_.reshape(*shape), fits && model_.Consecutive() ? &expected : nullptr);
  }

  std::mt19937_64 random_;
  Tensor tensor_;
  Model model_;
  int accepted_ = 0;
  int refused_ = 0;
};

TEST(TensorViewModelTest, RandomChainsShowTheElementsOfTheModel) {
  constexpr int kSeeds = 40;
  constexpr int kStepsPerSeed = 1200;
  int accepted = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Chain chain(seed);
    for (int step = 0; step < kStepsPerSeed; ++step) {
      chain.Step();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step;
    }
    accepted += chain.accepted();
    refused += chain.refused();
  }
  // The chains must not degenerate into refusals, nor leave them out.
  EXPECT_GE(accepted, 20000);
  EXPECT_GE(refused, 2000);
}

}  // namespace
}  // namespace engine::tensor
