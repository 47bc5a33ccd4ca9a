// Clause: docs/design/npy.md, "Layout", "Writing".
#include "interop/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/npy_reference_files.h"
#include "interop_test_util.h"
#include "tensor/ops.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::npy {
namespace {

using ::engine::testing::BitsOf;
using ::engine::testing::Counting;
using ::engine::testing::StatusIs;
using ::engine::testing::ValuesOf;
using interop_testing::BufferOf;
using interop_testing::BytesOf;
using interop_testing::ReadFile;
using interop_testing::TemporaryDirectory;
using interop_testing::WriteFile;
using tensor::DataType;
using tensor::Device;
using tensor::Shape;
using tensor::Strides;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::string TextOf(const Tensor& tensor, Version version = Version::k1_0) {
  const core::StatusOr<memory::Buffer> buffer = Serialize(tensor, version);
  ENGINE_EXPECT_OK(buffer);
  return buffer.ok() ? std::string(BytesOf(*buffer)) : std::string();
}

struct ReferenceFile {
  std::string_view bytes;
  DataType dtype;
  std::vector<std::uint64_t> bits;
};

const std::vector<ReferenceFile>& AllDTypes() {
  static const std::vector<ReferenceFile> files = {
      {reference::kFloat32, DataType::kFloat32, {0x3FC00000, 0xC0000000, 0x3E800000}},
      {reference::kFloat16, DataType::kFloat16, {0x3E00, 0xC000, 0x3400}},
      {reference::kBFloat16, DataType::kBFloat16, {0x3FC0, 0xC000, 0x3E80}},
      {reference::kFloat64,
       DataType::kFloat64,
       {0x3FF8000000000000, 0xC000000000000000, 0x3FD0000000000000}},
      {reference::kInt8, DataType::kInt8, {0xFF, 2, 0x80}},
      {reference::kInt16, DataType::kInt16, {0xFFFF, 2, 0x8000}},
      {reference::kInt32, DataType::kInt32, {0xFFFFFFFF, 2, 0x80000000}},
      {reference::kInt64, DataType::kInt64, {0xFFFFFFFFFFFFFFFF, 2, 0x8000000000000000}},
      {reference::kUInt8, DataType::kUInt8, {1, 2, 0xFF}},
      {reference::kUInt16, DataType::kUInt16, {1, 2, 0xFFFF}},
      {reference::kUInt32, DataType::kUInt32, {1, 2, 0xFFFFFFFF}},
      {reference::kUInt64, DataType::kUInt64, {1, 2, 0xFFFFFFFFFFFFFFFF}},
      {reference::kBool, DataType::kBool, {1, 0, 1}},
  };
  return files;
}

// NumPy's files read back, and are what we write for the same values.
TEST(NpyReferenceTest, AllDTypes) {
  for (const ReferenceFile& file : AllDTypes()) {
    SCOPED_TRACE(std::string(tensor::to_string(file.dtype)));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, FromBuffer(BufferOf(file.bytes)));
    EXPECT_EQ(tensor.dtype(), file.dtype);
    EXPECT_EQ(tensor.shape(), Shape({3}));
    EXPECT_THAT(BitsOf(tensor), ElementsAreArray(file.bits));
    EXPECT_EQ(TextOf(tensor), file.bytes);
  }
}

TEST(NpyReferenceTest, ShapesAndVersions) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor scalar, FromBuffer(BufferOf(reference::kScalar)));
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_THAT(ValuesOf<std::int32_t>(scalar), ElementsAre(7));
  EXPECT_EQ(TextOf(scalar), reference::kScalar);

  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor empty, FromBuffer(BufferOf(reference::kEmpty)));
  EXPECT_EQ(empty.shape(), Shape({0, 3}));
  EXPECT_EQ(TextOf(empty), reference::kEmpty);

  for (const auto& [bytes, version] :
       {std::pair{reference::kVersion2, Version::k2_0}, {reference::kVersion3, Version::k3_0}}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, FromBuffer(BufferOf(bytes)));
    EXPECT_THAT(ValuesOf<std::int16_t>(tensor), ElementsAre(258, 3));
    EXPECT_EQ(TextOf(tensor, version), bytes);
  }
}

// Fortran order is a view, and goes back as it came.
TEST(NpyReferenceTest, FortranOrder) {
  const std::shared_ptr<memory::Buffer> buffer = BufferOf(reference::kFortran);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor matrix, FromBuffer(buffer));
  EXPECT_EQ(matrix.shape(), Shape({2, 3}));
  EXPECT_EQ(matrix.strides(), Strides({1, 2}));
  EXPECT_EQ(matrix.data(), static_cast<std::byte*>(buffer->data()) + 128);
  EXPECT_THAT(ValuesOf<std::int32_t>(matrix), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(TextOf(matrix), reference::kFortran);

  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor cube, FromBuffer(BufferOf(reference::kFortran3)));
  EXPECT_EQ(cube.strides(), Strides({1, 2, 6}));
  EXPECT_THAT(ValuesOf<std::uint8_t>(cube), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(TextOf(cube), reference::kFortran3);
}

