#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

namespace inspect_weights {
namespace {

namespace core = engine::core;
namespace tensor = engine::tensor;

bool IsCastTarget(tensor::DataType dtype) {
  return dtype != tensor::DataType::kBool && !tensor::is_reserved(dtype);
}

core::StatusOr<tensor::DataType> ParseCastTarget(std::string_view name) {
  const core::StatusOr<tensor::DataType> dtype = tensor::from_string(name);
  if (dtype.ok() && IsCastTarget(*dtype)) return *dtype;
  std::string names;
  for (const tensor::DataType candidate : tensor::kAllDataTypes) {
    if (!IsCastTarget(candidate)) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", candidate);
  }
  return core::InvalidArgumentError("--cast: '{}' is not a dtype to cast to; use one of {}", name,
                                    names);
}

std::optional<int> ParseInt(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

core::StatusOr<std::vector<int>> ParsePermutation(std::string_view text) {
  std::vector<int> axes;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::optional<int> axis = ParseInt(rest.substr(0, comma));
    if (!axis.has_value()) {
      return core::InvalidArgumentError("--permute: '{}' is not a list of axes such as 1,0", text);
    }
    axes.push_back(*axis);
    if (comma == std::string_view::npos) return axes;
    rest.remove_prefix(comma + 1);
  }
}

core::StatusOr<int> ParseEdgeItems(std::string_view text) {
  const std::optional<int> value = ParseInt(text);
  if (value.has_value() && *value > 0) return *value;
  return core::InvalidArgumentError("--preview: '{}' is not a positive number", text);
}

// Options that stand alone; false when `name` is none of them.
bool ApplyFlag(std::string_view name, Options& options) {
  if (name == "--help" || name == "-h") {
    options.help = true;
  } else if (name == "--stats") {
    options.stats = true;
  } else if (name == "--no-progress") {
    options.progress = false;
  } else {
    return false;
  }
  return true;
}

core::Status SetPath(std::string_view path, Options& options) {
  if (path.empty()) return core::InvalidArgumentError("the path is empty");
  if (!options.path.empty()) {
    return core::InvalidArgumentError("two paths, '{}' and '{}'; expected one", options.path, path);
  }
  options.path = path;
  return core::OkStatus();
}

// Options that take a value.
struct ValueOption {
  std::string_view name;
  core::Status (*apply)(std::string_view value, Options& options);
};

constexpr ValueOption kValueOptions[] = {
    {"--demo",
     [](std::string_view value, Options& options) {
       options.demo = true;
       return SetPath(value, options);
     }},
    {"--tensor",
     [](std::string_view value, Options& options) {
       options.tensor_name = value;
       return core::OkStatus();
     }},
    {"--cast",
     [](std::string_view value, Options& options) -> core::Status {
       ENGINE_ASSIGN_OR_RETURN(const tensor::DataType dtype, ParseCastTarget(value));
       options.casts.push_back(dtype);
       return core::OkStatus();
     }},
    {"--permute",
     [](std::string_view value, Options& options) -> core::Status {
       ENGINE_ASSIGN_OR_RETURN(options.permutation, ParsePermutation(value));
       return core::OkStatus();
     }},
    {"--preview",
     [](std::string_view value, Options& options) -> core::Status {
       ENGINE_ASSIGN_OR_RETURN(options.edge_items, ParseEdgeItems(value));
       return core::OkStatus();
     }},
    {"--output",
     [](std::string_view value, Options& options) {
       options.output = value;
       return core::OkStatus();
     }},
};

core::Status CheckCombination(const Options& options) {
  if (options.path.empty()) {
    return core::InvalidArgumentError("no file; try --help");
  }
  if (options.output.has_value()) {
    if (options.casts.size() > 1) {
      return core::InvalidArgumentError("--output: {} casts; expected at most one",
                                        options.casts.size());
    }
    if (options.casts.empty() && options.permutation.empty()) {
      return core::InvalidArgumentError("--output: nothing to convert; add --cast or --permute");
    }
  }
  return core::OkStatus();
}

// A demonstration shows everything that was not asked for explicitly.
void ApplyDefaults(Options& options) {
  const bool nothing_chosen = options.casts.empty() && options.permutation.empty();
  if (options.demo && nothing_chosen && !options.output.has_value()) {
    options.casts = {tensor::DataType::kBFloat16, tensor::DataType::kFloat16,
                     tensor::DataType::kFloat32};
    options.permutation = {1, 0};
  }
  if (options.demo || options.tensor_name.has_value()) options.stats = true;
}

}  // namespace

const std::string_view kUsage =
    R"(Usage: inspect_weights [OPTION]... FILE
       inspect_weights --demo PATH [OPTION]...

Lists the tensors of a safetensors checkpoint without reading their data, and on request converts,
permutes and summarises them, verifying every result.

  --tensor NAME     work on this tensor only (default: all)
  --cast DTYPE      convert to DTYPE (float32, bfloat16, int8, ...) and compare with the source
                    within the narrower dtype's tolerance; may be repeated
  --permute AXES    permute tensors of that rank, e.g. 1,0, after the last cast; the result is made
                    contiguous and compared with the view
  --stats           minimum, maximum, mean, and counts of NaN and infinity
                    (on with --tensor and --demo)
  --preview N       print elements, N at each end of an axis (with --tensor: on, 3)
  --output FILE     save the converted tensors, when all of them verify
  --demo PATH       first write a small transformer layer to PATH, then run everything on it
  --no-progress     no progress bar, on a terminal either
  --help            this text

Exit code: 0 when all went well, 1 when the work cannot be done or a result does not verify, 2 for
a bad command line. Errors are one line on stderr.
)";

core::StatusOr<Options> ParseOptions(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with('-')) {
      ENGINE_RETURN_IF_ERROR(SetPath(argument, options));
      continue;
    }
    if (ApplyFlag(argument, options)) continue;
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const auto* const option = std::ranges::find(kValueOptions, name, &ValueOption::name);
    if (option == std::end(kValueOptions)) {
      return core::InvalidArgumentError("'{}' is not an option; try --help", argument);
    }
    if (equals != std::string_view::npos) {
      ENGINE_RETURN_IF_ERROR(option->apply(argument.substr(equals + 1), options));
    } else if (i + 1 < arguments.size()) {
      ENGINE_RETURN_IF_ERROR(option->apply(arguments[++i], options));
    } else {
      return core::InvalidArgumentError("{}: a value is missing", name);
    }
  }
  if (options.help) return options;
  ENGINE_RETURN_IF_ERROR(CheckCombination(options));
  ApplyDefaults(options);
  return options;
}

}  // namespace inspect_weights
