// P52: memory of the process allocator, and the allocator itself, outlive main.
//
// The exit code is the verdict. main returns failure; only the last destructor, when all is well,
// ends the process with success.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"

namespace {

using engine::core::StatusOr;
using engine::memory::Buffer;
using engine::memory::DefaultCpuAllocator;
using engine::memory::ShareBuffer;

constexpr std::size_t kBytes = 10000;

std::shared_ptr<Buffer> MakeFilled(unsigned char value) {
  StatusOr<Buffer> buffer = DefaultCpuAllocator()->Allocate(kBytes, 64);
  if (!buffer.ok()) std::abort();
  std::memset(buffer->data(), value, kBytes);
  StatusOr<std::shared_ptr<Buffer>> shared = ShareBuffer(*std::move(buffer));
  if (!shared.ok()) std::abort();
  return *std::move(shared);
}

bool HoldsOnly(const Buffer& buffer, unsigned char value) {
  const auto* const bytes = static_cast<const unsigned char*>(buffer.data());
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

// Constructed before main, so destroyed after every object that main made.
class LastToDie {
 public:
  ~LastToDie() {
    if (!survivor || !HoldsOnly(*survivor, 1)) std::abort();
    survivor.reset();
    if (!HoldsOnly(*MakeFilled(2), 2)) std::abort();
    std::fputs("used and freed after main\n", stderr);
    std::_Exit(EXIT_SUCCESS);
  }

  std::shared_ptr<Buffer> survivor;
};

LastToDie last_to_die;

}  // namespace

int main() {
  last_to_die.survivor = MakeFilled(1);
  return EXIT_FAILURE;
}
