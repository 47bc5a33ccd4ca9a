#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/reference_files.h"
#include "interop/safetensors.h"
#include "safetensors_test_util.h"
#include "tensor/half.h"
#include "tensor/ops.h"
#include "testing/allocators.h"
#include "testing/death_test_style.h"
#include "testing/guarded_memory.h"
#include "testing/status_matchers.h"

namespace engine::safetensors {
namespace {

using ::engine::testing::CountingAllocator;
using ::engine::testing::GuardedMemory;
using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Shape;
using tensor::Tensor;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::string_view kTwoTensors =
    R"({"odd":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
    R"("a":{"dtype":"F32","shape":[3],"data_offsets":[1,13]}})";

std::string TwoTensorsFile() {
  const float values[] = {1.5F, -2.0F, 0.25F};
  std::string data(13, '\x07');
  std::memcpy(data.data() + 1, values, sizeof(values));
  return FileBytes(kTwoTensors, data);
}

template <typename T>
std::vector<T> ValuesOf(const File& file, std::string_view name) {
  const core::StatusOr<Tensor> tensor = file.Get(name);
  ENGINE_EXPECT_OK(tensor);
  std::vector<T> values;
  if (!tensor.ok()) return values;
  EXPECT_EQ(tensor->dtype(), tensor::dtype_of<T>) << name;
  EXPECT_EQ(tensor->shape(), Shape({3})) << name;
  for (std::int64_t i = 0; i < 3; ++i) values.push_back(tensor->item<T>({i}));
  return values;
}

template <typename T>
void ExpectSigned(const File& file, std::string_view name) {
  EXPECT_THAT(ValuesOf<T>(file, name), ElementsAre(-1, 2, std::numeric_limits<T>::min())) << name;
}

template <typename T>
void ExpectUnsigned(const File& file, std::string_view name) {
  EXPECT_THAT(ValuesOf<T>(file, name), ElementsAre(1, 2, std::numeric_limits<T>::max())) << name;
}

template <typename T>
void ExpectFloating(const File& file, std::string_view name) {
  EXPECT_THAT(ValuesOf<T>(file, name), ElementsAre(T(1.5F), T(-2.0F), T(0.25F))) << name;
}

// Files that the reference implementation made.
TEST(SafetensorsReferenceTest, AllDTypes) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(reference::kAllDTypes));
  ASSERT_THAT(file.tensors(), SizeIs(13));
  EXPECT_THAT(file.metadata(), SizeIs(0));
  ExpectFloating<double>(file, "f64");
  ExpectFloating<float>(file, "f32");
  ExpectFloating<tensor::float16>(file, "f16");
  ExpectFloating<tensor::bfloat16>(file, "bf16");
  ExpectSigned<std::int64_t>(file, "i64");
  ExpectSigned<std::int32_t>(file, "i32");
  ExpectSigned<std::int16_t>(file, "i16");
  ExpectSigned<std::int8_t>(file, "i8");
  ExpectUnsigned<std::uint64_t>(file, "u64");
  ExpectUnsigned<std::uint32_t>(file, "u32");
  ExpectUnsigned<std::uint16_t>(file, "u16");
  ExpectUnsigned<std::uint8_t>(file, "u8");
  EXPECT_THAT(ValuesOf<bool>(file, "bool"), ElementsAre(true, false, true));
}

TEST(SafetensorsReferenceTest, ShapesNamesAndMetadata) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(reference::kShapes));
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("for\xCE\xB1mat", "p\t\"t\\ \x1F\x7F/")));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor scalar, file.Get("scalar"));
  EXPECT_EQ(scalar.shape(), Shape({}));
  EXPECT_EQ(scalar.item<float>({}), 7.0F);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor empty, file.Get("empty"));
  EXPECT_EQ(empty.shape(), Shape({0, 3}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor matrix, file.Get("matrix"));
  ASSERT_EQ(matrix.shape(), Shape({2, 3}));
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(matrix.item<float>({i / 3, i % 3}), static_cast<float>(i));
  }
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor unicode, file.Get("\u5c64.\u00e9\U0001F600"));
  EXPECT_EQ(unicode.item<float>({0}), -1.0F);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor escaped, file.Get("q\"\\\n\x01"));
  EXPECT_EQ(escaped.item<float>({0}), 9.0F);
}

