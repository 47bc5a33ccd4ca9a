#include "memory/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/status.h"
#include "test_files.h"
#include "testing/death_test_style.h"
#include "testing/fault.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using core::StatusCode;
using core::StatusOr;
using testing::StatusIs;

static_assert(!std::is_copy_constructible_v<MappedFile>);
static_assert(!std::is_copy_assignable_v<MappedFile>);
static_assert(!std::is_default_constructible_v<MappedFile>);
static_assert(std::is_nothrow_move_constructible_v<MappedFile>);
static_assert(std::is_nothrow_move_assignable_v<MappedFile>);

std::string ContentOf(const Buffer& buffer) {
  return std::string(static_cast<const char*>(buffer.data()), buffer.size_bytes());
}

class MappedFileTest : public ::testing::Test {
 protected:
  TempDirectory folder_;
};

// A mapped file reads like the file.

TEST_F(MappedFileTest, ContentEqualsTheFile) {
  const std::size_t page = PageBytes();
  for (const std::size_t size : {std::size_t{1}, page - 1, page, page + 1, 5 * page + 17}) {
    const std::string content = Pattern(size);
    const std::string path = folder_.Write("weights", content);
    ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
    EXPECT_EQ(file.path(), path);
    EXPECT_EQ(file.size_bytes(), size);
    ASSERT_NE(file.buffer(), nullptr);
    const Buffer& buffer = *file.buffer();
    EXPECT_EQ(buffer.size_bytes(), size);
    EXPECT_EQ(buffer.device(), tensor::Device::Cpu());
    EXPECT_TRUE(buffer.engaged());
    EXPECT_TRUE(buffer.is_read_only());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % page, 0u);
    EXPECT_TRUE(ContentOf(buffer) == content) << size << " bytes";
    ENGINE_EXPECT_OK(file.CheckIntact());
  }
}

TEST_F(MappedFileTest, EmptyFile) {
  const std::string path = folder_.Write("empty", "");
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
  EXPECT_EQ(file.size_bytes(), 0u);
  ASSERT_NE(file.buffer(), nullptr);
  EXPECT_TRUE(file.buffer()->engaged());
  EXPECT_EQ(file.buffer()->data(), nullptr);
  EXPECT_EQ(file.buffer()->size_bytes(), 0u);
  EXPECT_TRUE(file.buffer()->is_read_only());
  ENGINE_EXPECT_OK(file.CheckIntact());
}

TEST_F(MappedFileTest, FollowsSymbolicLinks) {
  const std::string target = folder_.Write("target", "abc");
  const std::string link = folder_.Path("link");
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(link));
  EXPECT_EQ(ContentOf(*file.buffer()), "abc");
  EXPECT_EQ(file.path(), link);
}

TEST_F(MappedFileTest, PathsAreBytes) {
  const std::string path = folder_.Write("\xff\xfe'{}\n", "abc");
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
  EXPECT_EQ(ContentOf(*file.buffer()), "abc");
}

// How many pages of the mapping the page cache holds.
std::int64_t ResidentPages(const Buffer& buffer) {
  std::vector<unsigned char> pages((buffer.size_bytes() + PageBytes() - 1) / PageBytes());
  ENGINE_CHECK(mincore(buffer.data(), buffer.size_bytes(), pages.data()) == 0);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
}

TEST_F(MappedFileTest, OpeningReadsNothing) {
  constexpr std::size_t kOneGiB = std::size_t{1} << 30;
  const std::string path = folder_.Write("sparse", "");
  ASSERT_EQ(truncate(path.c_str(), kOneGiB), 0);
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
  const Buffer& buffer = *file.buffer();
  EXPECT_EQ(buffer.size_bytes(), kOneGiB);
  EXPECT_EQ(ResidentPages(buffer), 0);
  const auto* const bytes = static_cast<const volatile char*>(buffer.data());
  EXPECT_EQ(bytes[kOneGiB / 2], 0);
  EXPECT_GT(ResidentPages(buffer), 0) << "the measurement sees nothing";
}

