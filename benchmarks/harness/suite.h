// harness/suite.h: the whole of a benchmark program but for the libraries it compares with.
#ifndef ENGINE_BENCHMARKS_HARNESS_SUITE_H_
#define ENGINE_BENCHMARKS_HARNESS_SUITE_H_

#include <memory>
#include <vector>

#include "harness/contender.h"
#include "harness/report.h"

namespace engine::benchmarks {

struct Peers {
  std::vector<std::unique_ptr<Contender>> contenders;
  std::vector<MissingPeer> missing;
};

// Times, beside memcpy and a naive loop:
//   reference   benchmarks/shapes/table.txt
//   off_table   benchmarks/shapes/off_table.txt
//   tiny        4 x 4 elements: the cost of a call
// and of our library alone:
//   data        casts of zeros, subnormals, NaNs and infinities against casts of ordinary values
//   checked     casts to integers against a loop that does not check
// Every contender's result is compared with ours before it is timed. `make_peers` is called once
// the process is pinned. Returns main's exit code: 1 when a result is wrong, 2 for a wrong option.
[[nodiscard]] int RunSuite(int argc, const char* const* argv, Peers (*make_peers)());

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_SUITE_H_
