// interop/internal/safetensors_writer.h: one file to be written, shared by Save and SaveSharded.
#ifndef ENGINE_INTEROP_INTERNAL_SAFETENSORS_WRITER_H_
#define ENGINE_INTEROP_INTERNAL_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "interop/safetensors.h"
#include "memory/byte_sink.h"

namespace engine::safetensors::internal {

// A checked request: what is written, in which order, after which text.
struct Plan {
  std::vector<const NamedTensor*> tensors;
  std::string prefix;  // the length and the padded header
  std::uint64_t total_bytes = 0;
};

//   Errors   those of Serialize.
//   Throws   std::bad_alloc; see core::WithoutBadAlloc. The same below.
[[nodiscard]] core::StatusOr<Plan> MakePlan(std::span<const NamedTensor> tensors,
                                            const Metadata& metadata);

// The errors of `tensors` alone: names and handles, duplicates among all of them.
[[nodiscard]] core::Status CheckTensors(std::span<const NamedTensor> tensors);

// Appends the whole file. The tensors must still be there.
[[nodiscard]] core::Status AppendAll(const Plan& plan, memory::ByteSink& sink);

}  // namespace engine::safetensors::internal

#endif  // ENGINE_INTEROP_INTERNAL_SAFETENSORS_WRITER_H_
