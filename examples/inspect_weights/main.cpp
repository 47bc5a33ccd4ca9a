// Inspects the weights of a safetensors checkpoint: see options.cpp for what it can do.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "demo.h"
#include "interop/safetensors.h"
#include "jobs.h"
#include "options.h"
#include "report.h"

namespace inspect_weights {
namespace {

namespace core = engine::core;
namespace safetensors = engine::safetensors;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// Flushes, so that a long job starts after its listing has appeared.
core::Status Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return core::OkStatus();
  }
  return core::InternalError("cannot write to standard output");
}

int Fail(const core::Status& status, int exit_code) {
  std::string message(status.message());
  if (message.empty()) message = core::IsOutOfMemory(status) ? "out of memory" : status.ToString();
  std::fputs(fmt::format("inspect_weights: {}\n", Printable(message)).c_str(), stderr);
  return exit_code;
}

core::Status CheckOutcomes(std::span<const Outcome> outcomes) {
  const auto verified = static_cast<std::size_t>(std::ranges::count_if(outcomes, &Outcome::ok));
  if (verified == outcomes.size()) return core::OkStatus();
  return core::FailedPreconditionError("{} of {} did not convert; see the lines marked FAILED",
                                       outcomes.size() - verified,
                                       Count(outcomes.size(), "tensor"));
}

core::Status Run(const Options& options) {
  if (options.demo) ENGINE_RETURN_IF_ERROR(WriteDemoCheckpoint(options.path));

  const std::size_t resident_before = ResidentBytes();
  ENGINE_ASSIGN_OR_RETURN(const safetensors::File file, safetensors::File::Open(options.path));
  const std::size_t resident_after = ResidentBytes();
  ENGINE_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Select(file, options));
  ENGINE_RETURN_IF_ERROR(Print(DescribeFile(options.path, file, resident_before, resident_after)));
  ENGINE_RETURN_IF_ERROR(Print(DescribeTensors(entries)));

  ENGINE_ASSIGN_OR_RETURN(const std::vector<Outcome> outcomes, RunJobs(entries, options));
  ENGINE_RETURN_IF_ERROR(Print(DescribeStatistics(outcomes) + DescribeCasts(outcomes) +
                               DescribePermutations(outcomes) + DescribePreviews(outcomes)));
  ENGINE_RETURN_IF_ERROR(CheckOutcomes(outcomes));
  if (!options.output.has_value()) return core::OkStatus();
  ENGINE_RETURN_IF_ERROR(SaveResults(*options.output, outcomes, file.metadata()));
  return Print(fmt::format("\nsaved {} to {}\n", Count(outcomes.size(), "tensor"),
                           Printable(*options.output)));
}

int Main(std::span<char* const> arguments) {
  const core::StatusOr<Options> options = ParseOptions(arguments);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  const core::Status status = options->help ? Print(kUsage) : Run(*options);
  return status.ok() ? 0 : Fail(status, kExitFailure);
}

}  // namespace
}  // namespace inspect_weights

int main(int argc, char** argv) {
  return inspect_weights::Main({argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)});
}
