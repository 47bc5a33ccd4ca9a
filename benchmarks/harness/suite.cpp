#include "harness/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "harness/case.h"
#include "harness/data.h"
#include "harness/machine.h"
#include "harness/options.h"
#include "harness/rounds.h"

namespace engine::benchmarks {
namespace {

using tensor::DataType;

// A case and the part of the suite that times it.
struct Item {
  std::string section;
  Case layout;
};

// A contender whose first run takes longer, in nanoseconds, is not run again.
constexpr double kTooSlow = 1e9;

constexpr std::int64_t kL2Bytes = std::int64_t{256} << 10;

// What --quick takes for the last-level cache where the kernel does not describe the caches.
constexpr std::int64_t kUsualLastLevel = std::int64_t{32} << 20;

// A dense cast of about so many bytes read plus written.
Case DenseCast(std::string_view prefix, std::string_view src, std::string_view dst,
               std::string_view size, std::int64_t bytes) {
  Case layout = *ParseCase(fmt::format("{}_{}_{} {} {} {} 1", prefix, src, dst, size, src, dst));
  const std::int64_t elements = bytes / layout.total_bytes() / 64 * 64;
  layout.shape = *tensor::Shape::FromDims({elements});
  return layout;
}

void AddGenerated(std::vector<Item>& items) {
  constexpr std::array<std::string_view, 4> kFloats = {"f16", "bf16", "f32", "f64"};
  for (const std::string_view src : kFloats) {
    for (const std::string_view dst : kFloats) {
      if (src != dst) items.push_back({"data", DenseCast("data", src, dst, "L2", kL2Bytes)});
    }
    for (const std::string_view dst : {"i8", "u8", "i32", "i64"}) {
      items.push_back({"data", DenseCast("data", src, dst, "L2", kL2Bytes)});
    }
  }
  constexpr std::array<std::array<std::string_view, 2>, 3> kChecked = {
      {{"f32", "i8"}, {"f32", "i32"}, {"i64", "i32"}}};
  for (const auto& [src, dst] : kChecked) {
    items.push_back({"checked", DenseCast("checked", src, dst, "L2", kL2Bytes)});
    items.push_back({"checked", DenseCast("checked", src, dst, "L3", 32 * kL2Bytes)});
    items.push_back({"checked", DenseCast("checked", src, dst, "DRAM", 1024 * kL2Bytes)});
  }
  for (const char* const line :
       {"tiny_contiguous_f32 4x4 f32 f32 4x4", "tiny_transposed_f32 4x4 f32 f32 4x4 axes=1,0",
        "tiny_slice_f32 4x4 f32 f32 4x4 src=8,1", "tiny_slice_f32_f16 4x4 f32 f16 4x4 src=8,1"}) {
    items.push_back({"tiny", *ParseCase(line)});
  }
}

core::StatusOr<std::vector<Item>> SelectItems(const Options& options) {
  std::vector<Item> items;
  for (const std::string& line : options.cases) {
    ENGINE_ASSIGN_OR_RETURN(Case layout, ParseCase(line));
    items.push_back({"off_table", std::move(layout)});
  }
  if (options.cases.empty()) {
    for (const auto& [section, file] :
         {std::pair("reference", "table.txt"), std::pair("off_table", "off_table.txt")}) {
      ENGINE_ASSIGN_OR_RETURN(std::vector<Case> cases,
                              ReadCases(fmt::format("{}/{}", ENGINE_BENCHMARK_SHAPES, file)));
      for (Case& layout : cases) items.push_back({section, std::move(layout)});
    }
    AddGenerated(items);
  }
  std::int64_t limit = std::max(CacheBytes(2), CacheBytes(3));
  if (limit == 0) limit = kUsualLastLevel;
  std::erase_if(items, [&](const Item& item) {
    return !options.Selects(item.layout.label()) ||
           (options.quick && item.layout.total_bytes() > limit);
  });
  return items;
}

class Suite {
 public:
  Suite(const Options& options, const std::vector<Item>& items, Peers& peers, Report& report)
      : options_(options),
        report_(report),
        src_(Room(items, &Case::src, &Case::src_window), options.huge_pages),
        dst_(Room(items, &Case::dst, &Case::dst_window), options.huge_pages),
        expected_(dst_.size_bytes(), options.huge_pages) {
    for (Contender* const own : {memcpy_.get(), plan_.get(), naive_.get()}) all_.push_back(own);
    for (const auto& peer : peers.contenders) all_.push_back(peer.get());
    for (const Contender* const contender : all_) report_.AddContender(*contender);
    for (MissingPeer& peer : peers.missing) report_.AddMissing(std::move(peer));
  }