// Paths that cannot be mapped are an error with the path in it, and leave no descriptor open.
class MappedFileErrorTest : public MappedFileTest {
 protected:
  void ExpectError(const std::string& path, StatusCode code, const char* message) {
    const std::size_t before = OpenDescriptorCount();
    EXPECT_THAT(MappedFile::Open(path), StatusIs(code, message)) << path;
    EXPECT_EQ(OpenDescriptorCount(), before) << path;
  }
};

TEST_F(MappedFileErrorTest, NothingThere) {
  const std::string missing = folder_.Path("missing");
  ExpectError(missing, StatusCode::kNotFound, ("'" + missing + "': No such file").c_str());
  ExpectError("", StatusCode::kNotFound, "No such file");
  const std::string dangling = folder_.Path("dangling");
  ASSERT_EQ(symlink(missing.c_str(), dangling.c_str()), 0);
  ExpectError(dangling, StatusCode::kNotFound, "No such file");
}

TEST_F(MappedFileErrorTest, PathThroughAFile) {
  const std::string file = folder_.Write("file", "abc");
  ExpectError(file + "/below", StatusCode::kNotFound, "Not a directory");
  ExpectError(file + "/", StatusCode::kNotFound, "Not a directory");
}

TEST_F(MappedFileErrorTest, Directory) {
  ExpectError(folder_.Path(""), StatusCode::kInvalidArgument,
              "is a directory, expected a regular file");
}

// A terminal would obey the name.
TEST_F(MappedFileErrorTest, NameThatIsNotShown) {
  const std::string folder = folder_.Path("red\x1B[31m");
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  ExpectError(folder, StatusCode::kInvalidArgument,
              "red\\x1b[31m' is a directory, expected a regular file");
}

// Without a writer at the other end: a blocking open would hang here.
TEST_F(MappedFileErrorTest, FifoDoesNotBlock) {
  const std::string path = folder_.Path("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectError(path, StatusCode::kInvalidArgument, "is a special file, expected a regular file");
}

TEST_F(MappedFileErrorTest, DeviceAndSocket) {
  ExpectError("/dev/null", StatusCode::kInvalidArgument, "is a special file");

  // A socket's name has room for 107 characters; the folder may be deeper, so bind relative to it.
  const std::string path = folder_.Path("socket");
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder_.Path(""));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "socket");
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  std::filesystem::current_path(here);
  ASSERT_EQ(bound, 0);
  ExpectError(path, StatusCode::kInvalidArgument, "No such device");
  close(descriptor);
}

TEST_F(MappedFileErrorTest, NulInThePath) {
  const std::string existing = folder_.Write("file", "abc");
  ExpectError(existing + std::string(1, '\0') + "tail", StatusCode::kInvalidArgument, "NUL");
  ExpectError(std::string(1, '\0'), StatusCode::kInvalidArgument, "NUL");
}

TEST_F(MappedFileErrorTest, PathTooLong) {
  ExpectError(folder_.Path(std::string(300, 'n')), StatusCode::kInvalidArgument, "too long");
  ExpectError("/" + std::string(100000, 'p'), StatusCode::kInvalidArgument, "too long");
}

TEST_F(MappedFileErrorTest, OtherFaultsAreInternal) {
  const std::string loop = folder_.Path("loop");
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  ExpectError(loop, StatusCode::kInternal, "symbolic links");
}

// Larger than the address space: mmap itself refuses.
TEST_F(MappedFileErrorTest, NoAddressSpace) {
  const MemoryFile giant(std::int64_t{1} << 62);
  const std::size_t before = OpenDescriptorCount();
  EXPECT_THAT(MappedFile::Open(giant.path()), StatusIs(core::kOutOfMemory));
  EXPECT_EQ(OpenDescriptorCount(), before);
}

