// Random operations on a family of siblings against a model of values: each tensor a vector of
// vectors, which shares nothing. Beside it the model keeps what the contract says about layout and
// count, by formulas of its own. After every operation all of the family is compared, and the
// contract's invariants are checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"
#include "model_family.h"
#include "nested_values.h"
#include "tensor/tensor.h"
#include "testing/allocators.h"
#include "testing/status_matchers.h"

namespace engine::governed {
namespace {

// The operations, at random.
class Family : public FamilyModel {
 public:
  explicit Family(std::uint64_t seed) : FamilyModel(seed) { Alloc(); }

  void Step() {
    if (members_.empty() || Chance(30)) return Alloc();
    subject_ = Pick(0, static_cast<std::int64_t>(members_.size()) - 1);
    switch (Pick(0, 11)) {
      case 0:
        return Drop();
      case 1:
      case 2:
        return View();
      case 3:
        return Transpose();
      case 4:
        return Reshape();
      case 5:
        return Materialize();
      case 6:
        return Get();
      case 7:
        return Copy();
      case 8:
        return Lend();
      case 9:
        return FromTensor();
      default:
        return Set();
    }
  }

 private:
  Member& subject() { return members_[static_cast<std::size_t>(subject_)]; }

  Dims RandomDims() {
    Dims dims;
    const std::int64_t rank = Pick(1, 4);
    while (static_cast<std::int64_t>(dims.size()) < rank) dims.push_back(Pick(1, 3));
    return dims;
  }
  Dims RandomIndex(const Dims& dims) {
    Dims index;
    for (const std::int64_t dim : dims) index.push_back(Pick(0, dim - 1));
    return index;
  }
  // Coordinates that are mostly right, and what is to come of them.
  std::pair<Dims, Outcome> Coordinates() {
    Dims index = RandomIndex(subject().dims);
    if (!Chance(6)) return {index, std::nullopt};
    if (Chance(2)) {
      if (Chance(2)) {
        index.push_back(0);
      } else {
        index.pop_back();
      }
      return {index, Failure::kDimensionMismatch};
    }
    const auto axis =
        static_cast<std::size_t>(Pick(0, static_cast<std::int64_t>(index.size()) - 1));
    index[axis] = Chance(2) ? -Pick(1, 3) : subject().dims[axis] + Pick(0, 2);
    return {index, Failure::kIndexOutOfBounds};
  }
  // Null, or one that has no memory: then what allocates must fail.
  memory::Allocator* RandomAllocator(testing::CountingAllocator& none) {
    return Chance(6) ? &none : nullptr;
  }

  void Alloc() {
    Crowd();
    Member member;
    member.dims = RandomDims();
    if (Chance(10)) {
      member.dims[static_cast<std::size_t>(
          Pick(0, static_cast<std::int64_t>(member.dims.size()) - 1))] = -Pick(0, 1);
      return Expect("Alloc", Governed::Alloc(member.dims).status(), Failure::kEmptyTensor);
    }
    auto made = Governed::Alloc(member.dims);
    Expect("Alloc", made.status(), std::nullopt);
    member.tensor = *std::move(made);
    member.values = Build(member.dims, [](const Dims&) { return 0.0f; });
    Settle(member);
    const std::int64_t writes = Chance(4) ? 0 : Product(member.dims);
    for (std::int64_t i = 0; i < writes; ++i) {
      const Dims index = RandomIndex(member.dims);
      At(member.values, index) = FreshValue();
      ENGINE_ASSERT_OK(member.tensor.Set(index, next_value_));
    }
    members_.push_back(std::move(member));
  }

  void Drop() {
    if (!loans_.empty() && Chance(2)) {
      last_ = "DropLoan:ok";
      loans_.erase(loans_.begin() + Pick(0, static_cast<std::int64_t>(loans_.size()) - 1));
    } else {
      last_ = "Free:ok";
      subject().tensor.Free();
      ASSERT_EQ(subject().tensor.refcount(), 0);
      members_.erase(members_.begin() + subject_);
    }
    ++outcomes_[last_];
  }

  void Copy() {
    Member copy = subject();
    Expect("Copy", core::OkStatus(), std::nullopt);
    Crowd();
    members_.push_back(std::move(copy));
  }

