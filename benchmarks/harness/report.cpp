#include "harness/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/machine.h"
#include "strided/target.h"

namespace engine::benchmarks {
namespace {

using Json = nlohmann::ordered_json;

std::string DateNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  (void)std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

Json Caches() {
  return Json{{"l1d_kib", CacheBytes(1) / 1024},
              {"l2_kib", CacheBytes(2) / 1024},
              {"l3_kib", CacheBytes(3) / 1024}};
}

double Rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

double GigabytesPerSecond(const Row& row, const Entry& entry) {
  return static_cast<double>(row.layout.total_bytes()) / entry.timing.median_ns;
}

Json ToJson(const Row& row) {
  Json result;
  result["section"] = row.section;
  result["name"] = row.layout.name;
  result["size"] = row.layout.size;
  result["src"] = ShortName(row.layout.src);
  result["dst"] = ShortName(row.layout.dst);
  const auto list = [](const auto& values) {
    return Json(std::vector(values.begin(), values.end()));
  };
  result["shape"] = list(row.layout.shape.dims());
  result["src_strides"] = list(row.layout.src_strides);
  result["dst_strides"] = list(row.layout.dst_strides);
  result["bytes"] = row.layout.total_bytes();
  result["baseline"] = row.entries.front().contender;
  for (const Entry& entry : row.entries) {
    const Timing& timing = entry.timing;
    Json& json = result["results"][entry.contender];
    json["ns"] = Rounded(timing.median_ns);
    json["best_ns"] = Rounded(timing.best_ns);
    json["ratio"] = Rounded(timing.ratio);
    json["ratio_p10"] = Rounded(timing.ratio_p10);
    json["ratio_p90"] = Rounded(timing.ratio_p90);
    json["rounds"] = timing.rounds;
    if (!entry.difference.empty()) json["difference"] = entry.difference;
  }
  return result;
}

// The baseline's speed and how much slower the slowest of the others is.
std::string WorstOf(const Row& row) {
  const Entry& baseline = row.entries.front();
  const Entry& worst = *std::min_element(
      row.entries.begin(), row.entries.end(),
      [](const Entry& a, const Entry& b) { return a.timing.ratio < b.timing.ratio; });
  return fmt::format("  {} {:5.1f} GB/s  {} {:.2f}", baseline.contender,
                     GigabytesPerSecond(row, baseline), worst.contender, worst.timing.ratio);
}

std::string AllOf(const Row& row) {
  std::string text;
  for (const Entry& entry : row.entries) {
    const char* const mark = entry.difference.empty() ? "" : "*";
    text += "  " + entry.contender;
    if (row.section == "tiny") {
      text += fmt::format(" {:.1f} ns{}", entry.timing.median_ns, mark);
    } else if (&entry == &row.entries.front()) {
      text += fmt::format(" {:5.1f} GB/s", GigabytesPerSecond(row, entry));
    } else {
      text += fmt::format(" {:.2f}{}", entry.timing.ratio, mark);
    }
  }
  return text;
}

}  // namespace

Report::Report(Options options, std::optional<int> cpu) : options_(std::move(options)), cpu_(cpu) {}

void Report::AddContender(const Contender& contender) {
  contenders_.push_back({contender.name(), contender.version()});
}

void Report::AddMissing(MissingPeer peer) {
  fmt::print(stderr, "not measured: {}: {}\n", peer.name, peer.reason);
  missing_.push_back(std::move(peer));
}

void Report::AddRow(Row row) {
  fmt::print("{:9} {:34}{}\n", row.section, row.layout.label(),
             row.section == "data" ? WorstOf(row) : AllOf(row));
  (void)std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Report::AddFault(std::string fault) {
  fmt::print(stderr, "FAULT: {}\n", fault);
  faults_.push_back(std::move(fault));
}

core::Status Report::Write() const {
  if (options_.json_path.empty()) return core::OkStatus();
  Json json;
  json["context"] = {{"date", DateNow()},
                     {"cpu", CpuModel()},
                     {"caches", Caches()},
                     {"compiler", CompilerName()},
                     {"build", ENGINE_BENCHMARK_BUILD},
                     {"target", std::string(strided::ActiveTarget())},
                     {"command", options_.command},
                     {"rounds", options_.rounds},
                     {"pinned_to", cpu_.has_value() ? Json(*cpu_) : Json()},
                     {"huge_pages", options_.huge_pages},
                     {"read_back", options_.read_back}};
  json["contenders"] = Json::array();
  for (const NamedVersion& contender : contenders_) {
    json["contenders"].push_back({{"name", contender.name}, {"version", contender.version}});
  }
  json["missing"] = Json::array();
  for (const MissingPeer& peer : missing_) {
    json["missing"].push_back({{"name", peer.name}, {"reason", peer.reason}});
  }
  json["faults"] = faults_;
  json["rows"] = Json::array();
  for (const Row& row : rows_) json["rows"].push_back(ToJson(row));
  std::ofstream file(options_.json_path);
  file << json.dump(1) << '\n';
  file.close();
  if (!file) return core::InternalError("cannot write {}", options_.json_path);
  return core::OkStatus();
}

}  // namespace engine::benchmarks
