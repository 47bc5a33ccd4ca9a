// What messages take from the heap: nothing to decode and encode, never more than the bytes that
// are there, and kOutOfMemory when there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "testing/heap.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"
#include "wire/tensor_message.h"
#include "wire_test_util.h"

namespace engine::wire {
namespace {

using testing::HeapAllocationsOnThisThread;
using testing::ScopedHeapMeter;

TEST(TensorMessageHeapTest, DecodingAndEncodingAllocateNothing) {
  const ByteVector envelope = Encoded(CountingMessage(200));
  ByteVector space(envelope.size());
  const auto buffer = BufferOf(envelope);
  TensorMessage message;
  const std::int64_t before = HeapAllocationsOnThisThread();
  const bool borrowed = message.Decode(envelope).ok();
  const bool encoded = message.Encode(space).ok();
  const bool shared = message.Decode(buffer).ok();
  const bool viewed = message.ToTensor().ok();
  const std::int64_t allocations = HeapAllocationsOnThisThread() - before;
  EXPECT_EQ(allocations, 0);
  EXPECT_TRUE(borrowed && encoded && shared && viewed);
}

// Of borrowed bytes the tensor needs a handle, however many they are; refusals need their text.
TEST(TensorMessageHeapTest, HostileSizesAllocateNoMoreThanHandlesAndTexts) {
  constexpr std::int64_t kHandleOrText = 1024;
  const ByteVector original = Encoded(CountingMessage(200));
  const std::uint64_t extremes[] = {0, 1, 0xFFFFFFFF, std::uint64_t{1} << 40, ~std::uint64_t{0}};
  for (const std::size_t offset : {kSizeAt, kNumElementsAt, kShapeAt, kStridesAt}) {
    for (const std::uint64_t value : extremes) {
      ByteVector envelope = original;
      Patch<std::uint64_t>(envelope, offset, value);
      const ScopedHeapMeter meter;
      {
        TensorMessage message;
        if (message.Decode(envelope).ok()) static_cast<void>(message.ToTensor().ok());
      }
      EXPECT_LE(meter.peak_bytes(), kHandleOrText);
      EXPECT_EQ(meter.live_bytes(), 0);
    }
  }
}

// Every allocation of every function fails in turn; nothing has changed then.
TEST(TensorMessageHeapTest, EveryFailedAllocationIsOutOfMemory) {
  TensorMessage message = CountingMessage(8);
  message.set_quant_scale(1);
  const TensorMessage source = CountingMessage(16);
  const ByteVector envelope = Encoded(message);
  TensorMessage borrower;
  ENGINE_ASSERT_OK(borrower.Decode(envelope));
  borrower.set_quant_scale(1);
  const tensor::Tensor turned =
      *testing::Counting({2, 3}, tensor::DataType::kInt32).transpose(0, 1);
  const auto state = [&] {
    const std::vector<std::uint64_t> elements = testing::BitsOf(turned);
    return std::tuple(Encoded(message), Encoded(borrower), Encoded(source), elements,
                      message.data(), borrower.data(), turned.data(), turned.strides());
  };
  auto before = state();
  const std::function<core::Status()> calls[] = {
      [&] { return message.create(9); },
      [&] { return message.deep_copy(source); },
      [&] { return message.deep_copy(envelope.data(), envelope.size()); },
      [&] { return message.Clone().status(); },
      [&] { return borrower.ToTensor().status(); },
      [&] { return borrower.Dequantize().status(); },
      [&] { return TensorMessage::FromTensor(turned, TensorMessage::Packing::kPack).status(); },
  };
  for (const auto& call : calls) {
    for (int successes = 0;; ++successes) {
      core::Status status;
      bool triggered = false;
      {
        const testing::ScopedHeapFailure failure(successes);
        status = call();
        triggered = failure.triggered();
      }
      if (!triggered) {
        ENGINE_EXPECT_OK(status);
        EXPECT_GT(successes, 0);
        break;
      }
      EXPECT_TRUE(core::IsOutOfMemory(status)) << status.ToString();
      EXPECT_TRUE(state() == before) << "after " << successes;
    }
    message = CountingMessage(8);
    message.set_quant_scale(1);
    before = state();
  }
}

#ifdef __cpp_exceptions
// Texts that cannot be allocated leave the bare code.
TEST(TensorMessageHeapTest, RefusalsSurviveWithoutTheirText) {
  const ByteVector bytes(300);
  TensorMessage message;
  core::Status status;
  {
    const testing::ScopedHeapFailure failure;
    status = message.Decode(bytes);
  }
  EXPECT_EQ(status.code(), core::StatusCode::kInvalidArgument);
}
#endif

}  // namespace
}  // namespace engine::wire
