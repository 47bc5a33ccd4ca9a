#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "data/reference_files.h"
#include "interop/safetensors.h"
#include "safetensors_test_util.h"
#include "tensor/half.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace engine::safetensors {
namespace {

using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Device;
using tensor::Shape;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// 0, 1, 2, ... in row-major order.
Tensor Counting(Shape shape, DataType dtype = DataType::kFloat32) {
  core::StatusOr<Tensor> flat = tensor::ops::arange(0, shape.numel(), 1, dtype);
  ENGINE_EXPECT_OK(flat);
  core::StatusOr<Tensor> tensor = flat->reshape(shape);
  ENGINE_EXPECT_OK(tensor);
  return *std::move(tensor);
}

std::string SerializedText(std::span<const NamedTensor> tensors, const Metadata& metadata = {}) {
  const core::StatusOr<memory::Buffer> buffer = Serialize(tensors, metadata);
  ENGINE_EXPECT_OK(buffer);
  return buffer.ok() ? std::string(BytesOf(*buffer)) : std::string();
}

// The layout, byte for byte.
TEST(SafetensorsLayoutTest, OneTensor) {
  const std::vector<NamedTensor> tensors = {{"weight", Counting({2, 2}, DataType::kInt16)}};
  // 61 bytes of JSON, padded to 64.
  EXPECT_EQ(SerializedText(tensors),
            std::string("\x40\0\0\0\0\0\0\0", 8) +
                R"({"weight":{"dtype":"I16","shape":[2,2],"data_offsets":[0,8]}})" +
                std::string(3, ' ') + std::string("\0\0\1\0\2\0\3\0", 8));
}

// Widest items first, then by the bytes of the name; metadata by key; a header of a multiple of 8.
TEST(SafetensorsLayoutTest, Order) {
  const std::vector<NamedTensor> tensors = {
      {"b", Counting({1}, DataType::kUInt8)},
      {"B", Counting({1}, DataType::kInt8)},
      {"z", Counting({1}, DataType::kInt64)},
      {"h", Counting({1}, DataType::kFloat16)},
      {"\xC3\xA9", Counting({1})},
      {"a", Counting({1}, DataType::kInt32)},
      {"empty", Counting({0}, DataType::kFloat64)},
  };
  const std::string text = SerializedText(tensors, {{"y", "2"}, {"x", "1"}});
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(text));
  EXPECT_EQ(text.substr(8, 34), R"({"__metadata__":{"x":"1","y":"2"},)");
  EXPECT_EQ(file.header_bytes() % 8, 0U);
  std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> ranges;
  for (const TensorInfo& info : file.tensors())
    ranges.emplace_back(info.name, info.begin, info.end);
  EXPECT_THAT(ranges,
              ElementsAre(std::tuple("empty", 0, 0), std::tuple("z", 0, 8), std::tuple("a", 8, 12),
                          std::tuple("\xC3\xA9", 12, 16), std::tuple("h", 16, 18),
                          std::tuple("B", 18, 19), std::tuple("b", 19, 20)));
}

TEST(SafetensorsLayoutTest, Nothing) {
  EXPECT_EQ(SerializedText({}), reference::kEmptyFile);
  EXPECT_EQ(SerializedText({}, {{"format", "np"}}), reference::kNoTensors);
}

// What we read from the reference's file and write again is that file.
TEST(SafetensorsLayoutTest, EqualsTheReference) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(reference::kShapes));
  std::vector<NamedTensor> tensors;
  for (const TensorInfo& info : file.tensors()) {
    ENGINE_ASSERT_OK_AND_ASSIGN(Tensor tensor, file.Get(info));
    tensors.insert(tensors.begin(), {info.name, std::move(tensor)});
  }
  EXPECT_EQ(SerializedText(tensors, file.metadata()), reference::kShapes);
}

// Every control character and what else JSON escapes, in names, keys and values.
TEST(SafetensorsTextTest, EscapesSurviveARoundTrip) {
  std::string text;
  for (char c = 0; c < 0x20; ++c) text += c;
  text += "\"\\/\x7F\u00e9\u5c64\U0001F600";
  const std::vector<NamedTensor> tensors = {{text, Counting({1})}};
  const std::string bytes = SerializedText(tensors, {{text, text}});
  EXPECT_NE(bytes.find(R"(\u0007\b\t\n\u000b\f\r\u000e)"), std::string::npos);
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(bytes));
  EXPECT_EQ(file.tensors()[0].name, text);
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair(text, text)));
}