// C order wins where both hold: rows, columns, and shapes with at most one long axis.
TEST(NpyWriteTest, OrderIsNumPys) {
  const auto order = [](const Tensor& tensor) {
    return TextOf(tensor).find("'fortran_order': True") != std::string::npos;
  };
  const Tensor matrix = Counting({4, 6}, DataType::kInt16);
  EXPECT_FALSE(order(matrix));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, matrix.transpose(0, 1));
  EXPECT_TRUE(order(turned));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor column,
                              Counting({1, 6}, DataType::kInt16).transpose(0, 1));
  EXPECT_FALSE(order(column));
  // Fortran order, but with gaps: neither.
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor part, matrix.slice(1, 0, 3));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor part_turned, part.transpose(0, 1));
  EXPECT_FALSE(order(part_turned));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor again, FromBuffer(BufferOf(TextOf(part_turned))));
  EXPECT_THAT(ValuesOf<std::int16_t>(again), ElementsAre(0, 6, 12, 18, 1, 7, 13, 19, 2, 8, 14, 20));
}

// Larger than what passes through at a time; elements by formula.
TEST(NpyWriteTest, StridedTensorsInPieces) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view,
                              Counting({50, 40, 60}, DataType::kInt32).permute({1, 0, 2}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor again, FromBuffer(BufferOf(TextOf(view))));
  ASSERT_EQ(again.shape(), Shape({40, 50, 60}));
  ASSERT_TRUE(again.is_contiguous());
  const std::int32_t* const values = again.data_ptr<std::int32_t>();
  std::int64_t mismatches = 0;
  for (std::int32_t i = 0; i < 40 * 50 * 60; ++i) {
    const std::int32_t expected = i / 60 % 50 * 2400 + i / 3000 * 60 + i % 60;
    mismatches += values[i] != expected ? 1 : 0;
  }
  EXPECT_EQ(mismatches, 0);
}

TEST(NpyWriteTest, NaNAndBoolBytesAreKept) {
  const Tensor nans = testing::TensorOfBits({3}, DataType::kFloat32, {0x7F800001, 0xFFC12345, 1});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor read, FromBuffer(BufferOf(TextOf(nans))));
  EXPECT_THAT(BitsOf(read), ElementsAre(0x7F800001, 0xFFC12345, 1));
  const Tensor bools = testing::TensorOfBits({3}, DataType::kBool, {2, 0, 255});
  EXPECT_TRUE(TextOf(bools).ends_with(std::string("\2\0\xFF", 3)));
}

TEST(NpyWriteTest, WrongRequests) {
  EXPECT_THAT(Serialize(Tensor()), StatusIs(core::StatusCode::kInvalidArgument, "undefined"));
  float value = 0;
  const auto buffer = std::make_shared<memory::Buffer>(&value, 4, Device::Cuda(0), [](void*) {});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor cuda,
                              Tensor::from_buffer(buffer, 0, {1}, DataType::kFloat32));
  EXPECT_THAT(Serialize(cuda), StatusIs(core::StatusCode::kUnimplemented, "is on cuda:0"));
  // A layout that overlaps itself has more elements than any memory.
  const Tensor base = Counting({4'000'000}, DataType::kFloat32);
  constexpr std::int64_t kExtent = 1'000'000;
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor huge, Tensor::from_strided_buffer(base.buffer(), 0, {kExtent, kExtent, kExtent},
                                                     {1, 1, 1}, DataType::kFloat32));
  EXPECT_THAT(Serialize(huge), StatusIs(core::kOutOfMemory));
}

// Mapped, read-only, at its place in the file, alive as long as the tensor.
TEST(NpyLoadTest, SharesTheMapping) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("a.npy");
  WriteFile(path, reference::kFloat32);
  Tensor tensor;
  { ENGINE_ASSERT_OK_AND_ASSIGN(tensor, Load(path)); }
  EXPECT_TRUE(tensor.is_read_only());
  EXPECT_TRUE(tensor.is_aligned());
  EXPECT_EQ(tensor.byte_offset(), 128U);
  EXPECT_EQ(tensor.buffer()->size_bytes(), reference::kFloat32.size());
  EXPECT_THAT(ValuesOf<float>(tensor), ElementsAre(1.5F, -2.0F, 0.25F));
  EXPECT_THAT(tensor::ops::fill(tensor, 0), StatusIs(core::StatusCode::kInvalidArgument));
  // Saving over the file that is mapped is safe: it is replaced, not written to.
  ENGINE_ASSERT_OK(Save(path, tensor));
  EXPECT_EQ(ReadFile(path), reference::kFloat32);
  EXPECT_THAT(ValuesOf<float>(tensor), ElementsAre(1.5F, -2.0F, 0.25F));
  EXPECT_EQ(directory.Count(), 1);
}

