// testing/copy_plan_trial.h: one randomly drawn copy or cast, compared with the reference.
// Test support; never installed. Seeded tests and the fuzzer run the same trial.
#ifndef ENGINE_TESTING_COPY_PLAN_TRIAL_H_
#define ENGINE_TESTING_COPY_PLAN_TRIAL_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strided/copy_plan.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/random_layout.h"
#include "testing/reference.h"

namespace engine::testing {

namespace internal {

template <typename Draw>
std::vector<std::byte> DrawBytes(Draw& draw, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(draw(0, 255));
  return bytes;
}

// Overwrites the elements of a side with integers that every castable dtype holds, but for a rare
// one. Random bytes alone are hardly ever representable in an integer dtype.
template <typename Draw>
void DrawMostlySmall(Draw& draw, const tensor::Shape& shape, tensor::DataType dtype,
                     const tensor::Strides& strides, std::byte* data) {
  const std::int64_t rarity = draw(0, 2) * shape.numel();  // 0: no exception
  const int item_bytes = tensor::itemsize(dtype);
  reference::ForEachElement(shape, strides, strides, [&](std::int64_t at, std::int64_t) {
    if (rarity > 0 && draw(0, rarity) == 0) return;
    const auto small = static_cast<std::uint64_t>(draw(0, 127));
    reference::StoreBits(data + at * item_bytes,
                         *reference::ConvertBits(dtype, tensor::DataType::kUInt8, small),
                         item_bytes);
  });
}

// Runs the plan's units in a random partition, in random order.
template <typename Draw>
bool RunInPieces(Draw& draw, const strided::CopyPlan& plan, void* dst, const void* src) {
  std::vector<std::int64_t> cuts = {0, plan.num_units()};
  for (std::int64_t i = draw(0, 3); i > 0; --i) cuts.push_back(draw(0, plan.num_units()));
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) pieces.emplace_back(cuts[i], cuts[i + 1]);
  for (std::size_t i = pieces.size() - 1; i > 0; --i) {
    std::swap(pieces[i], pieces[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(i)))]);
  }
  bool ok = true;
  for (const auto& [begin, end] : pieces) ok &= plan.RunUnits(dst, src, begin, end);
  return ok;
}

}  // namespace internal

// Draws layouts, misalignment, contents and a partition of the plan's units for this shape and pair
// of dtypes; the source may overlap itself, or repeat along axes. `alias` as in DrawLayout. Returns
// what differs from the reference; empty when nothing does. Checked, of a plan run in pieces and of
// RunOnce: the verdict, the whole destination storage (on a failure: everything but the view's
// elements), and the offender's index.
template <typename Draw>
[[nodiscard]] std::string CopyPlanTrial(Draw& draw, tensor::DataType dst_dtype,
                                        tensor::DataType src_dtype, const tensor::Shape& shape,
                                        std::int64_t alias = 1) {
  const int dst_bytes = tensor::itemsize(dst_dtype);
  const int src_bytes = tensor::itemsize(src_dtype);
  const DrawnLayout dst = DrawLayout(draw, shape, /*may_overlap=*/false, alias);
  const bool may_overlap = draw(0, 3) == 0;
  DrawnLayout src = DrawLayout(draw, shape, may_overlap, alias);
  if (may_overlap && draw(0, 1) == 0) DrawRepeatedAxes(draw, src);
  const std::int64_t dst_start = draw(0, 7) + dst.first * dst_bytes;
  const std::int64_t src_start = draw(0, 7) + src.first * src_bytes;
  std::vector<std::byte> source = internal::DrawBytes(draw, 7 + src.storage_size * src_bytes);
  if (draw(0, 3) != 0 && src_dtype != tensor::DataType::kBool) {
    internal::DrawMostlySmall(draw, shape, src_dtype, src.strides, source.data() + src_start);
  }
  const std::vector<std::byte> before = internal::DrawBytes(draw, 7 + dst.storage_size * dst_bytes);

  std::vector<std::byte> expected = before;
  const std::optional<std::int64_t> offender =
      reference::ConvertStrided(shape, dst_dtype, expected.data() + dst_start, dst.strides,
                                src_dtype, source.data() + src_start, src.strides);

  std::vector<std::byte> actual = before;
  const strided::CopyPlan plan =
      strided::CopyPlan::Make(shape, dst_dtype, dst.strides, src_dtype, src.strides);
  const bool ok =
      internal::RunInPieces(draw, plan, actual.data() + dst_start, source.data() + src_start);
  const std::string what = fmt::format("{} {} -> {} {} of shape {}: ", src_dtype, src.strides,
                                       dst_dtype, dst.strides, shape);

  if (ok == offender.has_value()) return fmt::format("{}the plan says {}", what, ok);
  const std::string message(plan.FirstOffender(source.data() + src_start).message());
  const std::string place =
      offender.has_value() ? fmt::format("(element {}) of {} ", *offender, src_dtype) : "";
  if (offender.has_value() == message.empty() || message.find(place) == std::string::npos) {
    return fmt::format("{}expected an offender '{}', got '{}'", what, place, message);
  }
  std::vector<std::byte> once = before;
  const bool once_ok =
      strided::CopyPlan::RunOnce(shape, dst_dtype, dst.strides, src_dtype, src.strides,
                                 once.data() + dst_start, source.data() + src_start);
  if (once_ok != ok) return fmt::format("{}RunOnce says {}", what, once_ok);

  for (std::vector<std::byte>* const result : {&actual, &once}) {
    if (offender.has_value()) {
      // The view's elements are unspecified: compare the rest.
      reference::ForEachElement(
          shape, dst.strides, dst.strides, [&](std::int64_t at, std::int64_t) {
            reference::StoreBits(result->data() + dst_start + at * dst_bytes, 0, dst_bytes);
            reference::StoreBits(expected.data() + dst_start + at * dst_bytes, 0, dst_bytes);
          });
    }
    const auto difference = std::mismatch(result->begin(), result->end(), expected.begin());
    if (difference.first == result->end()) continue;
    return fmt::format(
        "{}{}: storage byte {} (the view starts at {}) is {:#04x}, expected {:#04x}", what,
        result == &once ? "RunOnce" : "RunUnits", difference.first - result->begin(), dst_start,
        static_cast<unsigned>(*difference.first), static_cast<unsigned>(*difference.second));
  }
  return "";
}

// The same for a drawn shape of at most `max_numel` elements.
template <typename Draw>
[[nodiscard]] std::string CopyPlanTrial(Draw& draw, tensor::DataType dst_dtype,
                                        tensor::DataType src_dtype, std::int64_t max_numel) {
  return CopyPlanTrial(draw, dst_dtype, src_dtype, DrawShape(draw, max_numel));
}

}  // namespace engine::testing

#endif  // ENGINE_TESTING_COPY_PLAN_TRIAL_H_
