// What reading and writing cost in heap, and what happens when there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interop/safetensors.h"
#include "safetensors_test_util.h"
#include "tensor/ops.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::safetensors {
namespace {

using ::engine::testing::ScopedHeapFailure;
using ::engine::testing::ScopedHeapMeter;
using ::engine::testing::StatusIs;
using tensor::DataType;
using tensor::Tensor;

// Adds pieces until the text has that many bytes.
std::string Fill(std::string text, std::size_t bytes,
                 const std::function<std::string(std::uint64_t)>& piece) {
  for (std::uint64_t i = 0; text.size() < bytes; ++i) text += piece(i);
  return text;
}

struct Hostile {
  std::string name;
  bool opens;  // and the final state counts too
  std::function<std::string(std::size_t)> header;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

constexpr std::string_view kFields = R"("dtype":"X","shape":[],"data_offsets":[0,0])";

// A tensor "a" around `more` pieces.
std::string Around(std::string_view before, std::size_t bytes, std::string_view piece,
                   std::string_view after) {
  return Fill(std::string(before), bytes, [&](std::uint64_t) { return std::string(piece); })
      .append(after);
}

std::vector<Hostile> HostileHeaders() {
  std::vector<Hostile> all;
  const auto add = [&](std::string name, bool opens,
                       std::function<std::string(std::size_t)> header) {
    all.push_back({std::move(name), opens, std::move(header)});
  };
  // Distinct keys cannot stay tiny; equal ones are found when the object ends.
  add("TinyMetadata", true, [](std::size_t bytes) {
    return Fill(R"({"__metadata__":{"":"")", bytes,
                [](std::uint64_t i) { return fmt::format(R"(,"{:x}":"")", i); }) +
           "}}";
  });
  add("TinyEqualMetadata", false, [](std::size_t bytes) {
    return Around(R"({"__metadata__":{"":"")", bytes, R"(,"":"")", "}}");
  });
  // The shortest strings that no longer fit inside a std::string.
  add("MetadataOf16Bytes", true, [](std::size_t bytes) {
    return Fill(R"({"__metadata__":{"":"")", bytes,
                [](std::uint64_t i) { return fmt::format(R"(,"{:016x}":"{:016x}")", i, i); }) +
           "}}";
  });
  add("LongShapeOfZeros", true, [](std::size_t bytes) {
    return Around(R"({"a":{"dtype":"X","data_offsets":[0,0],"shape":[0)", bytes, ",0", "]}}");
  });
  add("TinyTensors", true, [](std::size_t bytes) {
    return Fill("{\"\":{" + std::string(kFields) + "}", bytes,
                [](std::uint64_t i) { return fmt::format(R"(,"{:x}":{{{}}})", i, kFields); }) +
           "}";
  });
  add("TinyTensorsOfOneExtent", true, [](std::size_t bytes) {
    constexpr std::string_view kOne = R"("dtype":"","shape":[0],"data_offsets":[0,0])";
    return Fill("{\"\":{" + std::string(kOne) + "}", bytes,
                [&](std::uint64_t i) { return fmt::format(R"(,"{:x}":{{{}}})", i, kOne); }) +
           "}";
  });
  add("TinyEqualTensors", false, [](std::size_t bytes) {
    const std::string entry = "\"\":{" + std::string(kFields) + "}";
    return Around("{" + entry, bytes, "," + entry, "}");
  });
  add("IgnoredKeys", false,
      [](std::size_t bytes) { return Around(R"({"a":{"x":{"":0)", bytes, R"(,"":0)", "}}}"); });
  add("IgnoredScalars", true, [](std::size_t bytes) {
    return Around("{\"a\":{" + std::string(kFields) + ",\"x\":[0", bytes, ",0", "]}}");
  });
  add("IgnoredObjects", true, [](std::size_t bytes) {
    return Around("{\"a\":{" + std::string(kFields) + ",\"x\":[0", bytes, ",{}", "]}}");
  });
  add("DeepArrays", false,
      [](std::size_t bytes) { return Around(R"({"a":{"x":)", bytes, "[", ""); });
  add("HugeName", true, [](std::size_t bytes) {
    return Around("{\"", bytes, "n", "\":{" + std::string(kFields) + "}}");
  });
  add("HugeMetadataValue", true,
      [](std::size_t bytes) { return Around(R"({"__metadata__":{"k":")", bytes, "v", "\"}}"); });
  add("HugeDTypeName", true, [](std::size_t bytes) {
    return Around(R"({"a":{"shape":[],"data_offsets":[0,0],"dtype":")", bytes, "d", "\"}}");
  });
  add("HugeEscapes", true, [](std::size_t bytes) {
    return Around(R"({"__metadata__":{"k":")", bytes, R"(\uffff)", "\"}}");
  });
  add("HugeNumber", true, [](std::size_t bytes) {
    return Around("{\"a\":{" + std::string(kFields) + ",\"x\":0.", bytes, "1", "}}");
  });
  // Errors in the parser, which repeats its last token in their text.
  add("UnclosedHugeName", false, [](std::size_t bytes) { return Around("{\"", bytes, "n", ""); });
  add("OverflowingHugeNumber", false, [](std::size_t bytes) {
    return Around("{\"a\":{" + std::string(kFields) + ",\"x\":", bytes, "9", "}}");
  });
  // Control characters are what it makes eight bytes of.
  add("GarbageBehindLineBreaks", false,
      [](std::size_t bytes) { return Around("{", bytes, "\n", "x"); });
  add("GarbageBehindBrackets", false,
      [](std::size_t bytes) { return Around(R"({"a":{"x":[)", bytes, "[\n],", "x"); });
  add("Padding", true, [](std::size_t bytes) { return Around("{}", bytes, " ", ""); });
  return all;
}

