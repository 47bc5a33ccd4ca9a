// The code of docs/guide/getting-started.md; guide_text_test.cpp compares the two.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

// [snippet]
#include "interop/safetensors.h"
#include "tensor/ops.h"

namespace ops = engine::tensor::ops;
using engine::core::Status;
using engine::core::StatusOr;
using engine::tensor::DataType;
using engine::tensor::Device;
using engine::tensor::Tensor;
// [/snippet]

#include "testing/status_matchers.h"

namespace {

Status MakeTensors() {
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(Tensor zeros, ops::zeros({2, 3}, DataType::kFloat32));
  ENGINE_ASSIGN_OR_RETURN(Tensor count, ops::arange(0, 6, 1, DataType::kInt32));
  ENGINE_ASSIGN_OR_RETURN(Tensor noise, Tensor::empty({2, 3}, DataType::kBFloat16, Device::Cpu()));
  ENGINE_RETURN_IF_ERROR(ops::fill_normal(noise, /*seed=*/42));
  // [/snippet]
  EXPECT_EQ(zeros.item<float>({1, 2}), 0.0f);
  EXPECT_EQ(count.item<std::int32_t>({5}), 5);
  EXPECT_TRUE(noise.is_contiguous());
  return engine::core::OkStatus();
}

TEST(GettingStartedTest, MakeTensors) { ENGINE_EXPECT_OK(MakeTensors()); }

// [snippet]
StatusOr<std::string> LastRow(const Tensor& count) {
  ENGINE_ASSIGN_OR_RETURN(Tensor matrix, count.reshape({2, 3}));  // the same six elements
  ENGINE_ASSIGN_OR_RETURN(Tensor row, matrix.slice(0, 1, 2));     // and three of them
  ENGINE_ASSIGN_OR_RETURN(Tensor halves, ops::cast(row, DataType::kFloat16));  // three new ones
  return ops::to_string(halves);
}
// [/snippet]

TEST(GettingStartedTest, LastRow) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor count, ops::arange(0, 6, 1, DataType::kInt32));
  ENGINE_ASSERT_OK_AND_ASSIGN(const std::string text, LastRow(count));
  EXPECT_EQ(text, R"(Tensor(shape=[1, 3], dtype=float16, device=cpu)
[[3, 4, 5]])");
}

Status UseElements() {
  ENGINE_ASSIGN_OR_RETURN(const Tensor count, ops::arange(0, 6, 1, DataType::kInt32));
  ENGINE_ASSIGN_OR_RETURN(const Tensor matrix, count.reshape({2, 3}));
  // [snippet]
  std::int32_t* elements = count.data_ptr<std::int32_t>();  // contiguous: elements[0] to [5]
  elements[3] = 30;
  const std::int32_t corner = matrix.item<std::int32_t>({1, 0});  // 30: the storage is shared
  // [/snippet]
  EXPECT_EQ(corner, 30);
  return engine::core::OkStatus();
}

TEST(GettingStartedTest, UseElements) { ENGINE_EXPECT_OK(UseElements()); }

namespace safetensors = engine::safetensors;

Status SaveAndLoad(const std::string& path) {
  ENGINE_ASSIGN_OR_RETURN(const Tensor weight, ops::ones({4, 2}, DataType::kFloat32));
  // [snippet]
  const safetensors::NamedTensor named[] = {{"layer.weight", weight}};
  ENGINE_RETURN_IF_ERROR(safetensors::Save(path, named));

  ENGINE_ASSIGN_OR_RETURN(safetensors::File file, safetensors::File::Open(path));
  ENGINE_ASSIGN_OR_RETURN(Tensor loaded, file.Get("layer.weight"));  // a view of the mapped file
  ENGINE_ASSIGN_OR_RETURN(Tensor halves, ops::cast(loaded, DataType::kBFloat16));
  // [/snippet]
  EXPECT_TRUE(loaded.is_read_only());
  EXPECT_FALSE(halves.is_read_only());
  EXPECT_EQ(static_cast<float>(halves.item<engine::tensor::bfloat16>({3, 1})), 1.0f);
  return engine::core::OkStatus();
}

TEST(GettingStartedTest, SaveAndLoad) {
  ENGINE_EXPECT_OK(SaveAndLoad(::testing::TempDir() + "guide_getting_started.safetensors"));
}

}  // namespace
