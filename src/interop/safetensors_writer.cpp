#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/checked_math.h"
#include "core/no_throw.h"
#include "core/text.h"
#include "interop/internal/safetensors_header.h"
#include "interop/internal/safetensors_json.h"
#include "interop/internal/safetensors_text.h"
#include "interop/internal/safetensors_writer.h"
#include "interop/safetensors.h"
#include "memory/allocator.h"
#include "memory/byte_sink.h"
#include "memory/replacement_file.h"
#include "tensor/element_writer.h"

namespace engine::safetensors {
namespace {

using core::Quoted;
using core::WithoutBadAlloc;
using internal::AppendAll;
using internal::AppendJsonString;
using internal::kMetadataKey;
using internal::MakePlan;
using internal::Plan;
using tensor::Tensor;

// The header is padded with spaces to a multiple of this, so that the data is aligned.
constexpr std::size_t kHeaderAlignment = 8;

core::Status CheckText(const char* what, std::string_view text) {
  if (core::FindInvalidUtf8(text) == std::string_view::npos) return core::OkStatus();
  return core::InvalidArgumentError("safetensors: {} {} is not UTF-8", what, Quoted(text));
}

core::Status CheckTensor(const NamedTensor& named) {
  ENGINE_RETURN_IF_ERROR(CheckText("the name", named.name));
  if (named.name == kMetadataKey) {
    return core::InvalidArgumentError("safetensors: no tensor can be named {}", kMetadataKey);
  }
  if (!named.tensor.defined()) {
    return core::InvalidArgumentError("safetensors: tensor {} is undefined", Quoted(named.name));
  }
  if (!named.tensor.device().is_cpu()) {
    return core::UnimplementedError("safetensors: tensor {} is on {}, expected cpu",
                                    Quoted(named.name), named.tensor.device());
  }
  return core::OkStatus();
}

core::Status AppendMetadata(const Metadata& metadata, std::string& out) {
  std::vector<const Metadata::value_type*> sorted;
  sorted.reserve(metadata.size());
  for (const Metadata::value_type& entry : metadata) {
    ENGINE_RETURN_IF_ERROR(CheckText("the metadata key", entry.first));
    ENGINE_RETURN_IF_ERROR(CheckText("the metadata value", entry.second));
    sorted.push_back(&entry);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  AppendJsonString(kMetadataKey, out);
  const char* separator = ":{";
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i]->first == sorted[i - 1]->first) {
      return core::InvalidArgumentError("safetensors: two metadata entries have the key {}",
                                        Quoted(sorted[i]->first));
    }
    out += std::exchange(separator, ",");
    AppendJsonString(sorted[i]->first, out);
    out += ':';
    AppendJsonString(sorted[i]->second, out);
  }
  out += '}';
  return core::OkStatus();
}

// Appends one tensor's entry and advances `offset` past its data.
core::Status AppendEntry(const NamedTensor& named, std::uint64_t& offset, std::string& out) {
  const Tensor& tensor = named.tensor;
  // Layouts that overlap themselves reach sizes that no buffer has.
  const std::optional<std::uint64_t> end = core::CheckedAdd<std::uint64_t>(offset, tensor.nbytes());
  if (!end.has_value()) {
    return core::InvalidArgumentError("safetensors: tensor {} ends beyond 2^64 bytes",
                                      Quoted(named.name));
  }
  AppendJsonString(named.name, out);
  fmt::format_to(
      std::back_inserter(out), R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
      internal::FormatName(tensor.dtype()), fmt::join(tensor.shape().dims(), ","), offset, *end);
  offset = *end;
  return core::OkStatus();
}