class SafetensorsHeapTest : public ::testing::TestWithParam<Hostile> {};

// At most 32 times the header, at every moment of reading and while the File lives. Sizes lie just
// behind powers of two, where growing containers have just doubled. The heap's own rounding of each
// block is counted too. Short headers have 8 KiB of slack: the text of an error is longer than they
// are.
TEST_P(SafetensorsHeapTest, StaysWithin32TimesTheHeader) {
  for (const std::size_t bytes : {600U, 4'000U, 70'000U, 1'050'000U, 1'400'000U}) {
    const std::string header = GetParam().header(bytes);
    const std::shared_ptr<memory::Buffer> buffer = BufferOf(FileBytes(header));
    const ScopedHeapMeter meter;
    const core::StatusOr<File> file = File::FromBuffer(buffer);
    EXPECT_EQ(file.ok(), GetParam().opens) << file.status();
    const std::size_t slack = bytes < 4'000 ? 8192 : 0;
    const auto limit = static_cast<std::int64_t>(32 * header.size() + slack);
    EXPECT_LE(meter.peak_bytes(), limit);
    RecordProperty("times_header_" + std::to_string(bytes),
                   fmt::format("{:.1f}", static_cast<double>(meter.peak_bytes()) /
                                             static_cast<double>(header.size())));
  }
}

INSTANTIATE_TEST_SUITE_P(Hostile, SafetensorsHeapTest, ::testing::ValuesIn(HostileHeaders()),
                         [](const auto& info) { return info.param.name; });

// Strided tensors pass through one chunk, however large they are.
TEST(SafetensorsWriterHeapTest, SaveDoesNotCopyTensors) {
  const TemporaryDirectory directory;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor source,
                              tensor::ops::zeros({2000, 1000}, DataType::kFloat32));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor columns, source.transpose(0, 1));
  const std::vector<NamedTensor> tensors = {{"a", columns}, {"b", source}};
  const ScopedHeapMeter meter;
  ENGINE_EXPECT_OK(Save(directory.File("model.safetensors"), tensors));
  EXPECT_LE(meter.peak_bytes(), 300'000);
}

#ifdef __cpp_exceptions

// Runs `action` with each of its allocations failing in turn; returns how many there are. Every run
// but the last must report kOutOfMemory.
int FailEachAllocation(
    const std::function<core::Status()>& action,
    const std::function<void()>& after_failure = [] {}) {
  for (int successes = 0; successes < 100'000; ++successes) {
    core::Status status;
    bool triggered = false;
    {
      ScopedHeapFailure failure(successes);
      status = action();
      triggered = failure.triggered();
    }
    if (!triggered) {
      ENGINE_EXPECT_OK(status);
      return successes;
    }
    EXPECT_THAT(status, StatusIs(core::kOutOfMemory)) << "allocation " << successes;
    after_failure();
  }
  return -1;
}

