#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace inspect_weights {
namespace {

constexpr int kWidth = 40;
constexpr auto kInterval = std::chrono::milliseconds(100);

}  // namespace

Progress::Progress(bool enabled, std::uint64_t total_bytes)
    : enabled_(enabled && total_bytes > 0 && isatty(STDERR_FILENO) == 1),
      total_bytes_(total_bytes),
      next_draw_(Clock::now() + kInterval) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Advance(std::uint64_t bytes) {
  done_bytes_ += bytes;
  if (!enabled_ || Clock::now() < next_draw_) return;
  next_draw_ = Clock::now() + kInterval;
  drawn_ = true;
  const double fraction =
      std::min(1.0, static_cast<double>(done_bytes_) / static_cast<double>(total_bytes_));
  const auto filled = static_cast<std::size_t>(fraction * kWidth);
  std::fputs(
      fmt::format("\r[{:<{}}] {:3.0f} %", std::string(filled, '#'), kWidth, 100 * fraction).c_str(),
      stderr);
}

}  // namespace inspect_weights