// Takes away, from this thread and for a while, the capabilities that let root read any file.
class ScopedWithoutCapabilities {
 public:
  ScopedWithoutCapabilities() {
    ENGINE_CHECK(syscall(SYS_capget, &header_, saved_) == 0);
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    std::copy(std::begin(saved_), std::end(saved_), none);
    for (__user_cap_data_struct& set : none) set.effective = 0;
    ENGINE_CHECK(syscall(SYS_capset, &header_, none) == 0);
  }
  ~ScopedWithoutCapabilities() { ENGINE_CHECK(syscall(SYS_capset, &header_, saved_) == 0); }
  ScopedWithoutCapabilities(const ScopedWithoutCapabilities&) = delete;
  ScopedWithoutCapabilities& operator=(const ScopedWithoutCapabilities&) = delete;

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct saved_[_LINUX_CAPABILITY_U32S_3] = {};
};

TEST_F(MappedFileErrorTest, Unreadable) {
  const std::string path = folder_.Write("secret", "abc");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const ScopedWithoutCapabilities ordinary_user;
  ExpectError(path, StatusCode::kPermissionDenied, "Permission denied");
}

// The mapping's lifetime is the Buffer's; the descriptor's is the MappedFile's.

TEST_F(MappedFileTest, BufferOutlivesTheMappedFile) {
  const std::string content = Pattern(3 * PageBytes() + 5);
  const std::string path = folder_.Write("weights", content);
  std::shared_ptr<Buffer> buffer;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
    buffer = file.buffer();
    ASSERT_EQ(DescriptorsOf(path).size(), 1u);
    EXPECT_NE(fcntl(DescriptorsOf(path)[0], F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(DescriptorsOf(path).empty());
  EXPECT_EQ(MappingsOf(path), 1);
  EXPECT_TRUE(ContentOf(*buffer) == content);
  buffer.reset();
  EXPECT_EQ(MappingsOf(path), 0);
}

TEST_F(MappedFileTest, IsUnmappedExactlyOnce) {
  const std::string path = folder_.Write("weights", Pattern(PageBytes()));
  StatusOr<MappedFile> file = MappedFile::Open(path);
  ENGINE_ASSERT_OK(file);
  void* const address = file->buffer()->data();
  Buffer first = std::move(*file->buffer());
  EXPECT_EQ(MappingsOf(path), 1);
  first = Buffer();
  EXPECT_EQ(MappingsOf(path), 0);

  // Something else moves in at the address; a second munmap would take it away.
  void* const lodger = mmap(address, PageBytes(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(lodger, address);
  file = core::InternalError("dropped");
  unsigned char page = 0;
  EXPECT_EQ(mincore(lodger, PageBytes(), &page), 0) << "unmapped twice";
  munmap(lodger, PageBytes());
}

TEST_F(MappedFileTest, EachOpenIsAMappingOfItsOwn) {
  const std::string path = folder_.Write("weights", Pattern(100));
  ENGINE_ASSERT_OK_AND_ASSIGN(MappedFile first, MappedFile::Open(path));
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile second, MappedFile::Open(path));
    EXPECT_NE(first.buffer()->data(), second.buffer()->data());
  }
  EXPECT_TRUE(ContentOf(*first.buffer()) == Pattern(100));
}

TEST_F(MappedFileTest, MoveConstructionTransfers) {
  const std::string path = folder_.Write("weights", "abcdef");
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(MappedFile source, MappedFile::Open(path));
    const MappedFile target(std::move(source));
    EXPECT_EQ(source.buffer(), nullptr);
    EXPECT_EQ(source.size_bytes(), 0u);
    EXPECT_EQ(target.path(), path);
    EXPECT_EQ(target.size_bytes(), 6u);
    EXPECT_EQ(ContentOf(*target.buffer()), "abcdef");
    ENGINE_EXPECT_OK(target.CheckIntact());
    EXPECT_EQ(DescriptorsOf(path).size(), 1u);
  }
  EXPECT_TRUE(DescriptorsOf(path).empty());
  EXPECT_EQ(MappingsOf(path), 0);
}

TEST_F(MappedFileTest, MoveAssignmentReleasesTheOldFile) {
  const std::string old_path = folder_.Write("old", "old");
  const std::string new_path = folder_.Write("new", "newer");
  ENGINE_ASSERT_OK_AND_ASSIGN(MappedFile target, MappedFile::Open(old_path));
  ENGINE_ASSERT_OK_AND_ASSIGN(MappedFile source, MappedFile::Open(new_path));
  target = std::move(source);
  EXPECT_TRUE(DescriptorsOf(old_path).empty());
  EXPECT_EQ(MappingsOf(old_path), 0);
  EXPECT_EQ(source.buffer(), nullptr);
  EXPECT_EQ(source.size_bytes(), 0u);
  EXPECT_EQ(target.path(), new_path);
  EXPECT_EQ(ContentOf(*target.buffer()), "newer");
  ENGINE_EXPECT_OK(target.CheckIntact());

  MappedFile& itself = target;
  target = std::move(itself);
  EXPECT_EQ(target.path(), new_path);
  EXPECT_EQ(ContentOf(*target.buffer()), "newer");
  EXPECT_EQ(DescriptorsOf(new_path).size(), 1u);
  ENGINE_EXPECT_OK(target.CheckIntact());

  source = std::move(target);
  EXPECT_EQ(ContentOf(*source.buffer()), "newer");
}

// CheckIntact sees a changed size of the file that is mapped, and of that file only.

TEST_F(MappedFileTest, CheckIntactReportsTruncation) {
  const std::string path = folder_.Write("weights", Pattern(100));
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
  ASSERT_EQ(truncate(path.c_str(), 40), 0);
  EXPECT_THAT(file.CheckIntact(), StatusIs(StatusCode::kFailedPrecondition,
                                           "had 100 bytes when it was mapped and has 40"));
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  EXPECT_THAT(file.CheckIntact(), StatusIs(StatusCode::kFailedPrecondition, "has 0 now"));
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  ENGINE_EXPECT_OK(file.CheckIntact());
  EXPECT_EQ(file.size_bytes(), 100u);
}

TEST_F(MappedFileTest, CheckIntactReportsGrowth) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}}) {
    const std::string path = folder_.Write("weights", Pattern(size));
    ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
    std::ofstream(path, std::ios::binary | std::ios::app) << '!';
    EXPECT_THAT(file.CheckIntact(), StatusIs(StatusCode::kFailedPrecondition,
                                             ("and has " + std::to_string(size + 1)).c_str()));
    EXPECT_TRUE(ContentOf(*file.buffer()) == Pattern(size));
  }
}