TEST(SafetensorsReferenceTest, NoTensors) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(reference::kNoTensors));
  EXPECT_THAT(file.tensors(), SizeIs(0));
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "np")));
  ENGINE_EXPECT_OK(OpenBytes(reference::kEmptyFile));
}

// Finding and fetching.
TEST(SafetensorsFileTest, FindsByName) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(TwoTensorsFile()));
  EXPECT_EQ(file.Find("odd"), &file.tensors()[0]);
  EXPECT_EQ(file.Find("a"), &file.tensors()[1]);
  EXPECT_EQ(file.Find("b"), nullptr);
  EXPECT_EQ(file.Find(""), nullptr);
  EXPECT_EQ(file.Find("__metadata__"), nullptr);
  EXPECT_THAT(file.Get("b\n"), StatusIs(core::StatusCode::kNotFound, "no tensor 'b\\x0a'"));
}

TEST(SafetensorsFileTest, FindsEachOfManyNames) {
  std::string header = "{";
  for (int i = 0; i < 500; ++i) {
    const int begin = (i * 7) % 500;  // names, offsets and places in the header in unlike orders
    header += fmt::format(R"({}"t{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                          i == 0 ? "" : ",", i, begin, begin + 1);
  }
  std::string data(500, '\0');
  for (int i = 0; i < 500; ++i)
    data[static_cast<std::size_t>((i * 7) % 500)] = static_cast<char>(i);
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(header + "}", data)));
  for (int i = 0; i < 500; ++i) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, file.Get(fmt::format("t{}", i)));
    EXPECT_EQ(tensor.item<std::uint8_t>({0}), static_cast<std::uint8_t>(i));
  }
}

// An info that is not of this file cannot reach outside it.
TEST(SafetensorsFileTest, ForeignInfosAreBounded) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(TwoTensorsFile()));
  TensorInfo info = file.tensors()[1];
  info.dims = {4};
  EXPECT_THAT(file.Get(info), StatusIs(core::StatusCode::kInvalidArgument));
  info.dims = {1};
  info.begin = ~std::uint64_t{0};
  EXPECT_THAT(file.Get(info), StatusIs(core::StatusCode::kInvalidArgument));
  info.begin = 0;
  info.dims = {-1};
  EXPECT_THAT(file.Get(info), StatusIs(core::StatusCode::kInvalidArgument));
}

// Zero copy: tensors are the file's bytes, and keep them.
TEST(SafetensorsSharingTest, TensorsAliasTheBufferAndOutliveTheFile) {
  const std::string bytes = TwoTensorsFile();
  bool alive = false;
  std::shared_ptr<memory::Buffer> buffer = BufferOf(bytes, &alive);
  const auto* const base = static_cast<const std::byte*>(buffer->data());
  Tensor tensor;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const File file, File::FromBuffer(std::move(buffer)));
    ENGINE_ASSERT_OK_AND_ASSIGN(tensor, file.Get("a"));
  }
  EXPECT_TRUE(alive);
  EXPECT_EQ(tensor.data(), base + 8 + kTwoTensors.size() + 1);
  EXPECT_FALSE(tensor.is_read_only());
  EXPECT_EQ(tensor.item<float>({2}), 0.25F);
  tensor = Tensor();
  EXPECT_FALSE(alive);
}

// A File is a handle. A copy would need heap, and could only throw when there is none.
static_assert(!std::is_copy_constructible_v<File> && !std::is_copy_assignable_v<File>);
static_assert(std::is_nothrow_move_constructible_v<File>);
static_assert(std::is_nothrow_move_assignable_v<File>);

TEST(SafetensorsSharingTest, MovesKeepTheFile) {
  ENGINE_ASSERT_OK_AND_ASSIGN(File first, OpenBytes(TwoTensorsFile()));
  const TensorInfo* const info = first.Find("a");
  ENGINE_ASSERT_OK_AND_ASSIGN(File second, OpenBytes(FileBytes("{}")));
  second = std::move(first);
  const File third = std::move(second);
  EXPECT_EQ(third.Find("a"), info);
  EXPECT_EQ(ValuesOf<float>(third, "a"), std::vector<float>({1.5F, -2.0F, 0.25F}));
}

// The file of two tensors, padded so that the float32 one has an odd address whatever the length
// of the header.
std::string MisalignedFile() {
  const std::size_t length = (kTwoTensors.size() + 7) / 8 * 8;
  return FileBytes(std::string(kTwoTensors) + std::string(length - kTwoTensors.size(), ' '),
                   TwoTensorsFile().substr(8 + kTwoTensors.size()));
}

