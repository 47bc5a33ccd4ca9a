// compare/peers.h: the libraries that ours is compared with, one source file each, of which a build
// has those that CMake found. A maker's error says why the library cannot be used after all.
#ifndef ENGINE_BENCHMARKS_COMPARE_PEERS_H_
#define ENGINE_BENCHMARKS_COMPARE_PEERS_H_

#include <memory>

#include "core/status.h"
#include "harness/contender.h"

namespace engine::benchmarks {

using PeerOr = core::StatusOr<std::unique_ptr<Contender>>;

[[nodiscard]] PeerOr MakeLibtorch();
[[nodiscard]] PeerOr MakeNumPy();
[[nodiscard]] PeerOr MakeOneDnn();
[[nodiscard]] PeerOr MakeEigen();
[[nodiscard]] PeerOr MakeXtensor();

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_COMPARE_PEERS_H_
