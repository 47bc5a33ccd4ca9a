// Headers around the limit of 100 MB.
#include <gtest/gtest.h>

#include <string>

#include "interop/safetensors.h"
#include "safetensors_test_util.h"
#include "testing/status_matchers.h"

namespace engine::safetensors {
namespace {

using ::engine::testing::StatusIs;

TEST(SafetensorsLimitTest, ReaderTakesAHeaderOfTheLimit) {
  std::string header = "{}";
  header.resize(kMaxHeaderBytes, ' ');
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(header)));
  EXPECT_EQ(file.header_bytes(), kMaxHeaderBytes);
  header += ' ';
  EXPECT_THAT(OpenBytes(FileBytes(header)),
              StatusIs(core::StatusCode::kInvalidArgument, "a header of 100000001 bytes"));
}

TEST(SafetensorsLimitTest, WriterStopsAtTheLimit) {
  // {"__metadata__":{"k":"..."}} is 25 bytes around the value.
  std::string value(kMaxHeaderBytes - 25, 'v');
  const core::StatusOr<memory::Buffer> longest = Serialize({}, {{"k", value}});
  ENGINE_ASSERT_OK(longest);
  EXPECT_EQ(longest->size_bytes(), 8 + kMaxHeaderBytes);
  value += 'v';
  EXPECT_THAT(Serialize({}, {{"k", value}}),
              StatusIs(core::StatusCode::kInvalidArgument, "takes 100000008 bytes"));
}

}  // namespace
}  // namespace engine::safetensors
