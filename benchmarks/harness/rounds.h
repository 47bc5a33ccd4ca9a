// harness/rounds.h: several jobs timed against each other.
//
// Note [Why not Google Benchmark]
// What counts here is a ratio: memcpy's time over ours. Absolute times drift by a factor of two on
// shared machines, within seconds, so both have to be timed next to each other, again and again,
// and the median is taken of the ratios, not of the times. Google Benchmark interleaves repetitions
// at best in random order and aggregates each benchmark by itself; there is no place to pair the
// n-th repetition of one with the n-th of another. `bench_tensor`, whose figures are times, uses
// it.
#ifndef ENGINE_BENCHMARKS_HARNESS_ROUNDS_H_
#define ENGINE_BENCHMARKS_HARNESS_ROUNDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/contender.h"

namespace engine::benchmarks {

struct RoundOptions {
  int rounds = 15;
  // A lane's share of a round; as many runs as fit are timed together, at least one.
  double nanoseconds_per_round = 400e3;
  // A lane that need not run in every round sits out the rounds that are left once it has taken
  // this long, but for the first kMinRounds.
  double nanoseconds_per_lane = 0.5e9;
  // When set, this memory is read after each run, as part of what is timed.
  std::span<const std::byte> read_back;
};

struct Lane {
  Job* job;
  bool every_round;
};
inline constexpr int kMinRounds = 3;

struct Timing {
  double median_ns = 0;  // of one run
  double best_ns = 0;
  // The baseline's time over this one's, from the rounds that this one took part in.
  double ratio = 1;  // median
  double ratio_p10 = 1;
  double ratio_p90 = 1;
  int rounds = 0;
};

// In every round every job runs once untimed, so that caches and pages are as its own run leaves
// them whoever came before (not jobs above 50 ms, for which that is noise), then timed. The order
// rotates. The first lane is the baseline; it must run in every round.
[[nodiscard]] std::vector<Timing> MeasureRounds(std::span<const Lane> lanes,
                                                const RoundOptions& options);

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_ROUNDS_H_
