// inspect_weights/progress.h: a progress bar on a terminal.
#ifndef ENGINE_EXAMPLES_INSPECT_WEIGHTS_PROGRESS_H_
#define ENGINE_EXAMPLES_INSPECT_WEIGHTS_PROGRESS_H_

#include <chrono>
#include <cstdint>

namespace inspect_weights {

// Draws on stderr when that is a terminal and `enabled`, and wipes what it drew when it dies. Work
// shorter than a moment shows nothing.
class Progress {
 public:
  Progress(bool enabled, std::uint64_t total_bytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Advance(std::uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_;
  bool drawn_ = false;
  std::uint64_t total_bytes_;
  std::uint64_t done_bytes_ = 0;
  Clock::time_point next_draw_;
};

}  // namespace inspect_weights

#endif  // ENGINE_EXAMPLES_INSPECT_WEIGHTS_PROGRESS_H_
