// What the suites of governed tensors share.
#ifndef ENGINE_TESTS_GOVERNED_GOVERNED_TEST_UTIL_H_
#define ENGINE_TESTS_GOVERNED_GOVERNED_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "governed/failure.h"
#include "governed/governed_tensor.h"
#include "testing/reference.h"
#include "testing/status_matchers.h"

namespace engine::governed {

// Names in gtest's messages, and in the names of parameterised cases.
inline void PrintTo(Failure failure, std::ostream* out) { *out << to_string(failure); }

// An error that carries this Failure, and begins with its name unless it is OutOfMemory.
MATCHER_P(FailsWith, failure, "fails with " + std::string(to_string(failure))) {
  const core::Status status = testing::StatusOf(arg);
  *result_listener << "it is " << status.ToString();
  if (status.ok() || FailureOf(status) != failure) return false;
  const std::string name(to_string(failure));
  return failure == Failure::kOutOfMemory
             ? status.message().empty()
             : std::string(status.message()).rfind(name + ": ", 0) == 0;
}

// Fresh storage that holds `first`, first + 1, ... in row-major order.
template <typename T = float>
[[nodiscard]] GovernedTensor<T> Counting(std::initializer_list<std::int64_t> dims, int first = 0) {
  auto made = GovernedTensor<T>::Alloc(dims);
  ENGINE_CHECK(made.ok());
  testing::reference::ForEachCoordinates(made->shape(), [&](const tensor::DimVector& at) {
    ENGINE_CHECK(made->Set(at.values(), static_cast<T>(first++)).ok());
  });
  return *std::move(made);
}

// The elements in row-major order, by Get.
template <typename T>
[[nodiscard]] std::vector<T> ValuesOf(const GovernedTensor<T>& tensor) {
  std::vector<T> values;
  if (!tensor.defined()) return values;
  testing::reference::ForEachCoordinates(tensor.shape(), [&](const tensor::DimVector& at) {
    const core::StatusOr<T> value = tensor.Get(at.values());
    ENGINE_CHECK(value.ok());
    values.push_back(*value);
  });
  return values;
}

// All that a failed operation must leave as it was.
template <typename T>
struct Snapshot {
  explicit Snapshot(const GovernedTensor<T>& tensor)
      : storage(tensor.Descriptor().data),
        storage_size(tensor.storage_size()),
        refcount(tensor.refcount()),
        offset(tensor.offset()),
        shape(tensor.shape()),
        strides(tensor.strides()),
        values(ValuesOf(tensor)) {}

  friend bool operator==(const Snapshot&, const Snapshot&) = default;

  const void* storage;
  std::int64_t storage_size;
  std::int64_t refcount;
  std::int64_t offset;
  tensor::Shape shape;
  tensor::Strides strides;
  std::vector<T> values;
};

// Expects `operation` to fail on `tensor` and to change nothing.
template <typename Operation>
void ExpectFailure(GovernedTensor<float>& tensor, Failure failure, Operation operation) {
  const Snapshot<float> before(tensor);
  EXPECT_THAT(operation(tensor), FailsWith(failure));
  EXPECT_TRUE(Snapshot<float>(tensor) == before) << "changed by a failed operation";
}

}  // namespace engine::governed

#endif  // ENGINE_TESTS_GOVERNED_GOVERNED_TEST_UTIL_H_
