// Clause: reading an index takes at most 32 times its size in heap (docs/design/safetensors.md,
// "Sharded checkpoints"); every allocation that fails is kOutOfMemory.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/no_throw.h"
#include "interop/internal/safetensors_index.h"
#include "safetensors_test_util.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::safetensors {
namespace {

using ::engine::testing::ScopedHeapMeter;

constexpr std::int64_t kErrorBytes = 8192;

// The text with `piece(i)` inside, until it has that many bytes.
std::string Around(std::string text, std::size_t bytes,
                   const std::function<std::string(std::uint64_t)>& piece, const char* after) {
  for (std::uint64_t i = 0; text.size() < bytes; ++i) text += piece(i);
  text.back() = ' ';  // the last comma
  return text + after;
}

TEST(SafetensorsIndexHeapTest, AtMost32TimesTheIndex) {
  const std::string begin = R"({"weight_map":{)";
  for (const std::size_t bytes : {1000U, 4000U, 40'000U, 1'000'000U}) {
    const std::string texts[] = {
        Around(
            begin, bytes, [](auto) { return std::string(R"("":"f",)"); }, "}}"),
        Around(
            begin, bytes, [](auto i) { return '"' + std::to_string(i) + R"(":"f",)"; }, "}}"),
        Around(
            begin, bytes,
            [](auto i) { return '"' + std::to_string(i) + "\":\"" + std::to_string(i) + "\","; },
            "}}"),
        Around(R"({"x":[)", bytes, [](auto) { return std::string("0,"); }, "]}"),
        Around(R"({"x":{)", bytes, [](auto) { return std::string(R"("":0,)"); }, "}}"),
        R"({"weight_map":{"a":")" + std::string(bytes, '\x7F') + "\"",
        R"({"weight_map":{"a":"/)" + std::string(bytes, '\x7F') + "\"}}",
    };
    for (const std::string& text : texts) {
      const ScopedHeapMeter meter;
      { const core::StatusOr<internal::Index> index = internal::ParseIndex(text); }
      EXPECT_LE(meter.peak_bytes(), static_cast<std::int64_t>(32 * text.size()) + kErrorBytes)
          << text.substr(0, 40);
    }
  }
}

#ifdef __cpp_exceptions

TEST(SafetensorsShardedOutOfMemoryTest, EveryAllocation) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors.index.json");
  const std::vector<NamedTensor> tensors = {
      {"a", testing::Counting({3}, tensor::DataType::kInt8)},
      {"b", testing::Counting({3}, tensor::DataType::kInt32)}};
  const auto run = [](const std::function<core::Status()>& body) {
    for (std::int64_t successes = 0;; ++successes) {
      ASSERT_LT(successes, 1000);
      const testing::ScopedHeapFailure failure(successes);
      const core::StatusCode code = body().code();
      if (!failure.triggered()) {
        EXPECT_EQ(code, core::StatusCode::kOk);
        return;
      }
      EXPECT_EQ(code, core::kOutOfMemory) << successes;
    }
  };
  run([&] { return SaveSharded(path, tensors, 4); });
  EXPECT_EQ(directory.Count(), 3);
  run([&] { return ShardedFile::Open(path).status(); });
}

#endif  // __cpp_exceptions

}  // namespace
}  // namespace engine::safetensors