// Every dtype keeps its bytes.
TEST(SafetensorsRoundTripTest, AllDTypes) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File source, OpenBytes(reference::kAllDTypes));
  std::vector<NamedTensor> tensors;
  for (const TensorInfo& info : source.tensors()) {
    ENGINE_ASSERT_OK_AND_ASSIGN(Tensor tensor, source.Get(info));
    tensors.push_back({info.name, std::move(tensor)});
  }
  ENGINE_ASSERT_OK_AND_ASSIGN(const File copy, OpenBytes(SerializedText(tensors)));
  ASSERT_THAT(copy.tensors(), SizeIs(13));
  for (const NamedTensor& expected : tensors) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, copy.Get(expected.name));
    EXPECT_EQ(tensor.dtype(), expected.tensor.dtype());
    EXPECT_EQ(tensor.shape(), expected.tensor.shape());
    EXPECT_EQ(std::memcmp(tensor.data(), expected.tensor.data(), tensor.nbytes()), 0)
        << expected.name;
  }
}

// A bool byte that is neither 0 nor 1 is data like any other.
TEST(SafetensorsRoundTripTest, BoolBytesAreKept) {
  const std::string bytes =
      FileBytes(R"({"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}       )",
                std::string("\x02\x00\xFF", 3));
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(bytes));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, file.Get("b"));
  const std::vector<NamedTensor> tensors = {{"b", tensor}};
  const std::string written = SerializedText(tensors);
  EXPECT_EQ(written.substr(written.size() - 3), std::string("\x02\x00\xFF", 3));
}

struct Strided {
  std::string name;
  Shape shape;
  std::vector<int> axes;
  std::int64_t step;  // along every axis
};

// Strided tensors come out in row-major order, below, at and above the 256 KiB that pass through at
// a time. The value at each position is computed from its coordinates in the source.
TEST(SafetensorsRoundTripTest, StridedTensors) {
  const Strided cases[] = {
      {"small", {3, 5}, {1, 0}, 1},
      {"step", {7, 9, 5}, {0, 1, 2}, 2},
      {"chunk", {256, 256}, {1, 0}, 1},      // exactly one chunk of float32
      {"rows", {300, 1000}, {1, 0}, 1},      // several rows a chunk, the last chunk short
      {"long row", {70'000, 2}, {1, 0}, 1},  // one row is longer than a chunk
      {"unit axes", {1, 70'000, 1, 2}, {2, 0, 3, 1}, 1},
      {"rank 8", {2, 3, 2, 3, 2, 3, 40, 50}, {7, 6, 5, 4, 3, 2, 1, 0}, 1},
  };
  for (const Strided& c : cases) {
    const Tensor source = Counting(c.shape, DataType::kInt32);
    std::vector<tensor::SliceRange> ranges;
    for (const std::int64_t dim : c.shape.dims()) ranges.push_back({0, dim, c.step});
    ENGINE_ASSERT_OK_AND_ASSIGN(Tensor view, source.strided_slice(ranges));
    ENGINE_ASSERT_OK_AND_ASSIGN(view, view.permute(c.axes));
    ASSERT_FALSE(view.is_contiguous()) << c.name;
    const std::vector<NamedTensor> tensors = {{c.name, view}};
    ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(SerializedText(tensors)));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, file.Get(c.name));
    ASSERT_EQ(tensor.shape(), view.shape()) << c.name;
    const std::int32_t* const values = tensor.data_ptr<std::int32_t>();
    std::int64_t mismatches = 0;
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      std::int64_t rest = i;
      std::int64_t expected = 0;
      for (int axis = view.shape().rank() - 1; axis >= 0; --axis) {
        const std::int64_t coordinate = rest % view.shape().dim(axis);
        rest /= view.shape().dim(axis);
        std::int64_t source_stride = c.step;
        for (int k = c.axes[static_cast<std::size_t>(axis)] + 1; k < c.shape.rank(); ++k) {
          source_stride *= c.shape.dim(k);
        }
        expected += coordinate * source_stride;
      }
      if (values[i] != expected) ++mismatches;
    }
    EXPECT_EQ(mismatches, 0) << c.name;
  }
}

// Wrong requests.
TEST(SafetensorsRequestTest, AreRefused) {
  const auto refused = [](std::vector<NamedTensor> tensors, const Metadata& metadata,
                          const char* message) {
    EXPECT_THAT(Serialize(tensors, metadata),
                StatusIs(core::StatusCode::kInvalidArgument, message));
  };
  refused({{"a", Tensor()}}, {}, "tensor 'a' is undefined");
  refused({{"a", Counting({1})}, {"b", Counting({1})}, {"a", Counting({1}, DataType::kInt8)}}, {},
          "two tensors are named 'a'");
  refused({{"__metadata__", Counting({1})}}, {}, "no tensor can be named __metadata__");
  refused({{"a\xFF", Counting({1})}}, {}, "the name 'a\\xff' is not UTF-8");
  refused({}, {{"\xC0\x80", ""}}, "the metadata key '\\xc0\\x80' is not UTF-8");
  refused({}, {{"k", "\xED\xA0\x80"}}, "the metadata value '\\xed\\xa0\\x80' is not UTF-8");
  refused({}, {{"k", "1"}, {"j", "1"}, {"k", "2"}}, "two metadata entries have the key 'k'");
}

TEST(SafetensorsRequestTest, CudaIsUnimplemented) {
  float value = 0;
  const auto buffer = std::make_shared<memory::Buffer>(&value, 4, Device::Cuda(0), [](void*) {});
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor,
                              Tensor::from_buffer(buffer, 0, {1}, DataType::kFloat32));
  const std::vector<NamedTensor> tensors = {{"a", tensor}};
  EXPECT_THAT(Serialize(tensors), StatusIs(core::StatusCode::kUnimplemented, "is on cuda:0"));
}

