// inspect_weights/jobs.h: what is done to each chosen tensor.
#ifndef ENGINE_EXAMPLES_INSPECT_WEIGHTS_JOBS_H_
#define ENGINE_EXAMPLES_INSPECT_WEIGHTS_JOBS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis.h"
#include "core/status.h"
#include "interop/safetensors.h"
#include "options.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace inspect_weights {

// A tensor of the file. One that the library cannot hold (a dtype it does not have, say) is listed
// and otherwise left out: its status says why, and its tensor is undefined.
struct Entry {
  const engine::safetensors::TensorInfo* info = nullptr;
  engine::core::Status status;
  engine::tensor::Tensor tensor;
};

struct CastOutcome {
  engine::tensor::DataType source = engine::tensor::DataType::kFloat32;
  engine::tensor::DataType target = engine::tensor::DataType::kFloat32;
  engine::core::Status status;  // of the cast
  CastCheck check;

  [[nodiscard]] bool ok() const { return status.ok() && check.ok(); }
};

struct PermuteOutcome {
  engine::tensor::Shape from;
  engine::tensor::Shape to;
  std::int64_t mismatch_count = 0;
};

// What became of one entry. Empty members were not asked for or do not apply.
struct Outcome {
  const Entry* entry = nullptr;
  std::optional<Statistics> statistics;
  std::vector<CastOutcome> casts;
  bool kept = false;  // not cast, because cast does not take it
  std::optional<PermuteOutcome> permuted;
  std::vector<std::string> previews;
  engine::tensor::Tensor result;  // kept for --output only

  [[nodiscard]] bool ok() const;
};

// The tensors that the options choose, sharing the file's bytes.
//   Errors   those of File::Get, for a tensor chosen by name and with --output; InvalidArgument: a
//            permutation that no chosen tensor takes.
[[nodiscard]] engine::core::StatusOr<std::vector<Entry>> Select(
    const engine::safetensors::File& file, const Options& options);

// Runs what the options ask for, one tensor after the other. Results that do not verify are part of
// the outcome; errors are those of the machine.
[[nodiscard]] engine::core::StatusOr<std::vector<Outcome>> RunJobs(std::span<const Entry> entries,
                                                                   const Options& options);

// Saves the results of all outcomes, which are ok, with the file's metadata.
//   Errors   those of safetensors::Save.
[[nodiscard]] engine::core::Status SaveResults(const std::string& path,
                                               std::span<const Outcome> outcomes,
                                               const engine::safetensors::Metadata& metadata);

}  // namespace inspect_weights

#endif  // ENGINE_EXAMPLES_INSPECT_WEIGHTS_JOBS_H_
