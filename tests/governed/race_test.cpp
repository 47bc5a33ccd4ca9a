// Races. Meant for ThreadSanitizer, which sees an access that nothing orders whether or not its
// value is wrong this time; without it the values are checked.
// Source: docs/design/governed.md, "Races".
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "governed/governed_tensor.h"
#include "governed_test_util.h"
#include "strided/layout.h"
#include "tensor/tensor.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::governed {
namespace {

using Floats = std::vector<float>;
using Governed = GovernedTensor<float>;

// P80: one thread reads through its handle and lets go; the other writes in place as soon as it is
// the only one. With a relaxed count nothing would order the reads before the write.
TEST(GovernedRaceTest, LastReadsComeBeforeTheFirstWriteInPlace) {
  for (int round = 0; round < 200; ++round) {
    Governed writer = Counting({4, 4});
    Governed reader = *writer.View({{0, 4}, {0, 4}});
    const float* const storage = writer.data();
    std::thread reading([reader = std::move(reader)]() mutable {
      EXPECT_EQ(ValuesOf(reader), ValuesOf(Counting({4, 4})));
      reader.Free();
    });
    while (!writer.owns_storage()) std::this_thread::yield();
    ENGINE_EXPECT_OK(writer.Set({3, 3}, 99));
    EXPECT_EQ(writer.data(), storage);
    reading.join();
  }
}

// The same for what AsTensor lends.
TEST(GovernedRaceTest, ALoanEndsBeforeTheFirstWriteInPlace) {
  for (int round = 0; round < 200; ++round) {
    Governed writer = Counting({8});
    tensor::Tensor loan = *writer.AsTensor();
    std::thread reading([loan = std::move(loan)]() mutable {
      std::thread also([copy = loan] { EXPECT_EQ(testing::ValuesOf<float>(copy)[7], 7.0f); });
      EXPECT_EQ(testing::ValuesOf<float>(loan)[0], 0.0f);
      loan = tensor::Tensor();
      also.join();
    });
    while (!writer.owns_storage()) std::this_thread::yield();
    ENGINE_EXPECT_OK(writer.Set({0}, 99));
    ENGINE_EXPECT_OK(writer.Set({7}, 99));
    reading.join();
  }
}

// Every sibling writes at once: whoever finds the others gone writes in place, the rest clone, and
// the old storage dies with the last of them.
TEST(GovernedRaceTest, SiblingsWriteAtOnce) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 100; ++round) {
    Governed parent = Counting({6, 6});
    std::vector<std::thread> threads;
    std::latch start(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&start, i, own = *parent.View({{0, 6}, {i, i + 3}})]() mutable {
        Floats expected;
        for (int row = 0; row < 6; ++row) {
          for (int column = i; column < i + 3; ++column) {
            expected.push_back(static_cast<float>(6 * row + column));
          }
        }
        start.arrive_and_wait();
        for (int step = 0; step < 18; ++step) {
          const auto at = static_cast<std::size_t>(step);
          expected[at] = static_cast<float>(1000 * (i + 1) + step);
          if (step % 5 == 4) {
            ENGINE_EXPECT_OK(own.Materialize());
          }
          ENGINE_EXPECT_OK(own.Set({step / 3, step % 3}, expected[at]));
          EXPECT_EQ(ValuesOf(own), expected);
        }
      });
    }
    parent.Free();
    for (std::thread& thread : threads) thread.join();
  }
}

// Threads set, view, transpose, materialize, lend and drop handles of their own, and keep handing
// each other copies, so that storage is shared across threads all the time. What a handle shows is
// recorded beside it; a write that a sibling could see would break the record.
class Exchange {
 public:
  struct Entry {
    Governed handle;
    Floats values;
  };

