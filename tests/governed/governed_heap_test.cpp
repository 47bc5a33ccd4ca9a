// What governed tensors ask of the heap, and what becomes of them when it refuses: the operation is
// OutOfMemory, and tensor, siblings and counts are as they were.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"
#include "memory/buffer.h"
#include "tensor/tensor.h"
#include "testing/allocators.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::governed {
namespace {

using testing::CountingAllocator;
using testing::HeapAllocationsOnThisThread;
using testing::ScopedHeapFailure;
using Floats = std::vector<float>;
using Governed = GovernedTensor<float>;

// Runs `operation` with 0, 1, 2, ... calls of operator new succeeding, until none fails any more.
// `unchanged` is asked after each failure. Returns how many failed.
template <typename Operation, typename Unchanged>
int FailHeapInTurn(Operation operation, Unchanged unchanged) {
  for (int successes = 0;; ++successes) {
    core::Status status;
    bool triggered = false;
    {
      const ScopedHeapFailure failure(successes);
      status = operation();
      triggered = failure.triggered();
    }
    if (!triggered) {
      ENGINE_EXPECT_OK(status);
      return successes;
    }
    EXPECT_THAT(status, FailsWith(Failure::kOutOfMemory)) << "after " << successes;
    EXPECT_TRUE(unchanged()) << "after " << successes;
  }
}

// A family: a parent, a view of it with an offset, a turned copy.
struct Family {
  Family() {
    ENGINE_CHECK(turned.Transpose({1, 0}).ok());
    Remember();
  }
  void Remember() {
    before = {Snapshot<float>(parent), Snapshot<float>(view), Snapshot<float>(turned)};
  }
  bool Unchanged() const {
    return before == std::vector<Snapshot<float>>{Snapshot<float>(parent), Snapshot<float>(view),
                                                  Snapshot<float>(turned)};
  }

