// A family of siblings beside its model: what each tensor is expected to show, and the comparison.
#ifndef ENGINE_TESTS_GOVERNED_MODEL_FAMILY_H_
#define ENGINE_TESTS_GOVERNED_MODEL_FAMILY_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"
#include "nested_values.h"
#include "tensor/tensor.h"
#include "testing/status_matchers.h"

namespace engine::governed {

using Governed = GovernedTensor<float>;
using Outcome = std::optional<Failure>;  // none: success

inline std::int64_t Product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

inline Dims Canonical(const Dims& dims) {
  Dims strides(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    strides[i] = Product(Dims(dims.begin() + static_cast<std::ptrdiff_t>(i) + 1, dims.end()));
  }
  return strides;
}

inline Dims ToDims(std::span<const std::int64_t> values) {
  return Dims(values.begin(), values.end());
}

// One tensor of the family, and all that is expected of it.
struct Member {
  Governed tensor;
  Nested values;
  Dims dims;
  Dims strides;
  std::int64_t offset = 0;
  int storage = 0;  // a number of its own for every storage
};

// One that AsTensor has lent.
struct Loan {
  tensor::Tensor tensor;
  Nested values;
  Dims strides;
  int storage = 0;
};

// The tensors, the numbers that operations on them draw, and how those have come out. Values and
// layouts follow formulas of their own; whoever operates on a tensor changes its Member alike.
class FamilyModel {
 public:
  // Compares all of the family with the model.
  void Check() const {
    for (const Member& member : members_) CheckMember(member);
    for (const Loan& loan : loans_) {
      ASSERT_TRUE(Shows(static_cast<const float*>(loan.tensor.data()), loan.strides, loan.values));
    }
  }

  const std::string& last() const { return last_; }
  const std::map<std::string, std::int64_t>& outcomes() const { return outcomes_; }

 protected:
  static constexpr std::size_t kMostMembers = 8;
  static constexpr std::size_t kMostLoans = 3;

  explicit FamilyModel(std::uint64_t seed) : random_(seed) {}
  ~FamilyModel() = default;

  // Uniform in [low, high].
  std::int64_t Pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Chance(int one_in) { return Pick(1, one_in) == 1; }
  float FreshValue() { return next_value_ += 1; }

  std::int64_t Sharers(int storage) const {
    return std::count_if(members_.begin(), members_.end(),
                         [&](const Member& m) { return m.storage == storage; }) +
           std::count_if(loans_.begin(), loans_.end(),
                         [&](const Loan& l) { return l.storage == storage; });
  }
  bool IsCanonical(const Member& member) const { return member.strides == Canonical(member.dims); }

  // That the operation came out as the contract says.
  void Expect(const char* operation, const core::Status& status, Outcome expected) {
    last_ = operation;
    last_ += expected.has_value() ? ":" + std::string(to_string(*expected)) : ":ok";
    ++outcomes_[last_];
    if (expected.has_value()) {
      ASSERT_THAT(status, FailsWith(*expected)) << operation;
    } else {
      ENGINE_ASSERT_OK(status) << operation;
    }
  }

  // Makes room for one member more.
  void Crowd() {
    if (members_.size() < kMostMembers) return;
    members_.erase(members_.begin() + Pick(0, static_cast<std::int64_t>(members_.size()) - 1));
  }

  int NewStorage(std::int64_t elements) {
    const int storage = next_storage_++;
    storage_sizes_[storage] = elements;
    return storage;
  }
  // The model of a handle on fresh canonical storage.
  void Settle(Member& member) {
    member.strides = Canonical(member.dims);
    member.offset = 0;
    member.storage = NewStorage(Product(member.dims));
  }

  std::mt19937_64 random_;
  std::vector<Member> members_;
  std::vector<Loan> loans_;
  std::map<int, std::int64_t> storage_sizes_;
  int next_storage_ = 0;
  float next_value_ = 0;
  std::string last_;
  std::map<std::string, std::int64_t> outcomes_;

 private:
  void CheckMember(const Member& m) const {
    const TensorDescriptor d = m.tensor.Descriptor();
    const std::int64_t sharers = Sharers(m.storage);
    ASSERT_EQ(ToDims(m.tensor.shape().dims()), m.dims);
    ASSERT_EQ(ToDims(m.tensor.strides().values()), m.strides);  // invariant 3
    ASSERT_EQ(m.tensor.offset(), m.offset);
    ASSERT_EQ(m.tensor.size(), Product(m.dims));
    ASSERT_EQ(m.tensor.storage_size(), storage_sizes_.at(m.storage));
    ASSERT_EQ(m.tensor.refcount(), sharers);
    ASSERT_GE(m.tensor.refcount(), 1);  // invariant 5
    ASSERT_EQ(m.tensor.owns_storage(), sharers == 1);
    ASSERT_EQ(m.tensor.is_contiguous(), IsCanonical(m));    // invariant 2
    ASSERT_LT(m.tensor.offset(), m.tensor.storage_size());  // invariant 4
    std::int64_t last = m.tensor.offset();
    for (std::size_t i = 0; i < m.dims.size(); ++i) last += (m.dims[i] - 1) * m.strides[i];
    ASSERT_LT(last, m.tensor.storage_size());  // invariant 1
    ASSERT_EQ(d.is_contiguous != 0, IsCanonical(m));
    ASSERT_EQ(d.owns_storage != 0, sharers == 1);
    for (const Member& other : members_) {
      ASSERT_EQ(d.data == other.tensor.Descriptor().data, m.storage == other.storage);
    }
    ASSERT_EQ(m.tensor.data(), static_cast<const float*>(d.data) + d.offset);
    ASSERT_TRUE(Shows(m.tensor.data(), m.strides, m.values));
  }
};

}  // namespace engine::governed

#endif  // ENGINE_TESTS_GOVERNED_MODEL_FAMILY_H_
