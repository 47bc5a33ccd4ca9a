// inspect_weights/report.h: what the program prints, section by section.
#ifndef ENGINE_EXAMPLES_INSPECT_WEIGHTS_REPORT_H_
#define ENGINE_EXAMPLES_INSPECT_WEIGHTS_REPORT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "interop/safetensors.h"
#include "jobs.h"

namespace inspect_weights {

// The resident memory of this process, mapped pages that were touched included.
[[nodiscard]] std::size_t ResidentBytes();

// Text of foreign origin on one line: control characters become '?'.
[[nodiscard]] std::string Printable(std::string_view text);

// "1 tensor", "2 tensors".
[[nodiscard]] std::string Count(std::size_t count, std::string_view noun);

// Every function below gives complete lines, or nothing when there is nothing to say.

[[nodiscard]] std::string DescribeFile(const std::string& path,
                                       const engine::safetensors::File& file,
                                       std::size_t resident_before, std::size_t resident_after);
[[nodiscard]] std::string DescribeTensors(std::span<const Entry> entries);
[[nodiscard]] std::string DescribeStatistics(std::span<const Outcome> outcomes);
[[nodiscard]] std::string DescribeCasts(std::span<const Outcome> outcomes);
[[nodiscard]] std::string DescribePermutations(std::span<const Outcome> outcomes);
[[nodiscard]] std::string DescribePreviews(std::span<const Outcome> outcomes);

}  // namespace inspect_weights

#endif  // ENGINE_EXAMPLES_INSPECT_WEIGHTS_REPORT_H_