  void View() {
    const Member& from = subject();
    std::vector<SliceRange> ranges;
    Outcome expected;
    for (const std::int64_t dim : from.dims) {
      const std::int64_t start = Pick(0, dim - 1);
      ranges.push_back({Chance(2) ? 0 : start, Chance(2) ? dim : start + 1, Pick(1, 3)});
    }
    if (Chance(8)) {
      expected = Failure::kInvalidSliceRange;
      const auto axis = static_cast<std::size_t>(Pick(0, std::ssize(ranges) - 1));
      SliceRange& range = ranges[axis];
      switch (Pick(0, 4)) {
        case 0:
          range.end = range.start;
          break;
        case 1:
          range.step = -Pick(0, 2);
          break;
        case 2:
          range.end = from.dims[axis] + Pick(1, 3);
          break;
        case 3:
          range.start = -1;
          break;
        default:
          range.start = from.dims[axis];
          break;
      }
    } else if (Chance(12)) {
      expected = Failure::kDimensionMismatch;
      if (Chance(2)) {
        ranges.push_back({0, 1});
      } else {
        ranges.pop_back();
      }
    }
    auto view = from.tensor.View(ranges);
    Expect("View", view.status(), expected);
    if (expected.has_value()) return;
    Member member{*std::move(view), Slice(from.values, ranges), {}, {}, from.offset, from.storage};
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto& [start, end, step] = ranges[i];
      std::int64_t count = 0;
      for (std::int64_t at = start; at < end; at += step) ++count;
      member.dims.push_back(count);
      member.strides.push_back(from.strides[i] * step);
      member.offset += start * from.strides[i];
    }
    Crowd();
    members_.push_back(std::move(member));
  }

  void Transpose() {
    Member& m = subject();
    std::vector<int> axes(m.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random_);
    if (Chance(8)) {
      switch (Pick(0, 2)) {
        case 0:
          axes.push_back(axes[0]);
          break;
        case 1:
          axes.pop_back();
          break;
        default:
          axes[0] = axes.size() > 1 && Chance(2) ? axes[1] : static_cast<int>(axes.size());
          break;
      }
      return Expect("Transpose", m.tensor.Transpose(axes), Failure::kInvalidPermutation);
    }
    Expect("Transpose", m.tensor.Transpose(axes), std::nullopt);
    Nested old = std::move(m.values);
    const Dims old_dims = m.dims;
    const Dims old_strides = m.strides;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      m.dims[i] = old_dims[static_cast<std::size_t>(axes[i])];
      m.strides[i] = old_strides[static_cast<std::size_t>(axes[i])];
    }
    m.values = Build(m.dims, [&](const Dims& index) {
      Dims from(index.size());
      for (std::size_t i = 0; i < axes.size(); ++i) {
        from[static_cast<std::size_t>(axes[i])] = index[i];
      }
      return At(old, from);
    });
  }

  void Reshape() {
    Member& m = subject();
    Dims dims;
    std::int64_t rest = Product(m.dims);
    while (rest > 1 && dims.size() < 3) {
      std::int64_t factor = Pick(1, std::min<std::int64_t>(rest, 4));
      while (rest % factor != 0) --factor;
      dims.push_back(factor);
      rest /= factor;
    }
    dims.push_back(rest);
    Outcome expected;
    if (Chance(10)) {
      dims.clear();
      expected = Failure::kEmptyTensor;
    } else if (Chance(8)) {
      dims.push_back(Chance(2) ? 0 : 2);
      expected = Failure::kShapeMismatch;
    } else if (!IsCanonical(m)) {
      expected = Failure::kNotContiguous;
    } else if (Sharers(m.storage) != 1) {
      expected = Failure::kNotExclusive;
    }
    Expect("Reshape", m.tensor.Reshape(dims), expected);
    if (expected.has_value()) return;
    std::vector<float> flat;
    Flatten(m.values, flat);
    std::size_t next = 0;
    m.values = Build(dims, [&](const Dims&) { return flat[next++]; });
    m.dims = dims;
    m.strides = Canonical(dims);
  }

  void Materialize() {
    Member& m = subject();
    const bool nothing = IsCanonical(m) && Sharers(m.storage) == 1;
    testing::CountingAllocator none(0);
    memory::Allocator* const allocator = RandomAllocator(none);
    const Outcome expected =
        allocator != nullptr && !nothing ? Outcome(Failure::kOutOfMemory) : std::nullopt;
    Expect("Materialize", m.tensor.Materialize(allocator), expected);
    if (expected.has_value() || nothing) return;
    Settle(m);
    // Invariant 6.
    ASSERT_TRUE(m.tensor.owns_storage() && m.tensor.is_contiguous() && m.tensor.offset() == 0);
  }

