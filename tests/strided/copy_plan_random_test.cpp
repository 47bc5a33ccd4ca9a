// Random layouts of the sizes at which plans change their blocks, their tiles and their strategy,
// against the naive loop of src/testing. Clause: copies and casts by logical index, whatever the
// layout, the same bytes and verdict for any partition, nothing written outside.
//
// Compiled twice: the everyday run, and a long one labelled exhaustive.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "strided/copy_plan.h"
#include "strided/target.h"
#include "tensor/dtype.h"
#include "testing/copy_plan_trial.h"
#include "testing/random_layout.h"
#include "testing/samples.h"

namespace engine::strided {
namespace {

using tensor::DataType;

#ifdef ENGINE_TEST_EXHAUSTIVE
constexpr std::uint64_t kFirstSeed = 1'000'000;
constexpr std::uint64_t kTrials = 40'000;
#else
constexpr std::uint64_t kFirstSeed = 1;
constexpr std::uint64_t kTrials = 2'000;
#endif

// Every run says what it covered; a failure adds the one seed that found it.
void PrintSeeds(std::uint64_t trials) {
  fmt::print("seeds {} to {} on {}\n", kFirstSeed, kFirstSeed + trials - 1, ActiveTarget());
}

// Any pair that converts, one in three of them a plain copy.
struct Pair {
  DataType dst;
  DataType src;
};
Pair DrawPair(testing::RandomDraw& draw) {
  const auto any = [&] {
    return testing::kCastableDTypes[static_cast<std::size_t>(
        draw(0, static_cast<std::int64_t>(testing::kCastableDTypes.size()) - 1))];
  };
  const DataType src = draw(0, 40) == 0 ? DataType::kBool : any();
  return {src == DataType::kBool || draw(0, 2) == 0 ? src : any(), src};
}

TEST(CopyPlanRandomTest, SmallLayoutsOfAnyRank) {
  PrintSeeds(20 * kTrials);
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 20 * kTrials; ++seed) {
    testing::RandomDraw draw(seed);
    const auto [dst, src] = DrawPair(draw);
    ASSERT_EQ(testing::CopyPlanTrial(draw, dst, src, draw(1, 600)), "") << "seed " << seed;
  }
}

TEST(CopyPlanRandomTest, SizesAroundTheBlocks) {
  constexpr std::int64_t kMaxNumel = 40'000;
  constexpr std::int64_t kAliases[] = {1, 1, 16, 64, 256, 1024, 4096};
  PrintSeeds(kTrials);
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kTrials; ++seed) {
    testing::RandomDraw draw(seed);
    const auto [dst, src] = DrawPair(draw);
    const tensor::Shape shape = testing::DrawShapeNearBlocks(draw, kMaxNumel);
    const std::int64_t alias = kAliases[draw(0, 6)];
    ASSERT_EQ(testing::CopyPlanTrial(draw, dst, src, shape, alias), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace engine::strided
