#include "jobs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "demo.h"
#include "progress.h"
#include "tensor/ops.h"

namespace inspect_weights {
namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
namespace safetensors = engine::safetensors;
using engine::tensor::DataType;
using engine::tensor::Tensor;

constexpr int kDefaultEdgeItems = 3;

bool TakesPermutation(const Entry& entry, const Options& options) {
  return entry.tensor.defined() && !options.permutation.empty() &&
         static_cast<std::size_t>(entry.tensor.shape().rank()) == options.permutation.size();
}

// Reports a permutation that is none before any work starts: views cost nothing.
core::Status CheckPermutation(std::span<const Entry> entries, const Options& options) {
  if (options.permutation.empty()) return core::OkStatus();
  const auto entry = std::ranges::find_if(
      entries, [&](const Entry& candidate) { return TakesPermutation(candidate, options); });
  if (entry == entries.end()) {
    return core::InvalidArgumentError("--permute: no chosen tensor has rank {}",
                                      options.permutation.size());
  }
  return entry->tensor.permute(options.permutation).status();
}

// Reports a tensor that --output could not carry over before any work starts.
core::Status CheckSavable(std::span<const Entry> entries, const Options& options) {
  if (!options.output.has_value()) return core::OkStatus();
  for (const Entry& entry : entries) ENGINE_RETURN_IF_ERROR(entry.status);
  return core::OkStatus();
}

bool IsPreviewed(const Entry& entry, const Options& options) {
  return options.edge_items.has_value() || options.tensor_name.has_value() ||
         (options.demo && entry.info->name == kDemoPreview);
}

// Runs the jobs on one entry.
class EntryJobs {
 public:
  EntryJobs(const Entry& entry, const Options& options, Progress& progress)
      : entry_(entry), options_(options), progress_(progress), current_(entry.tensor) {
    outcome_.entry = &entry;
  }

  core::StatusOr<Outcome> Run() {
    if (!entry_.tensor.defined()) return std::move(outcome_);
    Preview("as stored", entry_.tensor);
    if (options_.stats) {
      ENGINE_ASSIGN_OR_RETURN(outcome_.statistics, ComputeStatistics(entry_.tensor, progress_));
    }
    // All of a checkpoint's tensors: bool is kept, since cast does not take it. One tensor: asked
    // for by name, so the refusal is reported.
    outcome_.kept = !options_.casts.empty() && entry_.tensor.dtype() == DataType::kBool &&
                    !options_.tensor_name.has_value();
    if (!outcome_.kept) {
      for (const DataType target : options_.casts) ENGINE_RETURN_IF_ERROR(Cast(target));
    }
    if (outcome_.ok() && TakesPermutation(entry_, options_)) ENGINE_RETURN_IF_ERROR(Permute());
    if (current_.buffer() != entry_.tensor.buffer()) Preview("result", current_);
    if (options_.output.has_value()) outcome_.result = std::move(current_);
    return std::move(outcome_);
  }

 private:
  core::Status Cast(DataType target) {
    CastOutcome outcome;
    outcome.source = entry_.tensor.dtype();
    outcome.target = target;
    core::StatusOr<Tensor> converted = ops::cast(entry_.tensor, target);
    if (core::IsOutOfMemory(converted.status())) return converted.status();
    outcome.status = converted.status();
    if (converted.ok()) {
      current_ = *std::move(converted);
      ENGINE_ASSIGN_OR_RETURN(outcome.check, CheckCast(entry_.tensor, current_, progress_));
    }
    outcome_.casts.push_back(std::move(outcome));
    return core::OkStatus();
  }

  core::Status Permute() {
    ENGINE_ASSIGN_OR_RETURN(PermutedCopy copy, CopyPermuted(current_, options_.permutation));
    outcome_.permuted = {current_.shape(), copy.tensor.shape(), copy.mismatch_count};
    progress_.Advance(current_.nbytes());
    current_ = std::move(copy.tensor);
    return core::OkStatus();
  }

  void Preview(const char* what, const Tensor& tensor) {
    if (!IsPreviewed(entry_, options_)) return;
    const int edge_items = options_.edge_items.value_or(kDefaultEdgeItems);
    outcome_.previews.push_back(std::string(what) + ": " + ops::to_string(tensor, edge_items));
  }

  const Entry& entry_;
  const Options& options_;
  Progress& progress_;
  Tensor current_;  // what the last job left
  Outcome outcome_;
};

std::uint64_t WorkBytes(std::span<const Entry> entries, const Options& options) {
  const std::uint64_t passes =
      options.casts.size() + (options.stats ? 1 : 0) + (options.permutation.empty() ? 0 : 1);
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += passes * (entry.info->end - entry.info->begin);
  return bytes;
}

}  // namespace

bool Outcome::ok() const {
  return std::ranges::all_of(casts, &CastOutcome::ok) &&
         (!permuted.has_value() || permuted->mismatch_count == 0);
}

core::StatusOr<std::vector<Entry>> Select(const safetensors::File& file, const Options& options) {
  std::vector<Entry> entries;
  if (options.tensor_name.has_value()) {
    ENGINE_ASSIGN_OR_RETURN(Tensor tensor, file.Get(*options.tensor_name));
    entries.push_back({file.Find(*options.tensor_name), core::OkStatus(), std::move(tensor)});
  } else {
    for (const safetensors::TensorInfo& info : file.tensors()) {
      core::StatusOr<Tensor> tensor = file.Get(info);
      if (core::IsOutOfMemory(tensor.status())) return tensor.status();
      const core::Status status = tensor.status();
      entries.push_back({&info, status, status.ok() ? *std::move(tensor) : Tensor()});
    }
  }
  ENGINE_RETURN_IF_ERROR(CheckPermutation(entries, options));
  ENGINE_RETURN_IF_ERROR(CheckSavable(entries, options));
  return entries;
}

core::StatusOr<std::vector<Outcome>> RunJobs(std::span<const Entry> entries,
                                             const Options& options) {
  Progress progress(options.progress, WorkBytes(entries, options));
  std::vector<Outcome> outcomes;
  for (const Entry& entry : entries) {
    ENGINE_ASSIGN_OR_RETURN(Outcome outcome, EntryJobs(entry, options, progress).Run());
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

core::Status SaveResults(const std::string& path, std::span<const Outcome> outcomes,
                         const safetensors::Metadata& metadata) {
  std::vector<safetensors::NamedTensor> tensors;
  for (const Outcome& outcome : outcomes) {
    tensors.push_back({outcome.entry->info->name, outcome.result});
  }
  return safetensors::Save(path, tensors, metadata);
}

}  // namespace inspect_weights
