// harness/options.h: the command line of the benchmark programs.
#ifndef ENGINE_BENCHMARKS_HARNESS_OPTIONS_H_
#define ENGINE_BENCHMARKS_HARNESS_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace engine::benchmarks {

struct Options {
  std::string command;               // the whole command line
  std::vector<std::string> filters;  // any of these in "name/size"; empty: everything
  std::vector<std::string> cases;    // lines to time in place of the built-in case files
  std::string json_path;             // empty: none is written
  bool quick = false;                // fewer rounds, nothing above the last-level cache
  int rounds = 15;
  int cpu = -1;  // to run on; -1: the last one that the process may use
  bool pinned = true;
  bool huge_pages = false;
  bool read_back = false;
  bool list = false;
  bool help = false;

  [[nodiscard]] bool Selects(std::string_view label) const;
};

// Errors   InvalidArgument: an unknown option, or a value that is missing or out of range.
[[nodiscard]] core::StatusOr<Options> ParseOptions(int argc, const char* const* argv);

[[nodiscard]] std::string_view Usage();

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_OPTIONS_H_
