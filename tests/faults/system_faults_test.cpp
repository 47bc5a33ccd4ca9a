// System calls that fail, each in turn. Clause: reading is an error with the right code and leaves no
// descriptor and no mapping; a failed save leaves the file of before, or none, under the final name,
// and nothing beside it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/status.h"
#include "interop/safetensors.h"
#include "interop/safetensors_sharded.h"
#include "memory/mapped_file.h"
#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "testing/status_matchers.h"
#include "testing/system_faults.h"

namespace engine {
namespace {

using core::Status;
using core::StatusCode;
using safetensors::NamedTensor;
using tensor::Tensor;
using testing::NameOf;
using testing::ScopedShortWrites;
using testing::ScopedSystemFault;
using testing::StatusIs;
using testing::SystemCall;

// A folder of the test's own, whose content can be compared with what was there before.
class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() : folder_(::testing::TempDir() + "engine_faults_XXXXXX") {
    ENGINE_CHECK(mkdtemp(folder_.data()) != nullptr);
  }
  ~FaultsTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::ptrdiff_t FileCount() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::ptrdiff_t OpenDescriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }
  static bool IsMapped(const std::string& path) {
    return Read("/proc/self/maps").find(path) != std::string::npos;
  }

 private:
  std::string folder_;
};

struct Fault {
  int error;
  StatusCode code;
};
constexpr Fault kReadingFaults[] = {{EIO, StatusCode::kInternal},
                                    {EACCES, StatusCode::kPermissionDenied},
                                    {ENOMEM, core::kOutOfMemory},
                                    {EMFILE, StatusCode::kInternal},
                                    {ENODEV, StatusCode::kInternal}};
constexpr Fault kWritingFaults[] = {{ENOSPC, StatusCode::kInternal},
                                    {EIO, StatusCode::kInternal},
                                    {EDQUOT, StatusCode::kInternal},
                                    {EROFS, StatusCode::kPermissionDenied}};

using MappedFileFaultsTest = FaultsTest;

TEST_F(MappedFileFaultsTest, EveryCallOfOpenFailing) {
  const std::string path = Path("weights");
  Write(path, "abcdef");
  const std::ptrdiff_t descriptors = OpenDescriptors();
  for (const SystemCall call : {SystemCall::kOpen, SystemCall::kFstat, SystemCall::kMmap}) {
    for (const Fault& fault : kReadingFaults) {
      Status status;
      bool triggered = false;
      {
        const ScopedSystemFault failing(call, fault.error);
        status = memory::MappedFile::Open(path).status();
        triggered = failing.triggered();
      }
      EXPECT_TRUE(triggered) << NameOf(call);
      EXPECT_THAT(status, StatusIs(fault.code)) << NameOf(call) << ' ' << fault.error;
      EXPECT_EQ(OpenDescriptors(), descriptors) << NameOf(call);
      EXPECT_FALSE(IsMapped(path)) << NameOf(call);
    }
  }
}

TEST_F(MappedFileFaultsTest, AnInterruptedOpenIsRepeated) {
  const std::string path = Path("weights");
  Write(path, "abcdef");
  const ScopedSystemFault interrupted(SystemCall::kOpen, EINTR, 0, 3);
  const auto file = memory::MappedFile::Open(path);
  EXPECT_TRUE(interrupted.triggered());
  ENGINE_EXPECT_OK(file);
}

TEST_F(MappedFileFaultsTest, CheckIntactThatCannotLook) {
  const std::string path = Path("weights");
  Write(path, "abcdef");
  ENGINE_ASSERT_OK_AND_ASSIGN(const memory::MappedFile file, memory::MappedFile::Open(path));
  Status status;
  {
    const ScopedSystemFault failing(SystemCall::kFstat, EIO);
    status = file.CheckIntact();
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kInternal, "fstat"));
  ENGINE_EXPECT_OK(file.CheckIntact());
}

