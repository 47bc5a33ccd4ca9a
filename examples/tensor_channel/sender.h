// The process that encodes and announces messages.
#ifndef ENGINE_EXAMPLES_TENSOR_CHANNEL_SENDER_H_
#define ENGINE_EXAMPLES_TENSOR_CHANNEL_SENDER_H_

#include "channel.h"
#include "core/status.h"
#include "options.h"
#include "stream.h"

namespace tensor_channel {

// Sends the whole stream, and returns when the receiver has released every slot or is gone.
[[nodiscard]] engine::core::Status RunSender(const Options& options, const Stream& stream,
                                             const SharedSlots& slots, const Descriptor& socket);

}  // namespace tensor_channel

#endif  // ENGINE_EXAMPLES_TENSOR_CHANNEL_SENDER_H_
