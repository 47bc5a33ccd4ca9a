// Hostile bytes, exhaustively: every truncation and every single flipped bit of valid envelopes.
// The verdicts are predicted by rules written down here once more, in 128-bit arithmetic; all bytes
// lie against an inaccessible page, and what ToTensor gives is read to its last element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "strided/layout.h"
#include "testing/guarded_memory.h"
#include "testing/status_matchers.h"
#include "wire/tensor_message.h"
#include "wire_test_util.h"

namespace engine::wire {
namespace {

using tensor::Tensor;
using upstream::WrittenCase;
using Wide = unsigned __int128;

// Field values straight from the bytes.
struct RawFields {
  std::uint64_t size;
  std::uint64_t num_elements;
  std::uint32_t shape[8];
  std::uint32_t strides[8];
  unsigned dtype;
  unsigned rank;
  unsigned device;
};

RawFields ReadFields(const std::uint8_t* envelope) {
  RawFields raw{};
  std::memcpy(&raw.size, envelope + kSizeAt, 8);
  std::memcpy(&raw.num_elements, envelope + kNumElementsAt, 8);
  std::memcpy(raw.shape, envelope + kShapeAt, 32);
  std::memcpy(raw.strides, envelope + kStridesAt, 32);
  raw.dtype = envelope[kDTypeAt];
  raw.rank = std::min<unsigned>(envelope[kRankAt], 8);
  raw.device = envelope[kDeviceAt];
  return raw;
}

// Whether an envelope must be decoded.
bool IsAcceptable(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 260) return false;
  const std::uint8_t begin[] = {0x9A, 0xF1, 0xB7, 0x98};
  const std::uint8_t end[] = {0x9F, 0xF1, 0xB7, 0x98};
  std::uint32_t version = 0;
  std::memcpy(&version, bytes.data() + 4, 4);
  return std::memcmp(bytes.data(), begin, 4) == 0 &&
         std::memcmp(bytes.data() + bytes.size() - 4, end, 4) == 0 && version >= 2'000'000 &&
         version < 3'000'000 && ReadFields(bytes.data()).size == bytes.size() - 260;
}

// Whether its struct must be a tensor.
bool IsTensor(const RawFields& raw) {
  constexpr unsigned kItemBytes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  if (raw.device != 0 || raw.dtype < 1 || raw.dtype > 13 || raw.rank < 1) return false;
  // What a Shape can hold: the product of the non-zero extents.
  constexpr Wide kMaxProduct = (Wide{1} << 63) - 1;
  Wide product = 1;
  bool empty = false;
  for (unsigned axis = 0; axis < raw.rank; ++axis) {
    if (raw.shape[axis] == 0) empty = true;
    product *= std::max<std::uint32_t>(raw.shape[axis], 1);
    if (product > kMaxProduct) return false;
  }
  if (raw.num_elements != (empty ? Wide{0} : product)) return false;
  if (empty) return true;
  Wide last = 0;
  for (unsigned axis = 0; axis < raw.rank; ++axis) {
    if (raw.shape[axis] > 1 && raw.strides[axis] == 0) return false;
    last += Wide{raw.shape[axis] - 1} * raw.strides[axis];
  }
  const unsigned item = kItemBytes[raw.dtype];
  return (last + 1) * item <= raw.size && product * item <= raw.size;
}

// Reads every byte of every element; the sum keeps the compiler honest.
std::uint64_t ReadEverything(const Tensor& tensor) {
  std::uint64_t sum = 0;
  const int item = tensor::itemsize(tensor.dtype());
  strided::ForEachRow<1>(
      tensor.shape(), {&tensor.strides()},
      [&](const auto& offsets, const auto& strides, std::int64_t count, std::int64_t) {
        for (std::int64_t i = 0; i < count; ++i) {
          const auto* const at = static_cast<const std::uint8_t*>(tensor.data()) +
                                 (offsets[0] + i * strides[0]) * item;
          for (int byte = 0; byte < item; ++byte) sum += at[byte];
        }
        return true;
      });
  return sum;
}

class HostileTest : public ::testing::TestWithParam<WrittenCase> {
 protected:
  HostileTest() : envelope_(ParseBytes(GetParam().envelope)), guarded_(envelope_.size()) {
    // Whatever the sender's device: the tensor is what is to be attacked.
    envelope_[kDeviceAt] = 0;
  }

  // A copy of the first `size` bytes that ends where the process may not read.
  std::span<const std::uint8_t> AgainstTheGuard(std::size_t size) {
    auto* const at = reinterpret_cast<std::uint8_t*>(guarded_.end()) - size;
    if (size > 0) std::memcpy(at, envelope_.data(), size);
    return {at, size};
  }