// A file with everything in it: long and short names, metadata, ignored fields, shapes.
std::string RichFile() {
  return FileBytes(
      R"({"__metadata__":{"a key of more than sixteen bytes":"a value of more than sixteen","k":"v"},)"
      R"("a name of more than sixteen bytes":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("w":{"dtype":"a format of more than sixteen","shape":[3],"data_offsets":[8,9],"x":[{"y":1}]}})",
      "abcdefghi");
}

TEST(SafetensorsOutOfMemoryTest, FromBuffer) {
  const std::string bytes = RichFile();
  const std::shared_ptr<memory::Buffer> buffer = BufferOf(bytes);
  EXPECT_GT(FailEachAllocation([&] { return File::FromBuffer(buffer).status(); }), 10);
}

TEST(SafetensorsOutOfMemoryTest, Open) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  WriteFile(path, RichFile());
  EXPECT_GT(FailEachAllocation([&] { return File::Open(path).status(); }), 10);
}

// When the text of an error cannot be allocated, its code remains.
TEST(SafetensorsOutOfMemoryTest, RefusalsStayRefusals) {
  const std::shared_ptr<memory::Buffer> buffer =
      BufferOf(FileBytes(R"({"a name of more than sixteen bytes":{"dtype":"F32","shape":[2,1],)"
                         R"("data_offsets":[0,9]}})",
                         "abcdefghi"));
  for (int successes = 0;; ++successes) {
    ScopedHeapFailure failure(successes);
    const core::StatusCode code = File::FromBuffer(buffer).status().code();
    if (!failure.triggered()) {
      EXPECT_EQ(code, core::StatusCode::kInvalidArgument);
      break;
    }
    EXPECT_TRUE(code == core::kOutOfMemory || code == core::StatusCode::kInvalidArgument)
        << "allocation " << successes;
  }
}

TEST(SafetensorsOutOfMemoryTest, Get) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(RichFile()));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor expected, file.Get("a name of more than sixteen bytes"));
  EXPECT_EQ(
      FailEachAllocation([&] { return file.Get("a name of more than sixteen bytes").status(); }),
      0);
  ScopedHeapFailure failure;
  const core::StatusCode missing = file.Get("nothing of that name").status().code();
  const core::StatusCode unknown = file.Get("w").status().code();
  EXPECT_TRUE(missing == core::kOutOfMemory || missing == core::StatusCode::kNotFound);
  EXPECT_TRUE(unknown == core::kOutOfMemory || unknown == core::StatusCode::kUnimplemented);
}

// The copy's handle is the one allocation on the heap.
TEST(SafetensorsOutOfMemoryTest, GetAligned) {
  std::string header = R"({"odd":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(header, "abcde")));
  EXPECT_GT(FailEachAllocation([&] { return file.GetAligned("a").status(); }), 0);
  EXPECT_EQ(FailEachAllocation([&] { return file.GetAligned("odd").status(); }), 0);
}

// A contiguous and a strided tensor, and metadata.
struct Request {
  std::vector<NamedTensor> tensors;
  Metadata metadata = {{"a key of more than sixteen bytes", "a value of more than sixteen bytes"}};

  Request() {
    core::StatusOr<Tensor> source = tensor::ops::zeros({300, 400}, DataType::kFloat32);
    core::StatusOr<Tensor> columns = source->transpose(0, 1);
    tensors.push_back({"a contiguous tensor of a long name", *source});
    tensors.push_back({"a strided tensor of a long name", *columns});
  }
};

TEST(SafetensorsOutOfMemoryTest, Serialize) {
  const Request request;
  EXPECT_GT(
      FailEachAllocation([&] { return Serialize(request.tensors, request.metadata).status(); }), 5);
}

TEST(SafetensorsOutOfMemoryTest, SaveLeavesTheOldFileAndNoOther) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("model.safetensors");
  WriteFile(path, "old");
  const Request request;
  const int allocations =
      FailEachAllocation([&] { return Save(path, request.tensors, request.metadata); },
                         [&] {
                           EXPECT_EQ(ReadFile(path), "old");
                           EXPECT_EQ(directory.Count(), 1);
                         });
  EXPECT_GT(allocations, 5);
  ENGINE_ASSERT_OK_AND_ASSIGN(const memory::Buffer expected,
                              Serialize(request.tensors, request.metadata));
  EXPECT_EQ(ReadFile(path), BytesOf(expected));
}

#endif  // __cpp_exceptions

}  // namespace
}  // namespace engine::safetensors
