// The code of docs/guide/writing-a-kernel.md; guide_text_test.cpp compares the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

// [snippet]
#include "core/check.h"
#include "core/status.h"
#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"
#include "strided/layout.h"
#include "tensor/tensor.h"

namespace core = engine::core;
namespace strided = engine::strided;
using engine::tensor::DataType;
using engine::tensor::Tensor;
// [/snippet]

#include "tensor/ops.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace {

namespace ops = engine::tensor::ops;
using engine::testing::StatusIs;
using engine::testing::TensorOf;

// [snippet]
// One row: `count` elements, `stride` elements apart, each multiplied by `factor`.
using ScaleRow = void (*)(std::byte* first, std::int64_t stride, std::int64_t count, float factor);

template <typename T>
void ScaleRowOf(std::byte* first, std::int64_t stride, std::int64_t count, float factor) {
  const std::int64_t step = stride * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* const element = first + i * step;
    // Any address: the tensor may be misaligned.
    const auto value = static_cast<float>(strided::LoadElement<T>(element));
    strided::StoreElement(element, static_cast<T>(value * factor));
  }
}
// [/snippet]

// [snippet]
// The kernel for a dtype; null for those that have none.
ScaleRow ScaleRowFor(DataType dtype) {
  return strided::VisitDType(
      dtype,
      []<typename T>(strided::TypeTag<T>) -> ScaleRow {
        if constexpr (strided::kIsFloating<T>) return &ScaleRowOf<T>;
        return nullptr;
      },
      [](DataType) -> ScaleRow { return nullptr; });
}
// [/snippet]

// [snippet]
// Multiplies every element by `factor`, in float32.
//   Errors   InvalidArgument: read-only, or not a floating dtype. Unimplemented: a CUDA tensor.
//   CHECKs   the tensor is defined.
//   Threads  safe for tensors without common elements.
core::Status Scale(const Tensor& tensor, float factor) {
  ENGINE_CHECK(tensor.defined(), "Scale: the tensor is undefined");
  if (!tensor.device().is_cpu()) {
    return core::UnimplementedError("Scale: a tensor on {}", tensor.device());
  }
  const ScaleRow scale_row = ScaleRowFor(tensor.dtype());
  if (scale_row == nullptr) {
    return core::InvalidArgumentError("Scale: dtype {}, expected a floating one", tensor.dtype());
  }
  if (tensor.is_read_only()) return core::InvalidArgumentError("Scale: the tensor is read-only");

  const strided::ScopedDefaultFpEnvironment fp_environment;
  auto* const data = static_cast<std::byte*>(tensor.data());
  const std::int64_t item_bytes = engine::tensor::itemsize(tensor.dtype());
  strided::ForEachRow<1>(tensor.shape(), {&tensor.strides()},
                         [&](const auto& offsets, const auto& strides, std::int64_t count,
                             std::int64_t /*first_index*/) {
                           scale_row(data + offsets[0] * item_bytes, strides[0], count, factor);
                           return true;
                         });
  return core::OkStatus();
}
// [/snippet]

template <typename T>
void ScaleMatchesALoop() {
  constexpr std::int64_t kRows = 7;
  constexpr std::int64_t kColumns = 5;
  std::vector<T> values;
  for (int i = 0; i < kRows * kColumns; ++i) values.push_back(static_cast<T>(0.5f * (i - 9)));
  const Tensor tensor = TensorOf<T>({kRows, kColumns}, values);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, tensor.transpose(0, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor part, turned.strided_slice({{1, 5, 2}, {0, kRows, 3}}));
  ENGINE_ASSERT_OK(Scale(part, 3.0f));
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      const bool scaled = column % 2 == 1 && row % 3 == 0;
      const auto before =
          static_cast<float>(values[static_cast<std::size_t>(row * kColumns + column)]);
      EXPECT_EQ(static_cast<float>(tensor.item<T>({row, column})), scaled ? 3 * before : before);
    }
  }
}

TEST(ScaleTest, EveryElementOfTheViewAndNoOther) {
  ScaleMatchesALoop<float>();
  ScaleMatchesALoop<double>();
  ScaleMatchesALoop<engine::tensor::float16>();
  ScaleMatchesALoop<engine::tensor::bfloat16>();
}

TEST(ScaleTest, MisalignedAndEmpty) {
  const auto storage = engine::testing::MakeStorage(9);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor odd,
                              Tensor::from_buffer(storage, 1, {2}, DataType::kFloat32));
  ENGINE_ASSERT_OK(ops::fill(odd, 2));
  ENGINE_ASSERT_OK(Scale(odd, -1.5f));
  EXPECT_EQ(odd.item<float>({1}), -3.0f);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor none, ops::zeros({3, 0}, DataType::kFloat32));
  ENGINE_EXPECT_OK(Scale(none, 2));
}

TEST(ScaleTest, Refusals) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor integers, ops::zeros({2}, DataType::kInt8));
  EXPECT_THAT(Scale(integers, 2), StatusIs(core::StatusCode::kInvalidArgument, "int8"));
  float value = 1;
  const auto locked = engine::testing::BorrowStorage(&value, sizeof(value), /*read_only=*/true);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor fixed,
                              Tensor::from_buffer(locked, 0, {1}, DataType::kFloat32));
  EXPECT_THAT(Scale(fixed, 2), StatusIs(core::StatusCode::kInvalidArgument, "read-only"));
  EXPECT_EQ(value, 1.0f);
}

}  // namespace
