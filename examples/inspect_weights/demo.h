// inspect_weights/demo.h: a checkpoint to try the program on.
#ifndef ENGINE_EXAMPLES_INSPECT_WEIGHTS_DEMO_H_
#define ENGINE_EXAMPLES_INSPECT_WEIGHTS_DEMO_H_

#include <string>
#include <string_view>

#include "core/status.h"

namespace inspect_weights {

// The tensor that a demonstration prints.
inline constexpr std::string_view kDemoPreview = "layers.0.attention.query.weight";

// Writes one transformer layer with its embedding, about 8 MiB in a mix of dtypes. The same bytes
// every time, up to the last bit of the platform's libm.
[[nodiscard]] engine::core::Status WriteDemoCheckpoint(const std::string& path);

}  // namespace inspect_weights

#endif  // ENGINE_EXAMPLES_INSPECT_WEIGHTS_DEMO_H_
