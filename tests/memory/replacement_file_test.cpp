// Clause: a file appears under its name only when it is complete (memory/replacement_file.h).
// Permissions, odd paths and full disks are shown by the formats' own suites.
#include "memory/replacement_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>

#include "memory/byte_sink.h"
#include "test_files.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using ::engine::testing::StatusIs;

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::ptrdiff_t FilesIn(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(ReplacementFileTest, AppearsOnCommitOnly) {
  const TempDirectory folder;
  const std::string path = folder.Write("f", "old");
  ReplacementFile file("format", path);
  ENGINE_ASSERT_OK(file.Create());
  ENGINE_ASSERT_OK(file.Append("ne", 2));
  ENGINE_ASSERT_OK(file.Append(nullptr, 0));
  ENGINE_ASSERT_OK(file.Append("w", 1));
  EXPECT_EQ(ContentOf(path), "old");
  EXPECT_EQ(FilesIn(folder.Path("")), 2);
  ENGINE_ASSERT_OK(file.Commit());
  EXPECT_EQ(ContentOf(path), "new");
  EXPECT_EQ(FilesIn(folder.Path("")), 1);
}

TEST(ReplacementFileTest, LeavesNothingWithoutCommit) {
  const TempDirectory folder;
  const std::string path = folder.Write("f", "old");
  {
    ReplacementFile file("format", path);
    ENGINE_ASSERT_OK(file.Create());
    ENGINE_ASSERT_OK(file.Append("new", 3));
  }
  EXPECT_EQ(ContentOf(path), "old");
  EXPECT_EQ(FilesIn(folder.Path("")), 1);
}

TEST(ReplacementFileTest, TwoForOnePathDoNotMeet) {
  const TempDirectory folder;
  const std::string path = folder.Path("f");
  ReplacementFile first("format", path);
  ReplacementFile second("format", path);
  ENGINE_ASSERT_OK(first.Create());
  ENGINE_ASSERT_OK(second.Create());
  ENGINE_ASSERT_OK(first.Append("1", 1));
  ENGINE_ASSERT_OK(second.Append("2", 1));
  ENGINE_ASSERT_OK(second.Commit());
  EXPECT_EQ(ContentOf(path), "2");
  ENGINE_ASSERT_OK(first.Commit());
  EXPECT_EQ(ContentOf(path), "1");
}

TEST(ReplacementFileTest, FinishedFilesStillWait) {
  const TempDirectory folder;
  const std::string path = folder.Write("f", "old");
  ReplacementFile file("format", path);
  ENGINE_ASSERT_OK(file.Create());
  ENGINE_ASSERT_OK(file.Append("new", 3));
  ENGINE_ASSERT_OK(file.Finish());
  ENGINE_ASSERT_OK(file.Finish());
  EXPECT_EQ(ContentOf(path), "old");
  ENGINE_ASSERT_OK(file.Commit());
  EXPECT_EQ(ContentOf(path), "new");
}

// A disk that was full once: the rest may fit, but what is missing stays missing.
TEST(ReplacementFileTest, NothingIncompleteIsCommitted) {
  const TempDirectory folder;
  const std::string path = folder.Write("f", "old");
  ReplacementFile file("format", path);
  ENGINE_ASSERT_OK(file.Create());
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const core::Status appended = file.Append("0123456789", 10);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(appended, StatusIs(core::StatusCode::kInternal, "format: write '"));
  for (const core::Status& status : {file.Append("", 0), file.Finish(), file.Commit()}) {
    EXPECT_THAT(status, StatusIs(core::StatusCode::kInternal, "after an error"));
  }
  EXPECT_EQ(ContentOf(path), "old");
}

// The new file belongs to whoever writes it: it must not become that user's set-user-ID program.
TEST(ReplacementFileTest, SetUserIdIsNotKept) {
  const TempDirectory folder;
  const std::string path = folder.Write("f", "old");
  ASSERT_EQ(chmod(path.c_str(), 07753), 0);
  ReplacementFile file("format", path);
  ENGINE_ASSERT_OK(file.Create());
  ENGINE_ASSERT_OK(file.Commit());
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0753U);
}

TEST(SyncFolderOfTest, AnyFolder) {
  const TempDirectory folder;
  ENGINE_EXPECT_OK(SyncFolderOf("format", folder.Path("f")));
  ENGINE_EXPECT_OK(SyncFolderOf("format", "f"));
  ENGINE_EXPECT_OK(SyncFolderOf("format", "/f"));
  EXPECT_THAT(SyncFolderOf("format", folder.Path("none/f")),
              StatusIs(core::StatusCode::kNotFound, "format: open '"));
}

// Nobody can open what is being written who could not open what it replaces.
TEST(ReplacementFileTest, PrivateFromTheStart) {
  const TempDirectory folder;
  const std::string path = folder.Write("f", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ReplacementFile file("format", path);
  ENGINE_ASSERT_OK(file.Create());
  for (const auto& entry : std::filesystem::directory_iterator(folder.Path(""))) {
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms(0600)) << entry.path();
  }
}

// The path is referred to, not copied.
static_assert(!std::is_constructible_v<ReplacementFile, const char*, std::string>);
static_assert(!std::is_constructible_v<ReplacementFile, const char*, const char*>);

TEST(ReplacementFileTest, MessagesNameFormatAndPath) {
  const TempDirectory folder;
  const std::string path = folder.Path("none/f");
  ReplacementFile file("format", path);
  EXPECT_THAT(file.Create(), StatusIs(core::StatusCode::kNotFound, "format: create '"));
  const std::string directory = folder.Path("");
  ReplacementFile onto("format", directory);
  EXPECT_THAT(onto.Create(),
              StatusIs(core::StatusCode::kInvalidArgument, "is a directory, expected a regular"));
}

// Before anything is written, as the folder would take the temporary file.
TEST(ReplacementFileTest, AnEmptyPathIsRefusedAtOnce) {
  const std::string path;
  ReplacementFile file("format", path);
  EXPECT_THAT(file.Create(), StatusIs(core::StatusCode::kNotFound, "format: ''"));
}

TEST(MemorySinkTest, AppendsFrontToBack) {
  char bytes[4] = {'.', '.', '.', '.'};
  MemorySink sink(bytes, 3);
  ENGINE_ASSERT_OK(sink.Append("ab", 2));
  ENGINE_ASSERT_OK(sink.Append(nullptr, 0));
  ENGINE_ASSERT_OK(sink.Append("c", 1));
  EXPECT_EQ(std::string(bytes, 4), "abc.");
}

class MemorySinkDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(MemorySinkDeathTest, BeyondTheEnd) {
  char bytes[4];
  MemorySink sink(bytes, 4);
  EXPECT_DEATH(static_cast<void>(sink.Append("abcde", 5)), "MemorySink: 5 bytes into 4");
}

}  // namespace
}  // namespace engine::memory
