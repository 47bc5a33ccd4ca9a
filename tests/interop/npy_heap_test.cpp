// Clause: reading an .npy header takes no heap but for an error's text; every allocation that fails
// is kOutOfMemory (docs/design/npy.md, "What is refused").
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "data/npy_reference_files.h"
#include "interop/npy.h"
#include "interop_test_util.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::npy {
namespace {

using ::engine::testing::HeapAllocationsOnThisThread;
using ::engine::testing::ScopedHeapMeter;
using interop_testing::BufferOf;
using tensor::Tensor;

TEST(NpyHeapTest, ReadingAllocatesNothing) {
  const auto buffer = BufferOf(reference::kFortran3);
  const std::int64_t before = HeapAllocationsOnThisThread();
  const core::StatusOr<Tensor> tensor = FromBuffer(buffer);
  EXPECT_EQ(HeapAllocationsOnThisThread(), before);
  ENGINE_EXPECT_OK(tensor);
}

// A header of the longest kind, in names, digits and brackets.
TEST(NpyHeapTest, HostileHeadersCostTheErrorsTextOnly) {
  for (const std::string& text :
       {"{'" + std::string(65000, '\x1B') + "': 1}", "{'descr': '" + std::string(65000, '\xFF'),
        "{'descr': '" + std::string(65000, '\xFF') + "'}",
        "{'shape': (" + std::string(65000, '9') + ",)}", "{'shape': (" + std::string(65000, '('),
        std::string(65000, '{')}) {
    std::string file = "\x93NUMPY";
    file +=
        {'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
    file += text;
    const auto buffer = BufferOf(file);
    const ScopedHeapMeter meter;
    const core::StatusOr<Tensor> tensor = FromBuffer(buffer);
    EXPECT_FALSE(tensor.ok());
    EXPECT_LE(meter.peak_bytes(), 8192) << text.substr(0, 20);
  }
}

#ifdef __cpp_exceptions

using ::engine::testing::ScopedHeapFailure;

// Each allocation of `body` fails in turn, until none does.
template <typename Body>
void FailEachAllocation(core::StatusCode final_code, Body body) {
  for (std::int64_t successes = 0;; ++successes) {
    ASSERT_LT(successes, 1000);
    core::StatusCode code;
    bool triggered;
    {
      const ScopedHeapFailure failure(successes);
      code = testing::StatusOf(body()).code();
      triggered = failure.triggered();
    }
    if (!triggered) {
      EXPECT_EQ(code, final_code);
      return;
    }
    // A text that cannot be allocated leaves the code alone.
    EXPECT_TRUE(code == core::kOutOfMemory || code == final_code) << successes;
  }
}

TEST(NpyOutOfMemoryTest, EveryAllocation) {
  const interop_testing::TemporaryDirectory directory;
  const std::string path = directory.File("a.npy");
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, FromBuffer(BufferOf(reference::kFortran)));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, tensor.slice(0, 0, 1));
  FailEachAllocation(core::StatusCode::kOk, [&] { return Serialize(view); });
  FailEachAllocation(core::StatusCode::kOk, [&] { return Save(path, tensor); });
  EXPECT_EQ(directory.Count(), 1);
  FailEachAllocation(core::StatusCode::kOk, [&] { return Load(path); });
  const auto bad = BufferOf("bad");
  FailEachAllocation(core::StatusCode::kInvalidArgument, [&] { return FromBuffer(bad); });
}

#endif  // __cpp_exceptions

}  // namespace
}  // namespace engine::npy
