// The code of docs/guide/dtypes-and-casting.md; guide_text_test.cpp compares the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tensor/half.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
using engine::core::Status;
using engine::core::StatusOr;
using engine::tensor::bfloat16;
using engine::tensor::DataType;
using engine::tensor::float16;
using engine::tensor::Tensor;
using engine::testing::StatusIs;
using engine::testing::TensorOf;
using engine::testing::ValuesOf;

TEST(DtypesTest, Names) {
  // [snippet]
  static_assert(engine::tensor::dtype_of<float16> == DataType::kFloat16);
  static_assert(engine::tensor::itemsize(DataType::kBFloat16) == 2);
  const StatusOr<DataType> parsed = engine::tensor::from_string("bfloat16");
  // [/snippet]
  ENGINE_ASSERT_OK(parsed);
  EXPECT_EQ(*parsed, DataType::kBFloat16);
}

TEST(DtypesTest, Halves) {
  // [snippet]
  const float16 third(1.0f / 3.0f);            // to nearest, ties to even
  const float sum = third + 1.0f;              // widens implicitly, exactly
  const std::uint16_t bits = third.to_bits();  // 0x3555
  const auto one = bfloat16::from_bits(0x3F80);
  // [/snippet]
  EXPECT_EQ(bits, 0x3555);
  EXPECT_EQ(sum, 1365.0f / 4096.0f + 1.0f);
  EXPECT_EQ(static_cast<float>(one), 1.0f);
}

Status ToFloating() {
  const Tensor big = TensorOf<std::int64_t>({1}, {(std::int64_t{1} << 53) + 1});
  const Tensor wide = TensorOf<float>({3}, {65520.0f, 1e-8f, -2.5f});
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(Tensor doubles, ops::cast(big, DataType::kFloat64));
  ENGINE_ASSIGN_OR_RETURN(Tensor halves, ops::cast(wide, DataType::kFloat16));
  // [/snippet]
  EXPECT_EQ(doubles.item<double>({0}), 9007199254740992.0);
  EXPECT_TRUE(std::isinf(static_cast<float>(halves.item<float16>({0}))));
  EXPECT_EQ(halves.item<float16>({1}).to_bits(), 0);
  EXPECT_EQ(static_cast<float>(halves.item<float16>({2})), -2.5f);
  return core::OkStatus();
}

TEST(DtypesTest, ToFloating) { ENGINE_EXPECT_OK(ToFloating()); }

TEST(DtypesTest, ToInteger) {
  const Tensor logits = TensorOf<float>({2, 3}, {1.9f, -1.9f, 0.0f, 127.5f, 300.0f, -1e9f});
  // [snippet]
  const StatusOr<Tensor> bytes = ops::cast(logits, DataType::kInt8);
  // [/snippet]
  EXPECT_EQ(bytes.status().code(), core::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(bytes.status().message()),
            R"(cast: 300 at [1, 1] (element 4) of float32 is not representable in int8)");
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor fits,
                              ops::cast(*logits.slice(0, 0, 1), DataType::kInt8));
  EXPECT_THAT(ValuesOf<std::int8_t>(fits), ::testing::ElementsAre(1, -1, 0));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor largest,
                              ops::cast(TensorOf<float>({1}, {127.5f}), DataType::kInt8));
  EXPECT_EQ(largest.item<std::int8_t>({0}), 127);
}

// [snippet]
// Writes new keys (float32) behind the `used` rows of a float16 cache, without a temporary.
Status Append(const Tensor& cache, std::int64_t used, const Tensor& keys) {
  ENGINE_ASSIGN_OR_RETURN(Tensor rows, cache.slice(0, used, used + keys.shape().dim(0)));
  return ops::cast_into(rows, keys);
}
// [/snippet]

TEST(DtypesTest, Append) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor cache, ops::zeros({4, 2}, DataType::kFloat16));
  ENGINE_ASSERT_OK(Append(cache, 1, TensorOf<float>({2, 2}, {1, 2, 3, 4})));
  EXPECT_EQ(static_cast<float>(cache.item<float16>({0, 1})), 0.0f);
  EXPECT_EQ(static_cast<float>(cache.item<float16>({2, 1})), 4.0f);
  EXPECT_EQ(static_cast<float>(cache.item<float16>({3, 0})), 0.0f);
  EXPECT_THAT(Append(cache, 3, TensorOf<float>({2, 2}, {1, 2, 3, 4})),
              StatusIs(core::StatusCode::kInvalidArgument));
}

Status Scalars() {
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(Tensor ids, ops::full({3}, INT64_MAX, DataType::kInt64));  // all 64 bits
  const Status too_big = ops::fill(ids, 1e30);  // InvalidArgument
  const Status fraction = ops::fill(ids, 0.5);  // InvalidArgument, no truncation
  ENGINE_ASSIGN_OR_RETURN(Tensor mask, ops::full({3}, true, DataType::kBool));
  // [/snippet]
  EXPECT_EQ(ids.item<std::int64_t>({2}), std::numeric_limits<std::int64_t>::max());
  EXPECT_THAT(too_big, StatusIs(core::StatusCode::kInvalidArgument));
  EXPECT_THAT(fraction, StatusIs(core::StatusCode::kInvalidArgument));
  EXPECT_TRUE(mask.item<bool>({0}));
  return core::OkStatus();
}

TEST(DtypesTest, Scalars) { ENGINE_EXPECT_OK(Scalars()); }

Status Compare() {
  const Tensor a = TensorOf<float>({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const Tensor b = TensorOf<float>({2, 2}, {1.0f, 2.0f, 3.5f, 4.0f});
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(const ops::AllCloseResult result, ops::allclose(a, b));
  // [/snippet]
  EXPECT_FALSE(result.close);
  EXPECT_EQ(result.mismatch_count, 1);
  EXPECT_EQ(result.max_abs_diff, 0.5);
  EXPECT_EQ(
      result.Summary(),
      R"(1 of 4 elements differ, max |a - b| = 0.5, worst at [1, 0] (element 2): a = 3, b = 3.5)");
  return core::OkStatus();
}

TEST(DtypesTest, Compare) { ENGINE_EXPECT_OK(Compare()); }

}  // namespace
