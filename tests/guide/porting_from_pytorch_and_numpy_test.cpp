// The code of docs/guide/porting-from-pytorch-and-numpy.md; guide_text_test.cpp compares the two,
// the tables' expressions included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interop/safetensors.h"
#include "memory/buffer.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace {

namespace core = engine::core;
namespace memory = engine::memory;
namespace ops = engine::tensor::ops;
namespace safetensors = engine::safetensors;
using engine::core::Status;
using engine::core::StatusOr;
using engine::tensor::DataType;
using engine::tensor::Device;
using engine::tensor::Shape;
using engine::tensor::Strides;
using engine::tensor::Tensor;
using engine::testing::ValuesOf;
using ::testing::ElementsAre;

void ExpectShape(const StatusOr<Tensor>& made, const Shape& shape) {
  ENGINE_ASSERT_OK(made);
  EXPECT_EQ(made->shape(), shape);
}

TEST(PortingTest, Making) {
  const std::uint64_t seed = 1;
  ExpectShape(Tensor::empty({2, 3}, DataType::kFloat32, Device::Cpu()), {2, 3});
  ExpectShape(ops::zeros({2, 3}, DataType::kFloat32), {2, 3});
  ExpectShape(ops::ones({2, 3}, DataType::kFloat32), {2, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor sevens, ops::full({2, 3}, 7, DataType::kInt32));
  EXPECT_EQ(sevens.item<std::int32_t>({1, 2}), 7);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor steps, ops::arange(0, 10, 2));
  EXPECT_THAT(ValuesOf<std::int64_t>(steps), ElementsAre(0, 2, 4, 6, 8));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor t, ops::zeros({2, 3}, DataType::kFloat32));
  ENGINE_EXPECT_OK(ops::fill(t, 0.5));
  ENGINE_EXPECT_OK(ops::fill_uniform(t, seed));
  ENGINE_EXPECT_OK(ops::fill_normal(t, seed));
  ExpectShape(ops::zeros(t.shape(), t.dtype()), {2, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor clone, ops::cast(t, t.dtype()));
  EXPECT_NE(clone.data(), t.data());
}

TEST(PortingTest, Asking) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor t, ops::zeros({2, 3, 4}, DataType::kFloat32));
  EXPECT_EQ(t.shape(), Shape({2, 3, 4}));
  EXPECT_EQ(t.shape().dim(1), 3);
  EXPECT_EQ(t.shape().rank(), 3);
  EXPECT_EQ(t.numel(), 24);
  EXPECT_EQ(t.nbytes(), 96u);
  EXPECT_EQ(engine::tensor::itemsize(t.dtype()), 4);
  EXPECT_EQ(t.dtype(), DataType::kFloat32);
  EXPECT_EQ(t.device(), Device::Cpu());
  EXPECT_THAT(t.strides().values(), ElementsAre(12, 4, 1));
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_NE(t.data(), nullptr);
  EXPECT_EQ(t.data_ptr<float>(), t.data());
  EXPECT_EQ(t.item<float>({1, 2, 3}), 0.0f);
  EXPECT_FALSE(t.is_read_only());
  EXPECT_THAT(ops::to_string(t), ::testing::StartsWith("Tensor(shape=[2, 3, 4]"));
}

TEST(PortingTest, Viewing) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor line, ops::arange(0, 24, 1, DataType::kFloat32));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor t, line.reshape({2, 3, 4}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor row, t.unsqueeze(0));
  ExpectShape(t.reshape({6, 4}), {6, 4});
  ExpectShape(t.permute({2, 0, 1}), {4, 2, 3});
  ExpectShape(t.transpose(1, 2), {2, 4, 3});
  ExpectShape(row.squeeze(0), {2, 3, 4});
  ExpectShape(t.unsqueeze(1), {2, 1, 3, 4});
  ExpectShape(t.select(0, 1), {3, 4});
  ExpectShape(t.slice(1, 0, 2), {2, 2, 4});
  ExpectShape(t.strided_slice({{0, 2}, {0, 3}, {0, 4, 2}}), {2, 3, 2});
  ExpectShape(t.view_as_dtype(DataType::kInt32), {2, 3, 4});
  std::shared_ptr<memory::Buffer> buffer = t.buffer();
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor strided,
      Tensor::from_strided_buffer(buffer, 0, {4, 2}, Strides{1, 4}, DataType::kFloat32));
  EXPECT_EQ(strided.item<float>({3, 1}), 7.0f);
  ExpectShape(Tensor::from_buffer(buffer, 16, {4}, DataType::kFloat32), {4});
}

