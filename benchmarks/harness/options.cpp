#include "harness/options.h"

#include <sched.h>

#include <algorithm>
#include <charconv>

namespace engine::benchmarks {
namespace {

using core::InvalidArgumentError;

core::StatusOr<int> ParseNumber(std::string_view option, std::string_view text, int min, int max) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < min || number > max) {
    return InvalidArgumentError("{}: expected a number from {} to {}, got '{}'", option, min, max,
                                text);
  }
  return number;
}

void Split(std::string_view list, std::vector<std::string>& into) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) into.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// Options without a value. False when `option` is none of them.
bool ParseSwitch(std::string_view option, Options& options) {
  struct Switch {
    std::string_view name;
    bool Options::*value;
  };
  constexpr Switch kSwitches[] = {{"--quick", &Options::quick},
                                  {"--read-back", &Options::read_back},
                                  {"--huge-pages", &Options::huge_pages},
                                  {"--list", &Options::list},
                                  {"--help", &Options::help}};
  for (const Switch& candidate : kSwitches) {
    if (candidate.name == option) {
      options.*candidate.value = true;
      return true;
    }
  }
  return false;
}

core::Status ParseValue(std::string_view option, std::string_view value, Options& options) {
  if (option == "--filter") {
    Split(value, options.filters);
  } else if (option == "--case") {
    options.cases.emplace_back(value);
  } else if (option == "--json") {
    options.json_path = value;
  } else if (option == "--rounds") {
    ENGINE_ASSIGN_OR_RETURN(options.rounds, ParseNumber(option, value, 1, 10000));
  } else if (option == "--pin" && value == "none") {
    options.pinned = false;
  } else if (option == "--pin") {
    ENGINE_ASSIGN_OR_RETURN(options.cpu, ParseNumber(option, value, 0, CPU_SETSIZE - 1));
  } else {
    return InvalidArgumentError("unknown option '{}'", option);
  }
  return core::OkStatus();
}

}  // namespace

bool Options::Selects(std::string_view label) const {
  const auto matches = [&](const std::string& part) { return label.find(part) != label.npos; };
  return filters.empty() || std::any_of(filters.begin(), filters.end(), matches);
}

core::StatusOr<Options> ParseOptions(int argc, const char* const* argv) {
  Options options;
  for (int i = 0; i < argc; ++i) options.command += std::string(i > 0 ? " " : "") + argv[i];
  bool rounds_given = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view option = argv[i];
    if (ParseSwitch(option, options)) continue;
    std::string_view value;
    if (const std::size_t equals = option.find('='); equals != option.npos) {
      value = option.substr(equals + 1);
      option = option.substr(0, equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return InvalidArgumentError("'{}' is unknown or lacks its value", option);
    }
    rounds_given |= option == "--rounds";
    ENGINE_RETURN_IF_ERROR(ParseValue(option, value, options));
  }
  if (options.quick && !rounds_given) options.rounds = 7;
  return options;
}

std::string_view Usage() {
  return R"(options:
  --filter A,B    only what has A or B in its name/size, e.g. transpose2d_f32,cast_f32_f16/L2
  --quick         7 rounds, and nothing above the last-level cache
  --rounds N      rounds per case (15)
  --case LINE     time this layout in place of the built-in ones; may be repeated. The format is in
                  benchmarks/harness/case.h: 'name size src dst extents [axes=.. src=.. dst=.. at=..]'
  --read-back     read the destination after each run, as part of what is timed
  --pin N|none    the processor to run on (the last one allowed)
  --huge-pages    ask the kernel for huge pages
  --json FILE     write the results
  --list          print the names of what would be timed
)";
}

}  // namespace engine::benchmarks
