#include "core/errno_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "core/status.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::core {
namespace {

using ::engine::testing::ScopedHeapFailure;
using ::engine::testing::StatusIs;
using ::testing::StrEq;

// The kind of failure decides the code.
TEST(ErrnoErrorTest, CodesAndTexts) {
  const struct {
    int error;
    StatusCode code;
    const char* text;
  } cases[] = {
      {ENOENT, StatusCode::kNotFound, "open '/a': No such file or directory"},
      {ENOTDIR, StatusCode::kNotFound, "open '/a': Not a directory"},
      {EACCES, StatusCode::kPermissionDenied, "open '/a': Permission denied"},
      {EPERM, StatusCode::kPermissionDenied, "open '/a': Operation not permitted"},
      {EROFS, StatusCode::kPermissionDenied, "open '/a': Read-only file system"},
      {ENAMETOOLONG, StatusCode::kInvalidArgument, "open '/a': File name too long"},
      {ENXIO, StatusCode::kInvalidArgument, "open '/a': No such device or address"},
      {ENOMEM, kOutOfMemory, ""},
      // Not memory: callers that free some and try again must not see these as kOutOfMemory.
      {ENOSPC, StatusCode::kInternal, "open '/a': No space left on device"},
      {EDQUOT, StatusCode::kInternal, "open '/a': Disk quota exceeded"},
      {EMFILE, StatusCode::kInternal, "open '/a': Too many open files"},
      {EFBIG, StatusCode::kInternal, "open '/a': File too large"},
      {EIO, StatusCode::kInternal, "open '/a': Input/output error"},
      {99999, StatusCode::kInternal, "open '/a': Unknown error 99999"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ErrnoError(c.error, "{} '{}'", "open", std::string("/a")),
                StatusIs(c.code, StrEq(c.text)));
  }
}

TEST(ErrnoErrorTest, BracesInTheTextStay) {
  EXPECT_THAT(ErrnoError(EIO, "open '{}'", "{0}{"),
              StatusIs(StatusCode::kInternal, StrEq("open '{0}{': Input/output error")));
}

// The name of a file can be anything but '/' and zero.
TEST(ErrnoErrorTest, ForeignNamesAreEscaped) {
  EXPECT_THAT(
      ErrnoError(EIO, "open '{}'", "a\x1B[2J\nb\xC3\xA9"),
      StatusIs(StatusCode::kInternal, StrEq("open 'a\\x1b[2J\\x0ab\xC3\xA9': Input/output error")));
  EXPECT_THAT(ErrnoError(EIO, "open '{}'", "\xFF\xC3\xA9"),
              StatusIs(StatusCode::kInternal, StrEq("open '\\xff\\xc3\\xa9': Input/output error")));
}

#ifdef __cpp_exceptions

// Whichever allocation fails, the code stays and nothing is thrown.
TEST(ErrnoErrorTest, CodeSurvivesTheLackOfHeap) {
  const std::string path(1000, 'p');  // beyond fmt's inline buffer
  int successes = 0;
  for (bool triggered = true; triggered; ++successes) {
    ASSERT_LT(successes, 100);
    ScopedHeapFailure failure(successes);
    const Status status = ErrnoError(EACCES, "open '{}'", path);
    triggered = failure.triggered();
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << successes;
    EXPECT_EQ(status.message().empty(), triggered) << successes;
  }
  EXPECT_GT(successes, 1);
}

#endif  // __cpp_exceptions

}  // namespace
}  // namespace engine::core
