// The command line.
#ifndef ENGINE_EXAMPLES_TENSOR_CHANNEL_OPTIONS_H_
#define ENGINE_EXAMPLES_TENSOR_CHANNEL_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "core/status.h"

namespace tensor_channel {

struct Options {
  bool help = false;
  std::uint32_t messages = 2000;
  std::uint32_t slots = 4;
  std::uint32_t hold = 0;                // tensors that the receiver keeps before it lets go
  std::optional<std::uint32_t> corrupt;  // the message whose struct the sender damages
};

[[nodiscard]] engine::core::StatusOr<Options> ParseOptions(std::span<char* const> arguments);

extern const char kUsage[];

}  // namespace tensor_channel

#endif  // ENGINE_EXAMPLES_TENSOR_CHANNEL_OPTIONS_H_
