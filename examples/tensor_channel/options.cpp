#include "options.h"

#include <charconv>
#include <string_view>

namespace tensor_channel {

namespace core = engine::core;

const char kUsage[] =
    R"(Usage: tensor_channel [--messages N] [--slots N] [--hold N] [--corrupt N]

Two processes share memory and exchange a stream of tensor messages: camera images in float32 and
quantised features in int8. The sender encodes each message into a slot of that memory, the receiver
views it there as a tensor, verifies its values, and gives the slot back when the last tensor of it
dies. Prints the rate and the latency, and exits with 1 when a message was lost, refused or changed.

  --messages N  how many messages (default 2000)
  --slots N     how many slots of memory (default 4)
  --hold N      tensors the receiver keeps before it lets go of the oldest (default 0)
  --corrupt N   damage message N, to see it refused
  --help        this text
)";

namespace {

core::StatusOr<std::uint32_t> ParseCount(std::string_view option, std::string_view text,
                                         std::uint32_t least, std::uint32_t most) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count >= least && count <= most) {
    return count;
  }
  return core::InvalidArgumentError("{}: '{}' is not a number from {} to {}", option, text, least,
                                    most);
}

}  // namespace

core::StatusOr<Options> ParseOptions(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    if (option == "--help") {
      options.help = true;
      return options;
    }
    if (option != "--messages" && option != "--slots" && option != "--hold" &&
        option != "--corrupt") {
      return core::InvalidArgumentError("'{}' is not an option (--help lists them)", option);
    }
    if (++i == arguments.size()) {
      return core::InvalidArgumentError("{}: a value is missing", option);
    }
    const std::string_view value = arguments[i];
    if (option == "--messages") {
      ENGINE_ASSIGN_OR_RETURN(options.messages, ParseCount(option, value, 1, 10'000'000));
    } else if (option == "--slots") {
      ENGINE_ASSIGN_OR_RETURN(options.slots, ParseCount(option, value, 1, 64));
    } else if (option == "--hold") {
      ENGINE_ASSIGN_OR_RETURN(options.hold, ParseCount(option, value, 0, 63));
    } else {
      ENGINE_ASSIGN_OR_RETURN(options.corrupt, ParseCount(option, value, 0, 10'000'000));
    }
  }
  if (options.hold >= options.slots) {
    return core::InvalidArgumentError("--hold: {} tensors would keep all of {} slots", options.hold,
                                      options.slots);
  }
  return options;
}

}  // namespace tensor_channel