core::Status SortTensors(std::span<const NamedTensor> tensors, Plan& plan) {
  plan.tensors.reserve(tensors.size());
  for (const NamedTensor& named : tensors) {
    ENGINE_RETURN_IF_ERROR(CheckTensor(named));
    plan.tensors.push_back(&named);
  }
  const auto by_name = [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; };
  std::sort(plan.tensors.begin(), plan.tensors.end(), by_name);
  const auto twice =
      std::adjacent_find(plan.tensors.begin(), plan.tensors.end(),
                         [](const auto* a, const auto* b) { return a->name == b->name; });
  if (twice != plan.tensors.end()) {
    return core::InvalidArgumentError("safetensors: two tensors are named {}",
                                      Quoted((*twice)->name));
  }
  std::sort(plan.tensors.begin(), plan.tensors.end(),
            [&](const NamedTensor* a, const NamedTensor* b) {
              const int a_bytes = tensor::itemsize(a->tensor.dtype());
              const int b_bytes = tensor::itemsize(b->tensor.dtype());
              return a_bytes != b_bytes ? a_bytes > b_bytes : by_name(a, b);
            });
  return core::OkStatus();
}

}  // namespace

core::StatusOr<Plan> internal::MakePlan(std::span<const NamedTensor> tensors,
                                        const Metadata& metadata) {
  Plan plan;
  ENGINE_RETURN_IF_ERROR(SortTensors(tensors, plan));
  std::string& out = plan.prefix;
  out.assign(kLengthBytes, '\0');
  out += '{';
  if (!metadata.empty()) ENGINE_RETURN_IF_ERROR(AppendMetadata(metadata, out));
  std::uint64_t data_bytes = 0;
  for (const NamedTensor* const named : plan.tensors) {
    if (out.back() != '{') out += ',';
    ENGINE_RETURN_IF_ERROR(AppendEntry(*named, data_bytes, out));
  }
  out += '}';
  const std::size_t unpadded = out.size() - kLengthBytes;
  const std::size_t length =
      (unpadded + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment;
  out.append(length - unpadded, ' ');
  if (length > kMaxHeaderBytes) {
    return core::InvalidArgumentError("safetensors: the header takes {} bytes, expected at most {}",
                                      length, kMaxHeaderBytes);
  }
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    out[i] = static_cast<char>(static_cast<unsigned char>(length >> (8 * i)));
  }
  const std::optional<std::uint64_t> total =
      core::CheckedAdd<std::uint64_t>(out.size(), data_bytes);
  if (!total.has_value()) {
    return core::InvalidArgumentError("safetensors: the file would have more than 2^64 bytes");
  }
  plan.total_bytes = *total;
  return plan;
}

core::Status internal::CheckTensors(std::span<const NamedTensor> tensors) {
  Plan unused;
  return SortTensors(tensors, unused);
}

core::Status internal::AppendAll(const Plan& plan, memory::ByteSink& sink) {
  ENGINE_RETURN_IF_ERROR(sink.Append(plan.prefix.data(), plan.prefix.size()));
  tensor::ElementWriter elements(sink);
  for (const NamedTensor* const named : plan.tensors) {
    ENGINE_RETURN_IF_ERROR(elements.Append(named->tensor));
  }
  return core::OkStatus();
}

core::Status Save(const std::string& path, std::span<const NamedTensor> tensors,
                  const Metadata& metadata) {
  return WithoutBadAlloc([&]() -> core::Status {
    ENGINE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(tensors, metadata));
    memory::ReplacementFile file("safetensors", path);
    ENGINE_RETURN_IF_ERROR(file.Create());
    ENGINE_RETURN_IF_ERROR(AppendAll(plan, file));
    return file.Commit();
  });
}

core::StatusOr<memory::Buffer> Serialize(std::span<const NamedTensor> tensors,
                                         const Metadata& metadata) {
  return WithoutBadAlloc([&]() -> core::StatusOr<memory::Buffer> {
    ENGINE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(tensors, metadata));
    ENGINE_ASSIGN_OR_RETURN(memory::Buffer file, memory::DefaultCpuAllocator()->Allocate(
                                                     plan.total_bytes, kHeaderAlignment));
    memory::MemorySink sink(file.data(), file.size_bytes());
    ENGINE_RETURN_IF_ERROR(AppendAll(plan, sink));
    return file;
  });
}

}  // namespace engine::safetensors
