// Draws dtypes, shape, layouts, contents and a partition from the input, and compares CopyPlan with
// the reference.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/check.h"
#include "tensor/dtype.h"
#include "testing/copy_plan_trial.h"
#include "testing/samples.h"

namespace {

// Integers from the input bytes; the lowest of the range once they run out.
class InputDraw {
 public:
  InputDraw(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low);
    std::uint64_t drawn = 0;
    for (std::uint64_t rest = span; rest > 0 && next_ != end_; rest >>= 8) {
      drawn = drawn << 8 | *next_++;
    }
    return low + static_cast<std::int64_t>(drawn % (span + 1));
  }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using engine::tensor::DataType;
  constexpr std::int64_t kMaxNumel = 1024;
  constexpr std::int64_t kCastable = engine::testing::kCastableDTypes.size();
  InputDraw draw(data, size);
  // One index past the castable dtypes stands for bool, which is only copied.
  const std::int64_t src_index = draw(0, kCastable);
  const std::int64_t dst_index = draw(0, kCastable - 1);
  DataType src = DataType::kBool;
  DataType dst = DataType::kBool;
  if (src_index < kCastable) {
    src = engine::testing::kCastableDTypes[static_cast<std::size_t>(src_index)];
    dst = engine::testing::kCastableDTypes[static_cast<std::size_t>(dst_index)];
  }
  const std::string difference = engine::testing::CopyPlanTrial(draw, dst, src, kMaxNumel);
  ENGINE_CHECK(difference.empty(), "{}", difference);
  return 0;
}