  void Run(const Item& item) {
    if (item.section == "data") {
      RunData(item);
    } else if (item.section == "checked") {
      const std::array<Contender*, 3> contenders = {naive_.get(), plan_.get(), memcpy_.get()};
      RunLayout(item, contenders);
    } else if (item.section == "tiny") {
      std::vector<Contender*> contenders = all_;
      contenders.insert(contenders.begin() + 2, {ops_.get(), cast_.get()});
      RunLayout(item, contenders);
    } else {
      RunLayout(item, all_);
    }
  }

 private:
  // Bytes for the largest window of that side, and for memcpy.
  static std::int64_t Room(const std::vector<Item>& items, DataType Case::*dtype,
                           std::int64_t (Case::*window)() const) {
    std::int64_t room = 1;
    for (const Item& item : items) {
      const Case& layout = item.layout;
      room = std::max(
          {room, (layout.*window)() * tensor::itemsize(layout.*dtype), layout.total_bytes() / 2});
    }
    return room;
  }

  Task TaskOf(const Case& layout) const {
    return {&layout, dst_.data() + layout.dst_offset * tensor::itemsize(layout.dst),
            src_.data() + layout.src_offset * tensor::itemsize(layout.src)};
  }

  RoundOptions Rounds(const Case& layout) const {
    RoundOptions rounds;
    rounds.rounds = options_.rounds;
    if (options_.read_back) {
      rounds.read_back = {dst_.data(), static_cast<std::size_t>(WindowBytes(layout))};
    }
    return rounds;
  }

  static std::int64_t WindowBytes(const Case& layout) {
    return layout.dst_window() * tensor::itemsize(layout.dst);
  }

  // Every byte of the destination's window, gaps between its elements included.
  void ClearDestination(const Case& layout) {
    std::memset(dst_.data(), 0xCC, static_cast<std::size_t>(WindowBytes(layout)));
  }

  void MakeExpected(const Task& task) {
    ClearDestination(*task.layout);
    plan_->Prepare(task)->Repeat(1);
    std::memcpy(expected_.data(), dst_.data(), static_cast<std::size_t>(WindowBytes(*task.layout)));
  }

  // Runs it once. Returns whether the result is the expected one, and how long that took.
  std::pair<bool, double> Check(Job& job, const Case& layout) {
    ClearDestination(layout);
    const auto start = std::chrono::steady_clock::now();
    job.Repeat(1);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    const bool equal = std::memcmp(expected_.data(), dst_.data(),
                                   static_cast<std::size_t>(WindowBytes(layout))) == 0;
    return {equal, taken.count()};
  }

  void RunLayout(const Item& item, std::span<Contender* const> contenders) {
    const Case& layout = item.layout;
    const Task task = TaskOf(layout);
    Fill(src_.data(),
         std::max(layout.src_window(), layout.total_bytes() / 2 / tensor::itemsize(layout.src)),
         layout.src, layout.dst);
    MakeExpected(task);
    std::vector<std::unique_ptr<Job>> jobs;
    std::vector<Entry> too_slow;
    Row row{item.section, layout, {}};
    for (Contender* const contender : contenders) {
      std::unique_ptr<Job> job = contender->Prepare(task);
      if (job == nullptr) continue;
      const auto [equal, nanoseconds] = Check(*job, layout);
      Entry entry{contender->name(), {}, contender->Difference(layout)};
      // Neither memcpy nor a cast into a new tensor leaves its result there.
      const bool leaves_result = contender != memcpy_.get() && contender != cast_.get();
      if (!equal && leaves_result && entry.difference.empty()) {
        entry.difference = "wrong";
        report_.AddFault(fmt::format("{}: {} differs from ours", layout.label(), entry.contender));
      }
      if (nanoseconds > kTooSlow) {
        entry.timing.median_ns = entry.timing.best_ns = nanoseconds;
        entry.timing.rounds = 1;
        too_slow.push_back(std::move(entry));
      } else {
        row.entries.push_back(std::move(entry));
        jobs.push_back(std::move(job));
      }
    }
    Measure(row, jobs);
    for (Entry& entry : too_slow) {
      Timing& timing = entry.timing;
      timing.ratio = row.entries.front().timing.median_ns / timing.median_ns;
      timing.ratio_p10 = timing.ratio_p90 = timing.ratio;
      row.entries.push_back(std::move(entry));
    }
    report_.AddRow(std::move(row));
  }