// Layouts that overlap themselves have more elements than any memory.
TEST(SafetensorsRequestTest, SizesBeyond64Bits) {
  const Tensor base = Counting({4'000'000});
  constexpr std::int64_t kExtent = 1'000'000;
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor huge, Tensor::from_strided_buffer(base.buffer(), 0, {kExtent, kExtent, kExtent},
                                                     {1, 1, 1}, DataType::kFloat32));
  const std::vector<NamedTensor> one = {{"a", huge}};
  EXPECT_THAT(Serialize(one), StatusIs(core::kOutOfMemory));
  const std::vector<NamedTensor> many = {
      {"a", huge}, {"b", huge}, {"c", huge}, {"d", huge}, {"e", huge}};
  EXPECT_THAT(Serialize(many),
              StatusIs(core::StatusCode::kInvalidArgument, "tensor 'e' ends beyond 2^64 bytes"));
}

// A file appears complete or not at all.
TEST(SafetensorsSaveTest, WritesWhatSerializeReturns) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor columns, Counting({500, 400}).transpose(0, 1));
  const std::vector<NamedTensor> tensors = {{"t", columns}, {"s", Counting({})}};
  const Metadata metadata = {{"format", "engine"}};
  ENGINE_ASSERT_OK(Save(path, tensors, metadata));
  EXPECT_EQ(ReadFile(path), SerializedText(tensors, metadata));
  EXPECT_EQ(directory.Count(), 1);
}

// The target may be mapped: tensors of the old file keep the old bytes.
TEST(SafetensorsSaveTest, ReplacesAFileThatIsMapped) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  const std::vector<NamedTensor> first = {{"a", Counting({2, 3})}};
  ENGINE_ASSERT_OK(Save(path, first));
  ENGINE_ASSERT_OK_AND_ASSIGN(const File before, File::Open(path));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor old, before.Get("a"));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor turned, old.transpose(0, 1));
  const std::vector<NamedTensor> second = {{"a", turned}};
  ENGINE_ASSERT_OK(Save(path, second));
  ENGINE_ASSERT_OK_AND_ASSIGN(const File after, File::Open(path));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor fresh, after.Get("a"));
  EXPECT_EQ(fresh.shape(), Shape({3, 2}));
  EXPECT_EQ(fresh.item<float>({2, 1}), 5.0F);
  EXPECT_EQ(fresh.item<float>({0, 1}), 3.0F);
  EXPECT_EQ(old.shape(), Shape({2, 3}));
  EXPECT_EQ(old.item<float>({0, 1}), 1.0F);
  EXPECT_EQ(directory.Count(), 1);
}

