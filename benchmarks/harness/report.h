// harness/report.h: results, as lines for people and as JSON for tools/bench_report.py.
#ifndef ENGINE_BENCHMARKS_HARNESS_REPORT_H_
#define ENGINE_BENCHMARKS_HARNESS_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "harness/case.h"
#include "harness/contender.h"
#include "harness/options.h"
#include "harness/rounds.h"

namespace engine::benchmarks {

// A library that the comparison was to include, and cannot.
struct MissingPeer {
  std::string name;
  std::string reason;
};

struct Entry {
  std::string contender;
  Timing timing;
  std::string difference;  // what its result has other than ours; empty when equal
};

// One case; the first entry is what the ratios refer to.
struct Row {
  std::string section;  // "reference", "off_table", "data", "checked", "tiny"
  Case layout;
  std::vector<Entry> entries;
};

class Report {
 public:
  Report(Options options, std::optional<int> cpu);

  void AddContender(const Contender& contender);
  void AddMissing(MissingPeer peer);
  // Prints it as well.
  void AddRow(Row row);
  // Something that must not be: printed at once and kept.
  void AddFault(std::string fault);

  [[nodiscard]] bool has_faults() const { return !faults_.empty(); }

  // Writes options.json_path, if there is one.
  [[nodiscard]] core::Status Write() const;

 private:
  struct NamedVersion {
    std::string name;
    std::string version;
  };

  Options options_;
  std::optional<int> cpu_;
  std::vector<NamedVersion> contenders_;
  std::vector<MissingPeer> missing_;
  std::vector<Row> rows_;
  std::vector<std::string> faults_;
};

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_REPORT_H_