  void Get() {
    const auto [index, expected] = Coordinates();
    const auto value = subject().tensor.Get(index);
    Expect("Get", value.status(), expected);
    if (!expected.has_value()) {
      ASSERT_EQ(*value, At(subject().values, index));
    }
  }

  void Set() {
    Member& m = subject();
    auto [index, expected] = Coordinates();
    const bool shared = Sharers(m.storage) > 1;
    testing::CountingAllocator none(0);
    memory::Allocator* const allocator = RandomAllocator(none);
    if (!expected.has_value() && shared && allocator != nullptr) expected = Failure::kOutOfMemory;
    Expect(shared ? "SetShared" : "SetExclusive", m.tensor.Set(index, FreshValue(), allocator),
           expected);
    if (expected.has_value()) return;
    At(m.values, index) = next_value_;
    if (!shared) return;
    std::int64_t window = 1;
    for (std::size_t i = 0; i < m.dims.size(); ++i) window += (m.dims[i] - 1) * m.strides[i];
    m.offset = 0;
    m.storage = NewStorage(window);
  }

  void Lend() {
    const Member& m = subject();
    auto lent = m.tensor.AsTensor();
    Expect("AsTensor", lent.status(), std::nullopt);
    if (loans_.size() == kMostLoans) loans_.erase(loans_.begin());
    loans_.push_back({*std::move(lent), m.values, m.strides, m.storage});
  }

  // Of a loan when there is one: its strides may be any.
  void FromTensor() {
    if (loans_.empty()) return Lend();
    const Loan& loan = loans_[static_cast<std::size_t>(Pick(0, std::ssize(loans_) - 1))];
    auto made = Governed::FromTensor(loan.tensor);
    Expect("FromTensor", made.status(), std::nullopt);
    Member member{*std::move(made), loan.values, ToDims(loan.tensor.shape().dims()), {}, 0, 0};
    Settle(member);
    Crowd();
    members_.push_back(std::move(member));
  }

  std::int64_t subject_ = 0;  // the member that the present operation is about
};

// ThreadSanitizer has nothing to find here, and takes a minute for a million operations. GCC
// announces it by a macro, Clang as a feature.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ENGINE_TESTS_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define ENGINE_TESTS_THREAD_SANITIZER 1
#endif
#ifdef ENGINE_TESTS_THREAD_SANITIZER
constexpr int kSeeds = 20;
#else
constexpr int kSeeds = 200;
#endif

TEST(GovernedModelTest, RandomOperationsShowTheValuesOfTheModel) {
  constexpr int kSteps = 5000;
  std::printf("seeds 1 to %d, %d operations each\n", kSeeds, kSteps);
  std::map<std::string, std::int64_t> outcomes;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    Family family(static_cast<std::uint64_t>(seed));
    for (int step = 0; step < kSteps; ++step) {
      family.Step();
      family.Check();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step << ", " << family.last();
    }
    for (const auto& [outcome, count] : family.outcomes()) outcomes[outcome] += count;
  }
  // None may be missing, or be rare.
  for (const char* const outcome : {"Alloc:EmptyTensor",
                                    "Alloc:ok",
                                    "AsTensor:ok",
                                    "Copy:ok",
                                    "DropLoan:ok",
                                    "Free:ok",
                                    "FromTensor:ok",
                                    "Get:DimensionMismatch",
                                    "Get:IndexOutOfBounds",
                                    "Get:ok",
                                    "Materialize:OutOfMemory",
                                    "Materialize:ok",
                                    "Reshape:EmptyTensor",
                                    "Reshape:NotContiguous",
                                    "Reshape:NotExclusive",
                                    "Reshape:ShapeMismatch",
                                    "Reshape:ok",
                                    "SetExclusive:ok",
                                    "SetShared:DimensionMismatch",
                                    "SetShared:IndexOutOfBounds",
                                    "SetShared:OutOfMemory",
                                    "SetShared:ok",
                                    "Transpose:InvalidPermutation",
                                    "Transpose:ok",
                                    "View:DimensionMismatch",
                                    "View:InvalidSliceRange",
                                    "View:ok"}) {
    EXPECT_GE(outcomes[outcome], 5 * kSeeds) << outcome;
  }
}

}  // namespace
}  // namespace engine::governed
