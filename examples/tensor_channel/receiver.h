// The process that views messages as tensors, and what it saw.
#ifndef ENGINE_EXAMPLES_TENSOR_CHANNEL_RECEIVER_H_
#define ENGINE_EXAMPLES_TENSOR_CHANNEL_RECEIVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "channel.h"
#include "core/status.h"
#include "options.h"
#include "stream.h"

namespace tensor_channel {

struct Report {
  std::uint32_t images = 0;    // verified
  std::uint32_t features = 0;  // verified
  std::uint32_t copied = 0;    // tensors that were not where the sender had put them
  std::uint32_t refused = 0;
  std::uint64_t bytes = 0;                  // of the verified messages
  double seconds = 0;                       // from the first message to the last
  std::vector<std::uint64_t> latencies_ns;  // from before encoding to the tensor
  std::string first_failure;                // of the first message that was refused or changed

  [[nodiscard]] std::uint32_t verified() const { return images + features; }
};

// Receives until the stream is complete or the sender has gone. An error: it announced bytes outside
// the slots.
[[nodiscard]] engine::core::StatusOr<Report> RunReceiver(const Options& options,
                                                         const Stream& stream,
                                                         const SharedSlots& slots,
                                                         const Descriptor& socket);

}  // namespace tensor_channel

#endif  // ENGINE_EXAMPLES_TENSOR_CHANNEL_RECEIVER_H_
