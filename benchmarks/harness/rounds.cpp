#include "harness/rounds.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

namespace engine::benchmarks {
namespace {

// What an optimiser may not drop.
volatile std::uint64_t g_sink;

void ReadBack(std::span<const std::byte> memory) {
  constexpr std::size_t kWords = 8;
  std::uint64_t sums[kWords] = {};
  for (std::size_t i = 0; i + sizeof sums <= memory.size(); i += sizeof sums) {
    std::uint64_t words[kWords];
    std::memcpy(words, memory.data() + i, sizeof words);
    for (std::size_t k = 0; k < kWords; ++k) sums[k] += words[k];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  g_sink = total;
}

// A job and its times, one per round; none for a round it sat out.
class Runner {
 public:
  Runner(const Lane& lane, const RoundOptions& options) : lane_(lane), options_(options) {
    Run(1);  // page faults, lazy initialisation
    constexpr double kShort = 20e3;
    constexpr std::int64_t kFew = 50;
    double once = Time(1);
    if (once < kShort) once = Time(kFew) / static_cast<double>(kFew);
    repeats_ = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(options.nanoseconds_per_round / std::max(once, 1.0)));
    warm_ = once < 50e6;
  }

  void Round() {
    const bool enough = times_.size() >= kMinRounds && spent_ > options_.nanoseconds_per_lane;
    if (enough && !lane_.every_round) {
      times_.push_back(std::nullopt);
      return;
    }
    if (warm_) Run(1);
    const double taken = Time(repeats_);
    spent_ += taken;
    times_.push_back(taken / static_cast<double>(repeats_));
  }

  [[nodiscard]] const std::vector<std::optional<double>>& times() const { return times_; }

 private:
  void Run(std::int64_t times) {
    if (options_.read_back.empty()) {
      lane_.job->Repeat(times);
      return;
    }
    for (; times > 0; --times) {
      lane_.job->Repeat(1);
      ReadBack(options_.read_back);
    }
  }

  double Time(std::int64_t times) {
    const auto start = std::chrono::steady_clock::now();
    Run(times);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
  }

  Lane lane_;
  const RoundOptions& options_;
  std::int64_t repeats_ = 1;
  bool warm_ = true;
  double spent_ = 0;
  std::vector<std::optional<double>> times_;
};

// `sorted` is not empty.
double Quantile(const std::vector<double>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1) + 0.5)];
}

Timing Summarise(const Runner& baseline, const Runner& runner) {
  std::vector<double> times;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < runner.times().size(); ++round) {
    const std::optional<double> time = runner.times()[round];
    if (!time.has_value()) continue;
    times.push_back(*time);
    if (const std::optional<double> base = baseline.times()[round]; base.has_value()) {
      ratios.push_back(*base / *time);
    }
  }
  std::sort(times.begin(), times.end());
  std::sort(ratios.begin(), ratios.end());
  return {Quantile(times, 0.5),  times.front(),         Quantile(ratios, 0.5),
          Quantile(ratios, 0.1), Quantile(ratios, 0.9), static_cast<int>(times.size())};
}

}  // namespace

std::vector<Timing> MeasureRounds(std::span<const Lane> lanes, const RoundOptions& options) {
  std::vector<Runner> runners;
  runners.reserve(lanes.size());
  for (const Lane& lane : lanes) runners.emplace_back(lane, options);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      runners[(i + static_cast<std::size_t>(round)) % runners.size()].Round();
    }
  }
  std::vector<Timing> timings;
  timings.reserve(runners.size());
  for (const Runner& runner : runners) timings.push_back(Summarise(runners.front(), runner));
  return timings;
}

}  // namespace engine::benchmarks