// P75: a tensor behind an odd number of bytes stays where it is, and every op works on it.
TEST(SafetensorsSharingTest, MisalignedTensors) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(MisalignedFile()));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, file.Get("a"));
  EXPECT_FALSE(tensor.is_aligned());
  EXPECT_EQ(tensor.item<float>({0}), 1.5F);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor wide, tensor::ops::cast(tensor, DataType::kFloat64));
  EXPECT_EQ(wide.item<double>({1}), -2.0);
}

// P75: where typed access needs an aligned address, a copy has it, and the same elements.
TEST(SafetensorsAlignedTest, MisalignedTensorsAreCopied) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(MisalignedFile()));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, file.Get("a"));
  ASSERT_FALSE(view.is_aligned());
  CountingAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor copy, file.GetAligned("a", &allocator));
  EXPECT_EQ(allocator.counts()->allocations, 1);
  ASSERT_TRUE(copy.is_aligned());
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_FALSE(copy.is_read_only());
  EXPECT_NE(copy.buffer(), view.buffer());
  EXPECT_EQ(copy.shape(), Shape({3}));
  EXPECT_EQ(copy.dtype(), DataType::kFloat32);
  const float* const values = copy.data_ptr<float>();
  EXPECT_EQ(std::vector<float>(values, values + 3), std::vector<float>({1.5F, -2.0F, 0.25F}));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor by_info, file.GetAligned(*file.Find("a")));
  EXPECT_TRUE(by_info.is_aligned());
  EXPECT_EQ(by_info.item<float>({2}), 0.25F);
}

TEST(SafetensorsAlignedTest, AlignedTensorsAreShared) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(MisalignedFile()));
  CountingAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, file.Get("odd"));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor same, file.GetAligned("odd", &allocator));
  EXPECT_EQ(same.data(), view.data());
  EXPECT_EQ(same.buffer(), view.buffer());
  EXPECT_EQ(allocator.counts()->allocations, 0);
}

// Bools are bytes of any value and never misaligned, whatever their address.
TEST(SafetensorsAlignedTest, BoolsAreSharedAtOddAddresses) {
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[1,4]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const File file, OpenBytes(FileBytes(header, std::string_view("\x07\x01\x00\x02", 4))));
  CountingAllocator allocator;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, file.Get("b"));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor same, file.GetAligned("b", &allocator));
  EXPECT_EQ(same.data(), view.data());
  EXPECT_EQ(allocator.counts()->allocations, 0);
  EXPECT_EQ(ValuesOf<bool>(file, "b"), std::vector<bool>({true, false, true}));
}

TEST(SafetensorsAlignedTest, Errors) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(MisalignedFile()));
  CountingAllocator exhausted(0);
  EXPECT_THAT(file.GetAligned("a", &exhausted), StatusIs(core::kOutOfMemory));
  ENGINE_EXPECT_OK(file.GetAligned("odd", &exhausted));
  EXPECT_THAT(file.GetAligned("b"), StatusIs(core::StatusCode::kNotFound, "no tensor 'b'"));
}

TEST(SafetensorsOpenTest, MapsReadOnly) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  WriteFile(path, TwoTensorsFile());
  Tensor tensor;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const File file, File::Open(path));
    EXPECT_THAT(file.tensors(), SizeIs(2));
    ENGINE_ASSERT_OK_AND_ASSIGN(tensor, file.Get("a"));
  }
  EXPECT_TRUE(tensor.is_read_only());
  EXPECT_EQ(tensor.item<float>({0}), 1.5F);
  EXPECT_THAT(tensor::ops::fill(tensor, 0), StatusIs(core::StatusCode::kInvalidArgument));
  std::filesystem::remove(path);
  EXPECT_EQ(tensor.item<float>({2}), 0.25F);
}

TEST(SafetensorsOpenTest, ErrorsNameThePath) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  EXPECT_THAT(File::Open(path), StatusIs(core::StatusCode::kNotFound, path.c_str()));
  EXPECT_THAT(File::Open(directory.File("")), StatusIs(core::StatusCode::kInvalidArgument));
  WriteFile(path, "");
  EXPECT_THAT(File::Open(path),
              StatusIs(core::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr("0 bytes, expected at least 8"))));
  WriteFile(path, FileBytes("{}", "x"));
  EXPECT_THAT(File::Open(path), StatusIs(core::StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr(path), HasSubstr("cover 0 bytes"))));
}