TEST(NpyLoadTest, ErrorsNameThePath) {
  const TemporaryDirectory directory;
  EXPECT_THAT(Load(directory.File("none.npy")), StatusIs(core::StatusCode::kNotFound, "none.npy"));
  WriteFile(directory.File("bad.npy"), "not an array");
  EXPECT_THAT(Load(directory.File("bad.npy")),
              StatusIs(core::StatusCode::kInvalidArgument, "bad.npy': npy: 12 bytes that do not"));
  WriteFile(directory.File("empty.npy"), "");
  EXPECT_THAT(Load(directory.File("empty.npy")), StatusIs(core::StatusCode::kInvalidArgument));
  std::string text(reference::kFloat32);
  text.replace(text.find("<f4"), 3, ">f4");
  WriteFile(directory.File("big.npy"), text);
  EXPECT_THAT(Load(directory.File("big.npy")),
              StatusIs(core::StatusCode::kUnimplemented, "big.npy': npy: dtype '>f4'"));
  EXPECT_THAT(Save(directory.File("none/a.npy"), Counting({1}, DataType::kInt8)),
              StatusIs(core::StatusCode::kNotFound, "npy: create"));
}

// P75: headers need not be padded, so elements may lie anywhere.
TEST(NpyLoadTest, MisalignedElements) {
  std::string file = "\x93NUMPY";
  const std::string header = "{'descr':'<f4','fortran_order':False,'shape':(3,)}";
  file += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  file += header;
  ASSERT_EQ(file.size() % 4, 0U);
  file.insert(10, 1, ' ');
  ++file[8];
  const float values[] = {1.5F, -2, 0.25F};
  file.append(reinterpret_cast<const char*>(values), sizeof(values));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, FromBuffer(BufferOf(file)));
  EXPECT_FALSE(tensor.is_aligned());
  EXPECT_THAT(ValuesOf<float>(tensor), ElementsAre(1.5F, -2.0F, 0.25F));
  EXPECT_EQ(TextOf(tensor), reference::kFloat32);
}

// numpy.save appends arrays to one open file.
TEST(NpyLoadTest, SeveralArraysInOneFile) {
  const std::string both = std::string(reference::kFloat16) + std::string(reference::kScalar);
  const std::shared_ptr<memory::Buffer> buffer = BufferOf(both);
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Header first,
      ReadHeader(std::span(static_cast<const std::byte*>(buffer->data()), both.size())));
  EXPECT_EQ(first.end, reference::kFloat16.size());
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor second, FromBuffer(buffer, first.end));
  EXPECT_THAT(ValuesOf<std::int32_t>(second), ElementsAre(7));
  EXPECT_THAT(FromBuffer(buffer, both.size()), StatusIs(core::StatusCode::kInvalidArgument));
  EXPECT_THAT(FromBuffer(buffer, both.size() + 1),
              StatusIs(core::StatusCode::kInvalidArgument, "offset 267 in a buffer of 266 bytes"));
  EXPECT_THAT(FromBuffer(buffer, std::numeric_limits<std::size_t>::max()),
              StatusIs(core::StatusCode::kInvalidArgument));
}

TEST(NpyLoadTest, TheTensorKeepsTheBytes) {
  bool alive = false;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor,
                                FromBuffer(BufferOf(reference::kFloat32, &alive)));
    EXPECT_TRUE(alive);
    EXPECT_FALSE(tensor.is_read_only());
  }
  EXPECT_FALSE(alive);
  EXPECT_THAT(FromBuffer(BufferOf("bad", &alive)), StatusIs(core::StatusCode::kInvalidArgument));
  EXPECT_FALSE(alive);
}

class NpyDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(NpyDeathTest, Buffers) {
  EXPECT_DEATH(static_cast<void>(FromBuffer(nullptr)), "the buffer is null");
  char byte = 0;
  const auto cuda = std::make_shared<memory::Buffer>(&byte, 1, Device::Cuda(1), [](void*) {});
  EXPECT_DEATH(static_cast<void>(FromBuffer(cuda)), "is on cuda:1, expected cpu");
}

}  // namespace
}  // namespace engine::npy