  // The same plan on several sources, the ordinary one first.
  void RunData(const Item& item) {
    const Case& layout = item.layout;
    const std::int64_t bytes = layout.src_window() * tensor::itemsize(layout.src);
    std::vector<std::unique_ptr<Pages>> sources;
    std::vector<std::unique_ptr<Job>> jobs;
    Row row{item.section, layout, {}};
    const auto add = [&](DataKind kind, int one_in, std::string name) {
      sources.push_back(std::make_unique<Pages>(bytes, options_.huge_pages));
      std::byte* const src = sources.back()->data();
      Fill(src, layout.src_window(), layout.src, layout.dst, kind, one_in);
      jobs.push_back(plan_->Prepare({&layout, dst_.data(), src}));
      row.entries.push_back({std::move(name), {}, ""});
    };
    add(DataKind::kOrdinary, 1, std::string(Name(DataKind::kOrdinary)));
    for (const DataKind kind : SpecialKinds(layout.src, layout.dst)) {
      add(kind, 1, std::string(Name(kind)));
      add(kind, 8, fmt::format("1 in 8 {}", Name(kind)));
    }
    Measure(row, jobs);
    report_.AddRow(std::move(row));
  }

  // Fills in the timings of the row's entries. The baseline and our own plans, of which the data
  // section has several, run in every round.
  void Measure(Row& row, const std::vector<std::unique_ptr<Job>>& jobs) {
    std::vector<Lane> lanes;
    lanes.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const bool ours = row.section == "data" || row.entries[i].contender == plan_->name();
      lanes.push_back({jobs[i].get(), i == 0 || ours});
    }
    const std::vector<Timing> timings = MeasureRounds(lanes, Rounds(row.layout));
    for (std::size_t i = 0; i < timings.size(); ++i) row.entries[i].timing = timings[i];
  }

  const Options& options_;
  Report& report_;
  Pages src_;
  Pages dst_;
  Pages expected_;
  std::unique_ptr<Contender> memcpy_ = MakeMemcpy();
  std::unique_ptr<Contender> plan_ = MakePlan();
  std::unique_ptr<Contender> naive_ = MakeNaive();
  std::unique_ptr<Contender> ops_ = MakeOps();
  std::unique_ptr<Contender> cast_ = MakeAllocatingCast();
  std::vector<Contender*> all_;
};

core::StatusOr<int> Run(const Options& options, Peers (*make_peers)()) {
  ENGINE_ASSIGN_OR_RETURN(const std::vector<Item> items, SelectItems(options));
  if (options.list) {
    for (const Item& item : items) fmt::print("{:9} {}\n", item.section, item.layout.label());
    return 0;
  }
  std::optional<int> cpu;
  if (options.pinned) {
    ENGINE_ASSIGN_OR_RETURN(cpu, PinTo(options.cpu));
  }
  Peers peers = make_peers();
  Report report(options, cpu);
  Suite suite(options, items, peers, report);
  for (const Item& item : items) suite.Run(item);
  ENGINE_RETURN_IF_ERROR(report.Write());
  return report.has_faults() ? 1 : 0;
}

}  // namespace

int RunSuite(int argc, const char* const* argv, Peers (*make_peers)()) {
  const core::StatusOr<Options> options = ParseOptions(argc, argv);
  if (options.ok() && options->help) {
    fmt::print("{}", Usage());
    return 0;
  }
  const core::StatusOr<int> code = options.ok() ? Run(*options, make_peers) : options.status();
  if (code.ok()) return *code;
  fmt::print(stderr, "{}\n{}", std::string(code.status().message()), Usage());
  return 2;
}

}  // namespace engine::benchmarks