mode_t PermissionsOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(SafetensorsSaveTest, PermissionsAreTheUmasksOrThoseOfTheReplacedFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  const mode_t mask = umask(027);
  ENGINE_EXPECT_OK(Save(path, {}));
  umask(mask);
  EXPECT_EQ(PermissionsOf(path), 0640U);
  ASSERT_EQ(chmod(path.c_str(), 0604), 0);
  ENGINE_ASSERT_OK(Save(path, {}));
  EXPECT_EQ(PermissionsOf(path), 0604U);
}

TEST(SafetensorsSaveTest, ErrorsOfTheFileSystem) {
  const TemporaryDirectory directory;
  const std::vector<NamedTensor> tensors = {{"a", Counting({2, 3})}};
  EXPECT_THAT(Save(directory.File("none/model.safetensors"), tensors),
              StatusIs(core::StatusCode::kNotFound, "none/model.safetensors"));
  EXPECT_THAT(Save(directory.File(""), tensors),
              StatusIs(core::StatusCode::kInvalidArgument, "is a directory"));
  // rename(2) would put a file in its place. Never a device here: run as root against code that
  // lacks the check, the test would destroy it.
  const std::string fifo = directory.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(Save(fifo, tensors),
              StatusIs(core::StatusCode::kInvalidArgument, "is a special file"));
  EXPECT_EQ(std::filesystem::status(fifo).type(), std::filesystem::file_type::fifo);
  ASSERT_EQ(unlink(fifo.c_str()), 0);
  EXPECT_THAT(Save(directory.File(std::string("a\0b", 3)), tensors),
              StatusIs(core::StatusCode::kInvalidArgument, "a NUL byte"));
  EXPECT_THAT(Save("", tensors), StatusIs(core::StatusCode::kNotFound));
  WriteFile(directory.File("file"), "x");
  EXPECT_THAT(Save(directory.File("file/model.safetensors"), tensors),
              StatusIs(core::StatusCode::kNotFound));
  EXPECT_EQ(directory.Count(), 1);
}

// Any name that the file system takes: the temporary file's is not longer.
TEST(SafetensorsSaveTest, LongNames) {
  const TemporaryDirectory directory;
  const std::vector<NamedTensor> tensors = {{"a", Counting({2, 3})}};
  for (const std::size_t length : {1U, 245U, 250U, 255U}) {
    const std::string path = directory.File(std::string(length, 'n'));
    ENGINE_EXPECT_OK(Save(path, tensors));
    EXPECT_EQ(ReadFile(path), SerializedText(tensors)) << length;
  }
  EXPECT_EQ(directory.Count(), 4);
  EXPECT_THAT(Save(directory.File(std::string(256, 'n')), tensors),
              StatusIs(core::StatusCode::kInvalidArgument, "File name too long"));
  EXPECT_EQ(directory.Count(), 4);
}

// A limit on the size of files stands in for a full disk: the write fails half way.
class SafetensorsFullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit_), 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, limit_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  void TearDown() override {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit limit_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(SafetensorsFullDiskTest, LeavesTheOldFileAndNoOther) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  const std::vector<NamedTensor> small = {{"a", Counting({1})}};
  ENGINE_ASSERT_OK(Save(path, small));
  const std::string before = ReadFile(path);
  const std::vector<NamedTensor> large = {{"a", Counting({10'000})}};
  EXPECT_THAT(Save(path, large), StatusIs(core::StatusCode::kInternal, "write"));
  EXPECT_EQ(ReadFile(path), before);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor strided, Counting({100, 100}).transpose(0, 1));
  const std::vector<NamedTensor> columns = {{"a", strided}};
  EXPECT_THAT(Save(path, columns), StatusIs(core::StatusCode::kInternal, "write"));
  EXPECT_EQ(ReadFile(path), before);
  EXPECT_EQ(directory.Count(), 1);
}

}  // namespace
}  // namespace engine::safetensors