// The File still knows the file it mapped, also after a move and when the name is gone.
TEST(SafetensorsOpenTest, ChecksThatTheFileKeptItsSize) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  const std::string bytes = TwoTensorsFile();
  WriteFile(path, bytes);
  ENGINE_ASSERT_OK_AND_ASSIGN(File opened, File::Open(path));
  const File file = std::move(opened);
  ENGINE_EXPECT_OK(file.CheckIntact());
  std::filesystem::resize_file(path, bytes.size() - 1);
  EXPECT_THAT(file.CheckIntact(),
              StatusIs(core::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path), HasSubstr(fmt::format("{} now", bytes.size() - 1)))));
  std::filesystem::resize_file(path, bytes.size() + 1);
  EXPECT_THAT(file.CheckIntact(), StatusIs(core::StatusCode::kFailedPrecondition));
  std::filesystem::resize_file(path, bytes.size());
  std::filesystem::remove(path);
  ENGINE_EXPECT_OK(file.CheckIntact());
  ENGINE_ASSERT_OK_AND_ASSIGN(const File in_memory, OpenBytes(bytes));
  ENGINE_EXPECT_OK(in_memory.CheckIntact());
}

// Opening touches the header alone: the pages of the data are inaccessible here.
TEST(SafetensorsOpenTest, DataIsNotTouched) {
  constexpr std::string_view kHeader =
      R"({"a":{"dtype":"U8","shape":[4096],"data_offsets":[0,4096]}})";
  GuardedMemory memory(4096);
  const std::size_t head = 8 + kHeader.size();
  std::byte* const begin = memory.end() - head;
  std::memcpy(begin, FileBytes(kHeader).data(), head);
  auto buffer =
      std::make_shared<memory::Buffer>(begin, head + 4096, tensor::Device::Cpu(), [](void*) {});
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, File::FromBuffer(buffer));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, file.Get("a"));
  EXPECT_EQ(tensor.data(), memory.end());
}

// No read past a header that ends where memory ends, whatever it cuts in half.
TEST(SafetensorsOpenTest, NoReadBehindTheBuffer) {
  const std::string bytes =
      FileBytes("{\"\xF0\x9F\x98\x80\\ud83d\\ude00\":{\"dtype\":\"F32\",\"shape\":[12],\"x\":tru");
  GuardedMemory memory(bytes.size());
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    std::string cut = bytes.substr(0, length);
    if (length >= 8) cut.replace(0, 8, LengthPrefix(length - 8));
    std::byte* const begin = memory.end() - length;
    std::memcpy(begin, cut.data(), length);
    auto buffer = length == 0 ? BufferOf("")
                              : std::make_shared<memory::Buffer>(
                                    begin, length, tensor::Device::Cpu(), [](void*) {});
    EXPECT_THAT(File::FromBuffer(std::move(buffer)), StatusIs(core::StatusCode::kInvalidArgument));
  }
}

class SafetensorsReaderDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(SafetensorsReaderDeathTest, BufferMustExistOnTheCpu) {
  EXPECT_DEATH((void)File::FromBuffer(nullptr), "FromBuffer: the buffer is null");
  char byte = 0;
  const auto cuda =
      std::make_shared<memory::Buffer>(&byte, 1, tensor::Device::Cuda(0), [](void*) {});
  EXPECT_DEATH((void)File::FromBuffer(cuda), "the buffer is on cuda:0, expected cpu");
}

class CudaAllocator final : public memory::Allocator {
 public:
  core::StatusOr<memory::Buffer> Allocate(std::size_t /*bytes*/,
                                          std::size_t /*alignment*/) override {
    return core::OutOfMemoryError();
  }
  [[nodiscard]] tensor::Device device() const override { return tensor::Device::Cuda(0); }
};

// Aligned tensors too, which need no allocator.
TEST_F(SafetensorsReaderDeathTest, CopiesAreOnTheCpu) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(TwoTensorsFile()));
  CudaAllocator allocator;
  EXPECT_DEATH((void)file.GetAligned("odd", &allocator),
               "GetAligned: the allocator serves cuda:0, expected cpu");
}

}  // namespace
}  // namespace engine::safetensors
