#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "ops_test_util.h"
#include "tensor/ops.h"
#include "testing/guarded_memory.h"
#include "testing/random_layout.h"
#include "testing/status_matchers.h"

namespace engine::tensor::ops {
namespace {

using testing::BitsOf;
using testing::BitsOfInteger;
using testing::PoisonedTensor;
using testing::StatusIs;
using testing::StorableDTypes;
using enum DataType;

constexpr auto kInvalid = core::StatusCode::kInvalidArgument;

// fill writes every element of the view and nothing else: whatever the layout, against a loop over
// the coordinates.
TEST(FillTest, RandomLayoutsOfEveryDType) {
  testing::RandomDraw draw(20260801);
  for (int round = 0; round < 3000; ++round) {
    const std::vector<DataType> dtypes = StorableDTypes();
    const DataType dtype = dtypes[static_cast<std::size_t>(draw(0, 12))];
    const std::int64_t item_bytes = itemsize(dtype);
    const Shape shape = testing::DrawShape(draw, 200);
    const testing::DrawnLayout layout = testing::DrawLayout(draw, shape, false);
    const std::int64_t misalignment = draw(0, 7);
    const Tensor storage =
        PoisonedTensor({layout.storage_size * item_bytes + misalignment}, kUInt8);
    ENGINE_ASSERT_OK_AND_ASSIGN(
        const Tensor view,
        Tensor::from_strided_buffer(
            storage.buffer(), static_cast<std::size_t>(layout.first * item_bytes + misalignment),
            shape, layout.strides, dtype));

    const std::int64_t value = dtype == kBool ? draw(0, 1) : draw(0, 127);
    std::vector<std::byte> expected = testing::BytesOf(*storage.buffer());
    testing::reference::ForEachCoordinates(shape, [&](const DimVector& coordinates) {
      const std::int64_t offset =
          layout.first + testing::reference::OffsetAt(coordinates, layout.strides);
      testing::reference::StoreBits(expected.data() + offset * item_bytes + misalignment,
                                    BitsOfInteger(value, dtype), static_cast<int>(item_bytes));
    });
    ENGINE_ASSERT_OK(fill(view, value));
    ASSERT_EQ(testing::BytesOf(*storage.buffer()), expected)
        << fmt::format("{} {} {} value {}", dtype, shape, layout.strides, value);
  }
}

TEST(FillTest, StridedViewOnly) {
  const Tensor storage = testing::TensorOf<std::int32_t>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  ENGINE_ASSERT_OK(fill(*storage.slice(1, 1, 3), -9));
  EXPECT_THAT(testing::ValuesOf<std::int32_t>(storage),
              ::testing::ElementsAre(0, -9, -9, 3, 4, -9, -9, 7));
}

TEST(FillTest, TransposedAndScalarViews) {
  const Tensor storage = PoisonedTensor({3, 5}, kFloat64);
  ENGINE_ASSERT_OK(fill(*storage.transpose(0, 1), 0.5));
  EXPECT_THAT(testing::ValuesOf<double>(storage), ::testing::Each(0.5));
  const Tensor scalar = PoisonedTensor({}, kUInt16);
  ENGINE_ASSERT_OK(fill(scalar, 65535));
  EXPECT_EQ(scalar.item<std::uint16_t>({}), 65535);
}

TEST(FillTest, Misaligned) {
  for (const DataType dtype : StorableDTypes()) {
    const Tensor tensor = testing::PoisonedTensor({7, 3}, dtype, 1);
    ENGINE_ASSERT_OK(fill(tensor, 1));
    EXPECT_THAT(BitsOf(tensor), ::testing::Each(BitsOfInteger(1, dtype)));
  }
}

// P43: elements that end at an inaccessible page, at every count; the bytes before stay.
TEST(FillTest, EndsAtAGuardPage) {
  const testing::GuardedMemory memory(1024);
  const auto buffer = testing::BorrowStorage(memory.begin(), memory.size_bytes());
  for (const DataType dtype : StorableDTypes()) {
    const auto item_bytes = static_cast<std::size_t>(itemsize(dtype));
    for (std::int64_t count = 0; count <= 70; ++count) {
      std::memset(memory.begin(), 0x5A, memory.size_bytes());
      const std::size_t bytes = static_cast<std::size_t>(count) * item_bytes;
      ENGINE_ASSERT_OK_AND_ASSIGN(
          const Tensor tensor,
          Tensor::from_buffer(buffer, memory.size_bytes() - bytes, {count}, dtype));
      ENGINE_ASSERT_OK(fill(tensor, dtype == kBool ? 1 : 3));
      EXPECT_THAT(BitsOf(tensor), ::testing::Each(BitsOfInteger(dtype == kBool ? 1 : 3, dtype)));
      for (const std::byte* byte = memory.begin(); byte < memory.end() - bytes; ++byte) {
        ASSERT_EQ(*byte, std::byte{0x5A});
      }
    }
  }
}

// P22: an error writes nothing.
TEST(FillTest, RefusesWhatTheDTypeCannotRepresent) {
  const Tensor tensor = testing::TensorOf<std::int8_t>({2}, {5, 6});
  EXPECT_THAT(fill(tensor, 300),
              StatusIs(kInvalid, "fill: value 300 is not representable in int8 (shape [2])"));
  EXPECT_THAT(fill(tensor, 0.5), StatusIs(kInvalid));
  EXPECT_THAT(fill(tensor, std::numeric_limits<float>::infinity()), StatusIs(kInvalid));
  EXPECT_THAT(testing::ValuesOf<std::int8_t>(tensor), ::testing::ElementsAre(5, 6));
}

TEST(FillTest, ReadOnlyStorageIsRefused) {
  const Tensor tensor = testing::TensorOf<float>({2}, {5, 6});
  const Tensor view = testing::ReadOnlyView(tensor);
  EXPECT_THAT(fill(view, 1), StatusIs(kInvalid, "read-only"));
  EXPECT_THAT(fill(*view.slice(0, 0, 1), 1), StatusIs(kInvalid, "read-only"));
  EXPECT_THAT(testing::ValuesOf<float>(tensor), ::testing::ElementsAre(5, 6));
}

// P45: null storage, and an empty view of storage that is not.
TEST(FillTest, EmptyTensors) {
  for (const DataType dtype : StorableDTypes()) {
    ENGINE_EXPECT_OK(fill(PoisonedTensor({3, 0}, dtype), 1));
    const Tensor storage = PoisonedTensor({2}, dtype);
    const std::vector<std::uint64_t> before = BitsOf(storage);
    ENGINE_EXPECT_OK(fill(*storage.slice(0, 2, 2), 1));
    EXPECT_EQ(BitsOf(storage), before);
  }
}

TEST(FillTest, IndependentOfTheHostsFloatingPointMode) {
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    const Tensor halves = PoisonedTensor({3, 2}, kFloat16);
    const Tensor floats = PoisonedTensor({3, 2}, kFloat32);
    core::Status status;
    const std::uint64_t after = testing::ControlAfter(mode.control, [&] {
      status = fill(halves, 0.1);
      status.Update(fill(floats, 1e-40));
    });
    EXPECT_EQ(after, mode.control) << mode.name;
    ENGINE_EXPECT_OK(status);
    EXPECT_THAT(BitsOf(halves), ::testing::Each(0x2E66u)) << mode.name;
    EXPECT_THAT(BitsOf(floats), ::testing::Each(0x000116C2u)) << mode.name;
  }
}

}  // namespace
}  // namespace engine::tensor::ops