  Governed parent = Counting({4, 4});
  Governed view = *parent.View({{1, 3}, {1, 4}});
  Governed turned = parent;
  std::vector<Snapshot<float>> before;
};

// Every operation that allocates, on one member of a family, with storage from `allocator`.
struct Case {
  const char* name;
  int heap_allocations;  // of operator new; the process allocator does not use it
  int storage_allocations;
  core::Status (*run)(Family&, memory::Allocator*);
};

const Case kCases[] = {
    {"SetView", 1, 1,
     [](Family& f, memory::Allocator* a) {
       return f.view.Set({1, 1}, 50, a);
     }},
    {"SetTurned", 1, 1,
     [](Family& f, memory::Allocator* a) {
       return f.turned.Set({3, 0}, 50, a);
     }},
    {"SetParent", 1, 1,
     [](Family& f, memory::Allocator* a) {
       return f.parent.Set({0, 0}, 50, a);
     }},
    {"MaterializeView", 1, 1,
     [](Family& f, memory::Allocator* a) { return f.view.Materialize(a); }},
    {"MaterializeTurned", 1, 1,
     [](Family& f, memory::Allocator* a) { return f.turned.Materialize(a); }},
    {"MaterializeParent", 1, 1,
     [](Family& f, memory::Allocator* a) { return f.parent.Materialize(a); }},
    {"MutableData", 1, 1,
     [](Family& f, memory::Allocator* a) { return f.view.mutable_data(a).status(); }},
    {"AsTensor", 1, 0, [](Family& f, memory::Allocator*) { return f.turned.AsTensor().status(); }},
    {"Alloc", 1, 1,
     [](Family&, memory::Allocator* a) {
       return Governed::Alloc({3, 3}, a).status();
     }},
    {"FromTensor", 1, 1,
     [](Family& f, memory::Allocator* a) {
       static const tensor::Tensor source = testing::Counting({2, 3}, tensor::DataType::kFloat32);
       static_cast<void>(f);
       return Governed::FromTensor(source, a).status();
     }},
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class GovernedOutOfMemoryTest : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Operations, GovernedOutOfMemoryTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST_P(GovernedOutOfMemoryTest, OfTheHeap) {
  Family warm;  // whatever is made on first use
  ENGINE_ASSERT_OK(GetParam().run(warm, nullptr));
  Family family;
  const int failed = FailHeapInTurn([&] { return GetParam().run(family, nullptr); },
                                    [&] { return family.Unchanged(); });
  EXPECT_EQ(failed, GetParam().heap_allocations);
}

TEST_P(GovernedOutOfMemoryTest, OfTheStorage) {
  Family family;
  for (int successes = 0; successes < GetParam().storage_allocations; ++successes) {
    CountingAllocator allocator(successes);
    EXPECT_THAT(GetParam().run(family, &allocator), FailsWith(Failure::kOutOfMemory));
    EXPECT_TRUE(family.Unchanged());
    EXPECT_EQ(allocator.counts()->deletions, allocator.counts()->allocations);
  }
  CountingAllocator allocator(GetParam().storage_allocations);
  ENGINE_EXPECT_OK(GetParam().run(family, &allocator));
  EXPECT_EQ(allocator.counts()->allocations, GetParam().storage_allocations);
}

// The buffer stays with the caller until it can be counted.
TEST(GovernedHeapTest, AdoptWithoutMemoryForTheCount) {
  Floats data = {1, 2};
  int returned = 0;
  memory::Buffer buffer(data.data(), 8, tensor::Device::Cpu(), [&](void*) { ++returned; });
  const int failed = FailHeapInTurn(
      [&] { return Governed::Adopt(std::move(buffer), {2}).status(); },
      [&] { return buffer.engaged() && buffer.data() == data.data() && returned == 0; });
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(returned, 1);  // by the tensor, once it was made and dropped
}

template <typename Operation>
std::int64_t AllocationsOf(Operation operation) {
  const std::int64_t before = HeapAllocationsOnThisThread();
  { [[maybe_unused]] const auto result = operation(); }
  return HeapAllocationsOnThisThread() - before;
}

TEST(GovernedHeapTest, WhatSharesOrReadsDoesNotAllocate) {
  Governed t = Counting({2, 3});
  EXPECT_EQ(AllocationsOf([&] { return Governed(t); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.View({{0, 2}, {1, 3}}); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.Transpose({1, 0}); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.Transpose({1, 0}); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.Reshape({3, 2}); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.Materialize(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.Get({2, 1}); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.Set({2, 1}, 1); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.mutable_data(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return t.Descriptor(); }), 0);
  const core::Status failed = t.Reshape({});
  EXPECT_EQ(AllocationsOf([&] { return FailureOf(failed); }), 0);
  EXPECT_GT(AllocationsOf([&] { return t.Reshape({}); }), 0);  // the counter works
}

#ifdef __cpp_exceptions
// An error that cannot be described is OutOfMemory, whichever of its allocations fails. (Without
// exceptions the heap aborts.)
TEST(GovernedHeapTest, FailuresThatCannotBeDescribed) {
  Family f;
  const auto expect = [&](auto operation, Failure failure) {
    const core::Status described = operation();
    EXPECT_THAT(described, FailsWith(failure));
    int superseded = 0;
    for (int successes = 0;; ++successes) {
      core::Status status;
      bool triggered = false;
      {
        const ScopedHeapFailure heap(successes);
        status = operation();
        triggered = heap.triggered();
      }
      EXPECT_TRUE(f.Unchanged());
      if (!triggered) {
        EXPECT_EQ(status, described);
        break;
      }
      ++superseded;
      EXPECT_THAT(status, FailsWith(Failure::kOutOfMemory)) << "after " << successes;
    }
    EXPECT_GT(superseded, 0);
  };
  expect([&] { return f.view.Reshape({}); }, Failure::kEmptyTensor);
  expect([&] { return f.view.Reshape({7}); }, Failure::kShapeMismatch);
  expect([&] { return f.view.Reshape({6}); }, Failure::kNotContiguous);
  expect([&] { return f.parent.Reshape({16}); }, Failure::kNotExclusive);
  expect([&] { return f.view.Transpose({0, 0}); }, Failure::kInvalidPermutation);
  expect([&] { return f.view.View({{0, 0}, {0, 1}}).status(); }, Failure::kInvalidSliceRange);
  expect([&] { return f.view.View({{0, 1}}).status(); }, Failure::kDimensionMismatch);
  expect([&] { return f.view.Get({0, 3}).status(); }, Failure::kIndexOutOfBounds);
  expect([&] { return f.view.Set({0, 3}, 1); }, Failure::kIndexOutOfBounds);
  expect([&] { return Governed::Alloc({0}).status(); }, Failure::kEmptyTensor);
}
#endif

}  // namespace
}  // namespace engine::governed
