#include "report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "core/text.h"

namespace inspect_weights {
namespace {

namespace safetensors = engine::safetensors;

std::string HumanBytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes) / 1024;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

// Columns as wide as their widest cell; the first row is the heading.
class Table {
 public:
  explicit Table(std::string title) : title_(std::move(title)) {}

  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Empty when no row follows the heading.
  [[nodiscard]] std::string ToString() const {
    if (rows_.size() < 2) return "";
    std::vector<std::size_t> widths(rows_.front().size());
    for (const std::vector<std::string>& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text = "\n" + title_ + "\n";
    for (const std::vector<std::string>& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        line += fmt::format("  {:<{}}", row[i], widths[i]);
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

std::string DescribeVerdict(const CastOutcome& cast, std::int64_t numel) {
  if (!cast.status.ok()) return Printable("FAILED: " + std::string(cast.status.message()));
  const CastCheck& check = cast.check;
  if (check.ok()) return "ok";
  std::string text = "FAILED:";
  if (check.overflow_count > 0) {
    text += fmt::format(" {} of {} values overflow to infinity,", check.overflow_count, numel);
  }
  if (check.mismatch_count > 0) {
    text += fmt::format(" {} of {} values are beyond the tolerance,", check.mismatch_count, numel);
  }
  return text + " e.g. " + check.example;
}

}  // namespace

std::size_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total_pages = 0;     // NOLINT(google-runtime-int): fscanf's type
  unsigned long resident_pages = 0;  // NOLINT(google-runtime-int)
  const int fields = std::fscanf(file, "%lu %lu", &total_pages, &resident_pages);
  std::fclose(file);
  return fields == 2 ? resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

std::string Printable(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t control = engine::core::ControlBytes(text);
    line += control > 0 ? '?' : text.front();
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return line;
}

std::string Count(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string DescribeFile(const std::string& path, const safetensors::File& file,
                         std::size_t resident_before, std::size_t resident_after) {
  std::uint64_t data_bytes = 0;
  for (const safetensors::TensorInfo& info : file.tensors()) data_bytes += info.end - info.begin;
  std::string text = fmt::format("{}: {}, {} of data, {} of header\n", Printable(path),
                                 Count(file.tensors().size(), "tensor"), HumanBytes(data_bytes),
                                 HumanBytes(file.header_bytes()));
  text += fmt::format("resident memory: {} before opening, {} after\n", HumanBytes(resident_before),
                      HumanBytes(resident_after));
  Table table("metadata");
  table.AddRow({"key", "value"});
  for (const auto& [key, value] : file.metadata()) {
    table.AddRow({Printable(key), Printable(value)});
  }
  return text + table.ToString();
}

std::string DescribeTensors(std::span<const Entry> entries) {
  Table table("tensors");
  table.AddRow({"name", "dtype", "shape", "bytes", "aligned"});
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> totals;  // count and bytes
  std::string left_out;
  for (const Entry& entry : entries) {
    const safetensors::TensorInfo& info = *entry.info;
    const std::string dtype =
        info.dtype.has_value() ? fmt::format("{}", *info.dtype) : Printable(info.dtype_name);
    const std::uint64_t bytes = info.end - info.begin;
    std::string aligned = "-";
    if (entry.tensor.defined()) aligned = entry.tensor.is_aligned() ? "yes" : "no";
    table.AddRow({Printable(info.name), dtype, fmt::format("[{}]", fmt::join(info.dims, ", ")),
                  fmt::format("{}", bytes), aligned});
    ++totals[dtype].first;
    totals[dtype].second += bytes;
    if (!entry.status.ok()) {
      left_out += fmt::format("left out: {}\n", Printable(std::string(entry.status.message())));
    }
  }
  Table summary("totals");
  summary.AddRow({"dtype", "tensors", "bytes"});
  for (const auto& [dtype, total] : totals) {
    summary.AddRow({dtype, fmt::format("{}", total.first), HumanBytes(total.second)});
  }
  return table.ToString() + summary.ToString() + left_out;
}

std::string DescribeStatistics(std::span<const Outcome> outcomes) {
  Table table("statistics");
  table.AddRow({"name", "min", "max", "mean", "NaN", "infinite"});
  for (const Outcome& outcome : outcomes) {
    if (!outcome.statistics.has_value()) continue;
    const Statistics& s = *outcome.statistics;
    const bool any = s.value_count > 0;
    const auto number = [any](double value) {
      return any ? fmt::format("{:.6g}", value) : std::string("-");
    };
    table.AddRow({Printable(outcome.entry->info->name), number(s.min), number(s.max),
                  number(s.sum / static_cast<double>(s.value_count)),
                  fmt::format("{}", s.nan_count), fmt::format("{}", s.infinite_count)});
  }
  return table.ToString();
}

std::string DescribeCasts(std::span<const Outcome> outcomes) {
  Table table("casts, compared with the source");
  table.AddRow({"name", "from", "to", "rtol", "atol", "largest difference", "verdict"});
  for (const Outcome& outcome : outcomes) {
    if (outcome.kept) {
      const std::string dtype = fmt::format("{}", outcome.entry->tensor.dtype());
      table.AddRow({Printable(outcome.entry->info->name), dtype, dtype, "-", "-", "-", "kept"});
    }
    for (const CastOutcome& cast : outcome.casts) {
      const CastCheck& check = cast.check;
      const auto number = [&cast](double value) {
        return cast.status.ok() ? fmt::format("{:.3g}", value) : std::string("-");
      };
      table.AddRow({Printable(outcome.entry->info->name), fmt::format("{}", cast.source),
                    fmt::format("{}", cast.target), number(check.tolerance.rtol),
                    number(check.tolerance.atol), number(check.max_abs_diff),
                    DescribeVerdict(cast, outcome.entry->tensor.numel())});
    }
  }
  return table.ToString();
}

std::string DescribePermutations(std::span<const Outcome> outcomes) {
  Table table("permuted and made contiguous, compared with the view");
  table.AddRow({"name", "from", "to", "verdict"});
  for (const Outcome& outcome : outcomes) {
    if (!outcome.permuted.has_value()) continue;
    const PermuteOutcome& permuted = *outcome.permuted;
    table.AddRow({Printable(outcome.entry->info->name), fmt::format("{}", permuted.from),
                  fmt::format("{}", permuted.to),
                  permuted.mismatch_count == 0
                      ? std::string("ok")
                      : fmt::format("FAILED: {} elements differ", permuted.mismatch_count)});
  }
  return table.ToString();
}

std::string DescribePreviews(std::span<const Outcome> outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    for (const std::string& preview : outcome.previews) {
      text += fmt::format("\n{}, {}\n", Printable(outcome.entry->info->name), preview);
    }
  }
  return text;
}

}  // namespace inspect_weights
