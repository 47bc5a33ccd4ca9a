// What the stream consists of. Both processes make the same tensors, so that the receiver knows
// every value it must see.
#ifndef ENGINE_EXAMPLES_TENSOR_CHANNEL_STREAM_H_
#define ENGINE_EXAMPLES_TENSOR_CHANNEL_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/status.h"
#include "tensor/tensor.h"

namespace tensor_channel {

// The name of a message says what it holds.
inline constexpr char kImage[] = "image";
inline constexpr char kFeatures[] = "features";

inline constexpr float kFeatureScale = 0.0235F;
inline constexpr std::int32_t kFeatureZeroPoint = 12;

// Camera images and quantised features, several of each in turn.
class Stream {
 public:
  [[nodiscard]] static engine::core::StatusOr<Stream> Make();

  // Whether message `seq` is an image; every other one is.
  [[nodiscard]] static bool IsImage(std::uint32_t seq) { return seq % 2 == 0; }
  [[nodiscard]] const engine::tensor::Tensor& at(std::uint32_t seq) const;
  // The most bytes that a message of this stream takes.
  [[nodiscard]] std::size_t max_message_bytes() const;

 private:
  std::vector<engine::tensor::Tensor> images_;
  std::vector<engine::tensor::Tensor> features_;
};

}  // namespace tensor_channel

#endif  // ENGINE_EXAMPLES_TENSOR_CHANNEL_STREAM_H_