class SaveFaultsTest : public FaultsTest {
 protected:
  SaveFaultsTest() {
    // Contiguous, strided and empty; larger than a page and than the writer's blocks.
    core::StatusOr<Tensor> rows = tensor::ops::arange(0, 120'000, 1, tensor::DataType::kFloat32);
    ENGINE_CHECK(rows.ok());
    core::StatusOr<Tensor> matrix = rows->reshape({300, 400});
    ENGINE_CHECK(matrix.ok());
    core::StatusOr<Tensor> columns = matrix->transpose(0, 1);
    core::StatusOr<Tensor> empty = tensor::ops::zeros({0, 3}, tensor::DataType::kInt8);
    ENGINE_CHECK(columns.ok() && empty.ok());
    tensors_ = {{"rows", *rows}, {"columns", *columns}, {"empty", *empty}};
    const auto bytes = safetensors::Serialize(tensors_);
    ENGINE_CHECK(bytes.ok());
    complete_.assign(static_cast<const char*>(bytes->data()), bytes->size_bytes());
  }

  // Saves with each call of that kind failing in turn, until all succeed. `before` is what is there
  // under the name; empty for nothing. Returns how many calls there were to fail.
  int FailEachCall(SystemCall call, const Fault& fault, const std::string& before) {
    const std::string path = Path("model.safetensors");
    const std::ptrdiff_t descriptors = OpenDescriptors();
    for (int successes = 0; successes < 1000; ++successes) {
      std::filesystem::remove(path);
      if (!before.empty()) Write(path, before);
      const std::ptrdiff_t files = FileCount();
      Status status;
      bool triggered = false;
      {
        const ScopedSystemFault failing(call, fault.error, successes);
        status = safetensors::Save(path, tensors_);
        triggered = failing.triggered();
      }
      EXPECT_EQ(OpenDescriptors(), descriptors);
      if (!triggered) {
        ENGINE_EXPECT_OK(status);
        EXPECT_EQ(Read(path) == complete_, true);
        return successes;
      }
      EXPECT_THAT(status, StatusIs(fault.code)) << NameOf(call) << ' ' << successes;
      EXPECT_EQ(Read(path) == before, true) << NameOf(call) << ' ' << successes;
      EXPECT_EQ(FileCount(), files) << NameOf(call) << ' ' << successes;
    }
    ADD_FAILURE() << NameOf(call) << " never stops failing";
    return -1;
  }

  std::vector<NamedTensor> tensors_;
  std::string complete_;
};

TEST_F(SaveFaultsTest, EveryCallFailingLeavesWhatWasThere) {
  for (const Fault& fault : kWritingFaults) {
    for (const std::string& before : {std::string(), std::string("the file of before")}) {
      EXPECT_EQ(FailEachCall(SystemCall::kOpen, fault, before), 1);
      EXPECT_GT(FailEachCall(SystemCall::kWrite, fault, before), 3);
      EXPECT_EQ(FailEachCall(SystemCall::kFsync, fault, before), 1);
      EXPECT_EQ(FailEachCall(SystemCall::kClose, fault, before), 1);
      EXPECT_EQ(FailEachCall(SystemCall::kRename, fault, before), 1);
      // The permissions of a file that is replaced are kept.
      EXPECT_EQ(FailEachCall(SystemCall::kFchmod, fault, before), before.empty() ? 0 : 1);
    }
  }
}

// Several files cannot take their places at once: those that have stay, the index comes last.
TEST_F(SaveFaultsTest, AShardedSaveWhoseLaterRenameFails) {
  constexpr std::uint64_t kShardBytes = 500'000;
  const std::string index = Path("model.safetensors.index.json");
  const std::string first = Path("model-00001-of-00002.safetensors");
  const std::string second = Path("model-00002-of-00002.safetensors");
  std::vector<NamedTensor> others = tensors_;
  for (NamedTensor& named : others) named.name += "_before";
  ENGINE_ASSERT_OK(safetensors::SaveSharded(index, others, kShardBytes));
  const std::string index_before = Read(index);
  const std::string first_before = Read(first);
  const std::string second_before = Read(second);
  ASSERT_EQ(FileCount(), 3);
  const std::ptrdiff_t descriptors = OpenDescriptors();
  Status status;
  {
    const ScopedSystemFault failing(SystemCall::kRename, EIO, /*successes=*/1);
    status = safetensors::SaveSharded(index, tensors_, kShardBytes);
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kInternal, "rename"));
  EXPECT_EQ(OpenDescriptors(), descriptors);
  EXPECT_EQ(FileCount(), 3);
  const std::string first_after = Read(first);
  EXPECT_EQ(first_after == first_before, false);
  EXPECT_EQ(Read(second) == second_before, true);
  EXPECT_EQ(Read(index), index_before);
  ENGINE_ASSERT_OK(safetensors::SaveSharded(index, tensors_, kShardBytes));
  EXPECT_EQ(Read(first) == first_after, true);
}

TEST_F(SaveFaultsTest, ShortWritesAreContinued) {
  const std::string path = Path("model.safetensors");
  for (const std::size_t most_bytes : {std::size_t{997}, std::size_t{4096}}) {
    Status status;
    std::int64_t count = 0;
    {
      const ScopedShortWrites short_writes(most_bytes);
      status = safetensors::Save(path, tensors_);
      count = short_writes.count();
    }
    ENGINE_EXPECT_OK(status);
    EXPECT_GT(count, 200);
    EXPECT_EQ(Read(path) == complete_, true);
    EXPECT_EQ(FileCount(), 1);
  }
}

TEST_F(SaveFaultsTest, AFullDiskAfterAShortWrite) {
  const std::string path = Path("model.safetensors");
  Write(path, "the file of before");
  Status status;
  {
    const ScopedShortWrites short_writes(4096);
    const ScopedSystemFault full(SystemCall::kWrite, ENOSPC, 7);
    status = safetensors::Save(path, tensors_);
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kInternal, "No space left on device"));
  EXPECT_EQ(Read(path), "the file of before");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(SaveFaultsTest, InterruptedCallsAreRepeated) {
  const std::string path = Path("model.safetensors");
  for (const SystemCall call : {SystemCall::kOpen, SystemCall::kWrite, SystemCall::kFsync}) {
    Status status;
    bool triggered = false;
    {
      const ScopedSystemFault interrupted(call, EINTR, 0, 5);
      status = safetensors::Save(path, tensors_);
      triggered = interrupted.triggered();
    }
    EXPECT_TRUE(triggered) << NameOf(call);
    ENGINE_EXPECT_OK(status) << NameOf(call);
    EXPECT_EQ(Read(path) == complete_, true) << NameOf(call);
  }
}

}  // namespace
}  // namespace engine
