// inspect_weights/options.h: the command line.
#ifndef ENGINE_EXAMPLES_INSPECT_WEIGHTS_OPTIONS_H_
#define ENGINE_EXAMPLES_INSPECT_WEIGHTS_OPTIONS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "tensor/dtype.h"

namespace inspect_weights {

struct Options {
  std::string path;
  bool help = false;
  bool demo = false;  // write a checkpoint to `path` first
  bool progress = true;
  bool stats = false;
  std::optional<std::string> tensor_name;       // all when absent
  std::vector<engine::tensor::DataType> casts;  // each from the source
  std::vector<int> permutation;                 // none when empty
  std::optional<int> edge_items;                // of previews
  std::optional<std::string> output;
};

extern const std::string_view kUsage;

// Reads the arguments after the program's name.
//   Errors   InvalidArgument: one line that names the option.
[[nodiscard]] engine::core::StatusOr<Options> ParseOptions(std::span<char* const> arguments);

}  // namespace inspect_weights

#endif  // ENGINE_EXAMPLES_INSPECT_WEIGHTS_OPTIONS_H_