TEST_F(MappedFileTest, ReplacingOrRemovingTheNameLeavesTheFileIntact) {
  const std::string path = folder_.Write("weights", "abcdef");
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
  const std::string other = folder_.Write("other", "longer than before");
  ASSERT_EQ(rename(other.c_str(), path.c_str()), 0);
  ENGINE_EXPECT_OK(file.CheckIntact());
  ASSERT_EQ(unlink(path.c_str()), 0);
  ENGINE_EXPECT_OK(file.CheckIntact());
  EXPECT_EQ(ContentOf(*file.buffer()), "abcdef");
}

// Programmer errors on a mapped file.
class MappedFileDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
  MemoryFile memory_file_{100};
};

TEST_F(MappedFileDeathTest, TheMappingCannotBeWritten) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(memory_file_.path()));
  // The kernel's signal ends it, so there is no message of ours to match.
  EXPECT_EXIT(*static_cast<volatile char*>(file.buffer()->data()) = 1, testing::kDiesOfFault, "");
}

TEST_F(MappedFileDeathTest, CheckIntactOfAMovedFromFile) {
  ENGINE_ASSERT_OK_AND_ASSIGN(MappedFile file, MappedFile::Open(memory_file_.path()));
  const MappedFile target = std::move(file);
  EXPECT_DEATH((void)file.CheckIntact(), "CheckIntact: this MappedFile was moved from");
}

}  // namespace
}  // namespace engine::memory