  Exchange() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].entry.handle = Counting({3, 4}, static_cast<int>(100 * i));
      slots_[i].entry.values = ValuesOf(slots_[i].entry.handle);
    }
  }

  // Leaves `entry` in a slot and takes what was there.
  Entry Swap(std::size_t slot, Entry entry) {
    const std::lock_guard lock(slots_[slot].mutex);
    std::swap(slots_[slot].entry, entry);
    return entry;
  }
  // A sibling of what is in a slot.
  Entry Copy(std::size_t slot) {
    const std::lock_guard lock(slots_[slot].mutex);
    return slots_[slot].entry;
  }

  static constexpr std::size_t kSlots = 3;

 private:
  struct Slot {
    std::mutex mutex;
    Entry entry;
  };
  std::array<Slot, kSlots> slots_;
};

void Trade(Exchange& exchange, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::size_t below) { return random() % below; };
  Exchange::Entry own = exchange.Copy(pick(Exchange::kSlots));
  for (int step = 0; step < 1500; ++step) {
    ASSERT_EQ(ValuesOf(own.handle), own.values) << "seed " << seed << ", step " << step;
    switch (pick(7)) {
      case 0:
        own = exchange.Copy(pick(Exchange::kSlots));
        break;
      case 1:
        own = exchange.Swap(pick(Exchange::kSlots), own);
        break;
      case 2:
        own = exchange.Swap(pick(Exchange::kSlots), std::move(own));
        break;
      case 3: {
        const tensor::Tensor loan = *own.handle.AsTensor();
        const auto index = pick(own.values.size());
        const tensor::DimVector at =
            strided::CoordinatesOf(static_cast<std::int64_t>(index), own.handle.shape());
        const float value = static_cast<float>(pick(100000));
        ENGINE_EXPECT_OK(own.handle.Set(at.values(), value));
        EXPECT_EQ(testing::ValuesOf<float>(loan), own.values);
        own.values[index] = value;
        break;
      }
      case 4:
        ENGINE_EXPECT_OK(own.handle.Materialize());
        break;
      case 5: {
        const auto rows = static_cast<std::size_t>(own.handle.shape().dim(0));
        const auto columns = static_cast<std::size_t>(own.handle.shape().dim(1));
        ENGINE_EXPECT_OK(own.handle.Transpose({1, 0}));
        Floats turned;
        for (std::size_t column = 0; column < columns; ++column) {
          for (std::size_t row = 0; row < rows; ++row) {
            turned.push_back(own.values[row * columns + column]);
          }
        }
        own.values = std::move(turned);
        break;
      }
      default: {
        const auto index = pick(own.values.size());
        const tensor::DimVector at =
            strided::CoordinatesOf(static_cast<std::int64_t>(index), own.handle.shape());
        own.values[index] = static_cast<float>(pick(100000));
        ENGINE_EXPECT_OK(own.handle.Set(at.values(), own.values[index]));
        const auto extents = own.handle.shape().dims();
        const Governed part = *own.handle.View({{0, extents[0], 2}, {0, extents[1]}});
        EXPECT_EQ(*part.Get({0, 0}), own.values[0]);
        break;
      }
    }
  }
}

TEST(GovernedRaceTest, ThreadsTradeSiblings) {
  Exchange exchange;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&exchange, seed] { Trade(exchange, seed); });
  }
  for (std::thread& thread : threads) thread.join();
}

// One handle, many readers: const functions may run concurrently, those that share too.
TEST(GovernedRaceTest, ConstFunctionsOfOneHandle) {
  const Governed t = Counting({4, 4});
  const Floats expected = ValuesOf(t);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&t, &expected, i] {
      for (int step = 0; step < 300; ++step) {
        Governed mine = i % 2 == 0 ? t : *t.View({{0, 4}, {0, 4}});
        const tensor::Tensor loan = *t.AsTensor();
        EXPECT_GE(t.refcount(), 3);
        EXPECT_FALSE(t.owns_storage());
        ENGINE_EXPECT_OK(mine.Set({0, 0}, -1));
        EXPECT_EQ(ValuesOf(t), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(t.refcount(), 1);
}

}  // namespace
}  // namespace engine::governed
