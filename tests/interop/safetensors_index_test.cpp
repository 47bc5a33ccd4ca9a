// Clause: docs/design/safetensors.md, "Sharded checkpoints": what is refused in an index.
#include "interop/internal/safetensors_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "testing/status_matchers.h"

namespace engine::safetensors::internal {
namespace {

using ::engine::testing::StatusIs;
using ::testing::ElementsAre;

TEST(SafetensorsIndexTest, EveryField) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Index index, ParseIndex(R"({
  "metadata": {"total_size": 28966928384, "total_parameters": 1.5, "weight_map": {"x": 1}},
  "weight_map": {
    "b": "model-00002-of-00002.safetensors",
    "": "model-00001-of-00002.safetensors",
    "a": "model-00002-of-00002.safetensors"
  },
  "other": [[], {"weight_map": null}, "text", -1, 1e99, true]
}
)"));
  EXPECT_EQ(index.total_size, 28966928384U);
  EXPECT_THAT(index.shards,
              ElementsAre("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"));
  ASSERT_EQ(index.tensors.size(), 3U);
  EXPECT_EQ(index.tensors[0].name, "");
  EXPECT_EQ(index.tensors[0].shard, 0U);
  EXPECT_EQ(index.tensors[1].name, "a");
  EXPECT_EQ(index.tensors[1].shard, 1U);
  EXPECT_EQ(index.tensors[2].name, "b");
  EXPECT_EQ(index.tensors[2].shard, 1U);
}

TEST(SafetensorsIndexTest, Sparse) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Index none, ParseIndex(R"({"weight_map":{}})"));
  EXPECT_TRUE(none.shards.empty());
  EXPECT_TRUE(none.tensors.empty());
  EXPECT_FALSE(none.total_size.has_value());
  // Not a count of bytes; and of another object.
  ENGINE_ASSERT_OK_AND_ASSIGN(const Index odd,
                              ParseIndex(R"({"metadata":{"total_size":-1,"more":{"total_size":7}},)"
                                         R"("weight_map":{"a":"f"},"total_size":8})"));
  EXPECT_FALSE(odd.total_size.has_value());
  // A number where an object belongs, after a member of that name elsewhere.
  ENGINE_ASSERT_OK_AND_ASSIGN(const Index array,
                              ParseIndex(R"({"other":{"total_size":1},"metadata":[7],)"
                                         R"("weight_map":{}})"));
  EXPECT_FALSE(array.total_size.has_value());
}

TEST(SafetensorsIndexTest, IsRefused) {
  const auto refused = [](std::string_view text, const char* message) {
    EXPECT_THAT(ParseIndex(text), StatusIs(core::StatusCode::kInvalidArgument, message)) << text;
  };
  refused("", "does not begin with '{'");
  refused("[]", "does not begin with '{'");
  refused("{}", "has no weight_map");
  refused(R"({"metadata":{"weight_map":{"a":"f"}}})", "has no weight_map");
  refused(R"({"weight_map":{"a":"f"})", "the index is not JSON");
  refused(R"({"weight_map":{"a":"f"}} x)", "the index is not JSON");
  refused("{\"weight_map\":{\"a\xFF\":\"f\"}}", "the index is not UTF-8 at byte 17");
  refused(std::string_view("{\"weight_map\":\0{}}", 17), "control character 0x00");
  for (const char* const value : {"[]", "null", "true", "1", "-1", "1.5", "{}"}) {
    refused(R"({"weight_map":{"a":)" + std::string(value) + "}}",
            "expected weight_map to be an object of strings");
  }
  for (const char* const value : {"[]", "null", "true", "1", "-1", "1.5", "\"f\""}) {
    refused(R"({"weight_map":)" + std::string(value) + "}",
            "expected weight_map to be an object of strings");
  }
  refused(R"({"weight_map":{"a":"f","a":"f"}})", "duplicate key 'a'");
  refused(R"({"weight_map":{"a":"f","\u0061":"g"}})", "duplicate key 'a'");
  refused(R"({"weight_map":{},"weight_map":{}})", "duplicate key 'weight_map'");
  std::string deep = R"({"x":)" + std::string(127, '[') + std::string(127, ']');
  refused(deep + R"(,"weight_map":{}})", "nest deeper than 127 levels");
}

// Nothing leads out of the folder, whatever the kernel would make of it.
TEST(SafetensorsIndexTest, FilesAreNamesNotPaths) {
  for (const char* const name :
       {"", ".", "..", "/etc/passwd", "../f", "a/b", "a/", "f\\u0000", "\\u002e\\u002e", "\\/f",
        "\\u001b[2J", "f\\n", "f\\u009b", "\\u202ef"}) {
    EXPECT_THAT(
        ParseIndex(R"({"weight_map":{"t":")" + std::string(name) + "\"}}"),
        StatusIs(core::StatusCode::kInvalidArgument, "which is not the name of a file beside it"))
        << name;
  }
  const auto of_length = [](std::size_t bytes) {
    return ParseIndex(R"({"weight_map":{"t":")" + std::string(bytes, 'f') + "\"}}");
  };
  ENGINE_EXPECT_OK(of_length(255));
  EXPECT_THAT(of_length(256), StatusIs(core::StatusCode::kInvalidArgument, "...', which is not"));
  for (const char* const name : {"...", "..f", "a b", "a\\\\b", "\\u00e9"}) {
    ENGINE_EXPECT_OK(ParseIndex(R"({"weight_map":{"t":")" + std::string(name) + "\"}}"));
  }
}

}  // namespace
}  // namespace engine::safetensors::internal
