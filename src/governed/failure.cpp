#include "governed/failure.h"

#include <absl/strings/cord.h>
#include <absl/strings/string_view.h>
#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <utility>

#include "core/check.h"
#include "core/no_throw.h"
#include "governed/internal/errors.h"

namespace engine::governed {
namespace {

// The key of the payload that carries a Failure's name.
constexpr char kPayloadKey[] = "engine.governed.Failure";

struct FailureInfo {
  Failure failure;
  std::string_view name;
  core::StatusCode code;
};

constexpr std::array<FailureInfo, kNumFailures> kFailures = {{
    {Failure::kEmptyTensor, "EmptyTensor", core::StatusCode::kInvalidArgument},
    {Failure::kOutOfMemory, "OutOfMemory", core::kOutOfMemory},
    {Failure::kDimensionMismatch, "DimensionMismatch", core::StatusCode::kInvalidArgument},
    {Failure::kInvalidSliceRange, "InvalidSliceRange", core::StatusCode::kInvalidArgument},
    {Failure::kInvalidPermutation, "InvalidPermutation", core::StatusCode::kInvalidArgument},
    {Failure::kShapeMismatch, "ShapeMismatch", core::StatusCode::kInvalidArgument},
    {Failure::kNotContiguous, "NotContiguous", core::StatusCode::kFailedPrecondition},
    {Failure::kNotExclusive, "NotExclusive", core::StatusCode::kFailedPrecondition},
    {Failure::kIndexOutOfBounds, "IndexOutOfBounds", core::StatusCode::kInvalidArgument},
}};

constexpr bool TableIsInOrder() {
  for (std::size_t i = 0; i < kFailures.size(); ++i) {
    if (static_cast<std::size_t>(kFailures[i].failure) != i) return false;
  }
  return static_cast<int>(Failure::kIndexOutOfBounds) + 1 == kNumFailures;
}
static_assert(TableIsInOrder());

const FailureInfo& InfoOf(Failure failure) {
  const auto index = static_cast<std::size_t>(failure);
  ENGINE_CHECK(index < kFailures.size(), "{} is not a Failure", index);
  return kFailures[index];
}

// Abseil's own type need not be the standard's.
absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string_view to_string(Failure failure) { return InfoOf(failure).name; }

std::optional<Failure> FailureOf(const core::Status& status) {
  if (core::IsOutOfMemory(status)) return Failure::kOutOfMemory;
  const auto payload = status.GetPayload(kPayloadKey);
  if (!payload.has_value()) return std::nullopt;
  for (const FailureInfo& info : kFailures) {
    if (*payload == ToAbsl(info.name)) return info.failure;
  }
  return std::nullopt;
}

namespace internal {

core::Status MakeFailure(Failure failure, fmt::string_view format, fmt::format_args args) {
  const FailureInfo& info = InfoOf(failure);
  if (failure == Failure::kOutOfMemory) return core::OutOfMemoryError();
  return core::WithoutBadAlloc([&]() -> core::Status {
    core::Status status(info.code, fmt::format("{}: {}", info.name, fmt::vformat(format, args)));
    status.SetPayload(kPayloadKey, absl::Cord(ToAbsl(info.name)));
    return status;
  });
}

}  // namespace internal
}  // namespace engine::governed