TEST(PortingTest, MovingAndConverting) {
  const Tensor src = engine::testing::TensorOf<float>({3}, {1, 2, 3});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor dst, ops::zeros({3}, DataType::kFloat32));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor halves, ops::zeros({3}, DataType::kFloat16));
  ENGINE_EXPECT_OK(ops::cast(src, DataType::kFloat16));
  ENGINE_EXPECT_OK(ops::copy(dst, src));
  ENGINE_EXPECT_OK(ops::cast_into(halves, src));
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto same, ops::allclose(dst, src));
  EXPECT_TRUE(same.close);
  ENGINE_ASSERT_OK_AND_ASSIGN(const auto near,
                              ops::allclose(dst, src, {.rtol = 1e-3, .atol = 1e-5}));
  EXPECT_TRUE(near.close);
  const std::string path = ::testing::TempDir() + "guide_porting.safetensors";
  const std::vector<safetensors::NamedTensor> named = {{"x", src}};
  ENGINE_EXPECT_OK(safetensors::Save(path, named));
  ENGINE_ASSERT_OK_AND_ASSIGN(const safetensors::File file, safetensors::File::Open(path));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor loaded, file.Get("x"));
  EXPECT_EQ(loaded.item<float>({2}), 3.0f);
}

// [snippet]
// t[:, 1:3] += 1 has two parts here: the view, and the loop (or your kernel).
Status AddOne(const Tensor& t) {
  ENGINE_ASSIGN_OR_RETURN(Tensor columns, t.slice(1, 1, 3));
  float* const first = columns.data_ptr<float>();
  for (std::int64_t row = 0; row < columns.shape().dim(0); ++row) {
    for (std::int64_t column = 0; column < columns.shape().dim(1); ++column) {
      first[row * columns.strides()[0] + column * columns.strides()[1]] += 1;
    }
  }
  return core::OkStatus();
}
// [/snippet]

TEST(PortingTest, AddOne) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor t, ops::zeros({2, 4}, DataType::kFloat32));
  ENGINE_ASSERT_OK(AddOne(t));
  EXPECT_THAT(ValuesOf<float>(t), ElementsAre(0, 1, 1, 0, 0, 1, 1, 0));
}

// [snippet]
// torch.cat([a, b]): allocate, then copy into slices.
StatusOr<Tensor> Concatenate(const Tensor& a, const Tensor& b) {
  const std::int64_t rows_a = a.shape().dim(0);
  const std::int64_t rows = rows_a + b.shape().dim(0);
  std::vector<std::int64_t> dims(a.shape().dims().begin(), a.shape().dims().end());
  dims[0] = rows;
  ENGINE_ASSIGN_OR_RETURN(Shape shape, Shape::FromDims(dims));
  ENGINE_ASSIGN_OR_RETURN(Tensor joined, Tensor::empty(shape, a.dtype(), Device::Cpu()));
  ENGINE_ASSIGN_OR_RETURN(Tensor head, joined.slice(0, 0, rows_a));
  ENGINE_ASSIGN_OR_RETURN(Tensor tail, joined.slice(0, rows_a, rows));
  ENGINE_RETURN_IF_ERROR(ops::copy(head, a));
  ENGINE_RETURN_IF_ERROR(ops::copy(tail, b));
  return joined;
}
// [/snippet]

TEST(PortingTest, Concatenate) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor a, ops::full({1, 2}, 1, DataType::kInt8));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor b, ops::full({2, 2}, 2, DataType::kInt8));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor joined, Concatenate(a, b));
  EXPECT_THAT(ValuesOf<std::int8_t>(joined), ElementsAre(1, 1, 2, 2, 2, 2));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor wide, ops::full({2, 3}, 2, DataType::kInt8));
  EXPECT_FALSE(Concatenate(a, wide).ok());
}

}  // namespace
