// Copies and casts between strided layouts by several libraries on the same buffers, in one process
// and interleaved: see harness/suite.h.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "compare/peers.h"
#include "harness/suite.h"

namespace engine::benchmarks {
namespace {

Peers MakePeers() {
  Peers peers;
  [[maybe_unused]] const auto add = [&peers](const char* name, PeerOr peer) {
    if (peer.ok()) {
      peers.contenders.push_back(*std::move(peer));
    } else {
      peers.missing.push_back({name, std::string(peer.status().message())});
    }
  };
#define ENGINE_PEER(name, make) add(name, make());
#define ENGINE_MISSING_PEER(name, reason) peers.missing.push_back({name, reason});
#include "peers.inc"
#undef ENGINE_PEER
#undef ENGINE_MISSING_PEER
  return peers;
}

// OpenMP, OpenBLAS and libtorch read these when they are loaded, which is before main(): so the
// program starts itself again, once. One thread, and libtorch's widest kernels, which it does not
// choose by itself.
void RestartWithEnvironment(char** argv) {
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  if (threads != nullptr && std::strcmp(threads, "1") == 0) return;
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512vl")) setenv("ATEN_CPU_CAPABILITY", "avx512", 0);
#endif
  execv("/proc/self/exe", argv);
}

}  // namespace
}  // namespace engine::benchmarks

int main(int argc, char** argv) {
  engine::benchmarks::RestartWithEnvironment(argv);
  return engine::benchmarks::RunSuite(argc, argv, engine::benchmarks::MakePeers);
}