  // Decodes and, where that works, makes a tensor and encodes; returns how far it got.
  enum class Outcome { kRefused, kDecoded, kTensor };
  Outcome Attack(std::span<const std::uint8_t> bytes) {
    TensorMessage message = CountingMessage(4);
    message.set_name("sentinel");
    const ByteVector before = Encoded(message);
    if (!message.Decode(bytes).ok()) {
      EXPECT_EQ(Encoded(message), before);
      return Outcome::kRefused;
    }
    EXPECT_EQ(message.size(), bytes.size() - 260);
    ByteVector again = Encoded(message);
    EXPECT_TRUE(std::equal(again.begin() + 256, again.end(), bytes.begin() + 256));
    const core::StatusOr<Tensor> view = message.ToTensor();
    if (!view.ok()) return Outcome::kDecoded;
    EXPECT_LE(view->nbytes(), message.size());
    (void)ReadEverything(*view);
    return Outcome::kTensor;
  }

  ByteVector envelope_;
  testing::GuardedMemory guarded_;
};

// P82: a prefix is never an envelope.
TEST_P(HostileTest, EveryTruncation) {
  for (std::size_t size = 0; size < envelope_.size(); ++size) {
    const auto bytes = AgainstTheGuard(size);
    EXPECT_FALSE(TensorMessage::check_valid(bytes).ok()) << size;
    EXPECT_EQ(Attack(bytes), Outcome::kRefused) << size;
  }
}

TEST_P(HostileTest, EveryFlippedBit) {
  int tensors = 0;
  for (std::size_t bit = 0; bit < 8 * envelope_.size(); ++bit) {
    envelope_[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    const auto bytes = AgainstTheGuard(envelope_.size());
    Outcome expected = Outcome::kRefused;
    if (IsAcceptable(bytes)) {
      expected = IsTensor(ReadFields(bytes.data())) ? Outcome::kTensor : Outcome::kDecoded;
    }
    const Outcome outcome = Attack(bytes);
    ASSERT_EQ(outcome, expected) << "bit " << bit % 8 << " of byte " << bit / 8;
    tensors += outcome == Outcome::kTensor ? 1 : 0;
    envelope_[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
  }
  // At least the flips in texts, times and payload leave a tensor.
  if (GetParam().fields.dtype != 0 && IsTensor(ReadFields(envelope_.data()))) {
    EXPECT_GT(tensors, 1000);
  }
}

// Two fields at once, at the values where products and sums wrap.
TEST_P(HostileTest, ExtremeFieldsInPairs) {
  struct Field {
    std::size_t offset;
    std::size_t bytes;
  };
  const Field fields[] = {{kNumElementsAt, 8},  {kShapeAt, 4},   {kShapeAt + 4, 4},
                          {kShapeAt + 28, 4},   {kStridesAt, 4}, {kStridesAt + 4, 4},
                          {kStridesAt + 28, 4}, {kDTypeAt, 1},   {kRankAt, 1},
                          {kElementSizeAt, 1},  {kDeviceAt, 1}};
  const std::uint64_t values[] = {0,
                                  1,
                                  2,
                                  8,
                                  13,
                                  14,
                                  255,
                                  0x7FFFFFFF,
                                  0x80000000,
                                  0xFFFFFFFF,
                                  std::uint64_t{1} << 62,
                                  std::uint64_t{1} << 63,
                                  ~std::uint64_t{0}};
  const ByteVector original = envelope_;
  for (const Field& first : fields) {
    for (const Field& second : fields) {
      for (const std::uint64_t a : values) {
        for (const std::uint64_t b : values) {
          std::memcpy(envelope_.data() + first.offset, &a, first.bytes);
          std::memcpy(envelope_.data() + second.offset, &b, second.bytes);
          const auto bytes = AgainstTheGuard(envelope_.size());
          const Outcome expected =
              IsTensor(ReadFields(bytes.data())) ? Outcome::kTensor : Outcome::kDecoded;
          ASSERT_EQ(Attack(bytes), expected) << "offsets " << first.offset << ", " << second.offset
                                             << " values " << a << ", " << b;
          envelope_ = original;
        }
      }
    }
  }
}

// A contiguous one, a strided one, one of every axis, one without elements, one that is no tensor.
constexpr WrittenCase kAttacked[] = {upstream::kWritten[0], upstream::kWritten[2],
                                     upstream::kWritten[3], upstream::kWritten[8],
                                     upstream::kWritten[9]};

INSTANTIATE_TEST_SUITE_P(Of, HostileTest, ::testing::ValuesIn(kAttacked),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace engine::wire
