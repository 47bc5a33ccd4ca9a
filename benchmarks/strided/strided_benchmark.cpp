// Copies and casts between strided layouts against memcpy of the same bytes: see harness/suite.h.
#include "harness/suite.h"

int main(int argc, char** argv) {
  return engine::benchmarks::RunSuite(argc, argv, [] { return engine::benchmarks::Peers(); });
}
