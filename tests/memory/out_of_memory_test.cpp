// Memory pressure in the memory module: operator new that fails, and an address space that is full.
// Nothing may throw, leak, or lose a deleter run.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "memory/mapped_file.h"
#include "memory/replacement_file.h"
#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "test_files.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"

namespace engine::memory {
namespace {

using core::Status;
using core::StatusCode;
using core::StatusOr;
using tensor::Device;
using testing::HeapAllocationsOnThisThread;
using testing::ScopedHeapFailure;

// Calls `attempt(successes)` with 0, 1, 2, ... allocations allowed, until none was refused; returns
// how many of the attempts met a refusal. `attempt` returns whether it did.
template <typename Attempt>
int FailEachAllocationInTurn(Attempt attempt) {
  int refused = 0;
  while (attempt(refused)) ++refused;
  return refused;
}

// CpuAllocator does not use operator new: bookkeeping cannot fail where the memory was there.
TEST(AllocatorHeapTest, AllocateNeedsNoOperatorNew) {
  CpuAllocator allocator;
  for (const std::size_t bytes : {0, 1, 1000}) {
    const std::int64_t before = HeapAllocationsOnThisThread();
    const StatusOr<Buffer> buffer = allocator.Allocate(bytes, 64);
    const StatusOr<Buffer> zeroed = allocator.AllocateZeroed(bytes, 64);
    const std::int64_t after = HeapAllocationsOnThisThread();
    EXPECT_TRUE(buffer.ok());
    EXPECT_TRUE(zeroed.ok());
    EXPECT_EQ(after, before);
  }
}

TEST(AllocatorHeapTest, RefusalsNeedNoOperatorNew) {
  CpuAllocator allocator;
  const std::int64_t before = HeapAllocationsOnThisThread();
  const StatusOr<Buffer> buffer = allocator.Allocate(SIZE_MAX, 64);
  const std::int64_t after = HeapAllocationsOnThisThread();
  EXPECT_EQ(buffer.status().code(), core::kOutOfMemory);
  EXPECT_EQ(buffer.status().message(), "");
  EXPECT_EQ(after, before);
}

TEST(AllocatorHeapTest, DefaultAllocatorNeedsNoOperatorNew) {
  const std::int64_t before = HeapAllocationsOnThisThread();
  Allocator* const allocator = DefaultCpuAllocator();
  const std::int64_t after = HeapAllocationsOnThisThread();
  EXPECT_NE(allocator, nullptr);
  EXPECT_EQ(after, before);
}

TEST(ShareBufferHeapTest, FailureIsOutOfMemoryAndRunsTheDeleterOnce) {
  int runs = 0;
  Buffer buffer(&runs, sizeof(runs), Device::Cpu(), [&runs](void*) { ++runs; });
  StatusCode code = StatusCode::kOk;
  bool triggered = false;
  {
    const ScopedHeapFailure failure;
    const StatusOr<std::shared_ptr<Buffer>> shared = ShareBuffer(std::move(buffer));
    code = shared.status().code();
    triggered = failure.triggered();
  }
  EXPECT_TRUE(triggered);
  EXPECT_EQ(code, core::kOutOfMemory);
  EXPECT_EQ(runs, 1);
}

TEST(ShareBufferHeapTest, EveryAllocationFailingInTurn) {
  int runs = 0;
  const int refused = FailEachAllocationInTurn([&runs](int successes) {
    runs = 0;
    // A deleter on the heap: moving it must not allocate again.
    const std::array<std::byte, 64> ballast{};
    Buffer buffer(&runs, sizeof(runs), Device::Cpu(),
                  [&runs, ballast](void*) { runs += 1 + static_cast<int>(ballast[0]); });
    Status status;
    bool triggered = false;
    {
      const ScopedHeapFailure failure(successes);
      status = ShareBuffer(std::move(buffer)).status();
      triggered = failure.triggered();
    }
    EXPECT_EQ(status.code(), triggered ? core::kOutOfMemory : StatusCode::kOk);
    EXPECT_EQ(runs, 1);
    return triggered;
  });
  EXPECT_EQ(refused, 1) << "the control block and the Buffer are one allocation";
}

class MappedFileHeapTest : public ::testing::Test {
 protected:
  // Opens `path` with each allocation failing in turn; `code` is expected when none fails.
  // Returns how many allocations there are to fail.
  int OpenUnderPressure(const std::string& path, StatusCode code_under_pressure, StatusCode code) {
    const std::size_t descriptors = OpenDescriptorCount();
    const int refused = FailEachAllocationInTurn([&](int successes) {
      std::string argument = path;
      Status status;
      bool triggered = false;
      {
        const ScopedHeapFailure failure(successes);
        status = MappedFile::Open(std::move(argument)).status();
        triggered = failure.triggered();
      }
      EXPECT_EQ(status.code(), triggered ? code_under_pressure : code) << successes;
      return triggered;
    });
    EXPECT_EQ(OpenDescriptorCount(), descriptors);
    EXPECT_EQ(MappingsOf(path), 0);
    return refused;
  }

  TempDirectory folder_;
};

TEST_F(MappedFileHeapTest, OpenIsOutOfMemoryAndLeavesNothingBehind) {
  const std::string path = folder_.Write("weights_with_a_name_of_some_length", "abcdef");
  EXPECT_EQ(OpenUnderPressure(path, core::kOutOfMemory, StatusCode::kOk), 1);
}

// Without exceptions the text of an error is the one allocation that may end the process.
#ifdef __cpp_exceptions

TEST_F(MappedFileHeapTest, ErrorsKeepTheirCode) {
  const std::string missing = folder_.Path("missing");
  EXPECT_GT(OpenUnderPressure(missing, StatusCode::kNotFound, StatusCode::kNotFound), 0);
  EXPECT_GT(OpenUnderPressure(folder_.Path(""), StatusCode::kInvalidArgument,
                              StatusCode::kInvalidArgument),
            0);
  const std::string too_long = "/" + std::string(5000, 'p');
  EXPECT_GT(OpenUnderPressure(too_long, StatusCode::kInvalidArgument, StatusCode::kInvalidArgument),
            0);
}

TEST_F(MappedFileHeapTest, CheckIntactKeepsItsCode) {
  const std::string path = folder_.Write("weights", "abcdef");
  ENGINE_ASSERT_OK_AND_ASSIGN(const MappedFile file, MappedFile::Open(path));
  ASSERT_EQ(truncate(path.c_str(), 2), 0);
  const int refused = FailEachAllocationInTurn([&file](int successes) {
    Status status;
    bool triggered = false;
    {
      const ScopedHeapFailure failure(successes);
      status = file.CheckIntact();
      triggered = failure.triggered();
    }
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    return triggered;
  });
  EXPECT_GT(refused, 0);
}

// A writer may be called where nothing catches: only Create throws.
TEST(ReplacementFileHeapTest, ErrorsKeepTheirCode) {
  const std::string path = "a_file_with_a_name_that_does_not_fit_a_short_string";
  ReplacementFile file("format", path);  // without Create, every system call is refused
  const int refused = FailEachAllocationInTurn([&](int successes) {
    Status append;
    Status commit;
    bool triggered = false;
    {
      const ScopedHeapFailure failure(successes);
      append = file.Append("x", 1);
      commit = file.Commit();
      triggered = failure.triggered();
    }
    EXPECT_EQ(append.code(), StatusCode::kInternal) << successes;
    EXPECT_EQ(commit.code(), StatusCode::kInternal) << successes;
    return triggered;
  });
  EXPECT_GT(refused, 1);
}

#endif  // __cpp_exceptions

// Sanitizers reserve terabytes of address space, which the limit below forbids; qemu's user-mode
// emulation ignores it. These two tests of one case are all that they leave out.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ENGINE_TEST_EMULATED)
#define ENGINE_TEST_WITHOUT_ADDRESS_LIMIT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define ENGINE_TEST_WITHOUT_ADDRESS_LIMIT 1
#endif
#endif

#ifndef ENGINE_TEST_WITHOUT_ADDRESS_LIMIT

constexpr std::size_t kOneGiB = std::size_t{1} << 30;

// Runs `body` in a child that may use 1 GiB of address space; returns its result, or -1 when it
// died.
int RunInOneGiB(const std::function<int()>& body) {
  const pid_t child = fork();
  ENGINE_CHECK(child >= 0);
  if (child == 0) {
    const rlimit limit{kOneGiB, kOneGiB};
    _exit(setrlimit(RLIMIT_AS, &limit) == 0 ? body() : 99);
  }
  int status = 0;
  ENGINE_CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// P50: the memory function reports its failure as a positive code and leaves the pointer undefined.
TEST(AddressSpaceLimitTest, AllocateIsOutOfMemory) {
  EXPECT_EQ(RunInOneGiB([] {
              const StatusOr<Buffer> four = DefaultCpuAllocator()->Allocate(4 * kOneGiB, 64);
              if (four.ok() || four.status().code() != core::kOutOfMemory) return 1;
              const StatusOr<Buffer> aligned = DefaultCpuAllocator()->Allocate(1, 4 * kOneGiB);
              if (aligned.ok() || aligned.status().code() != core::kOutOfMemory) return 2;
              return DefaultCpuAllocator()->Allocate(kOneGiB / 64, 64).ok() ? 0 : 3;
            }),
            0);
}

// P50: the same through a factory, which would write the memory next.
TEST(AddressSpaceLimitTest, ZerosIsOutOfMemory) {
  EXPECT_EQ(RunInOneGiB([] {
              const tensor::Shape shape{std::int64_t{1} << 30};
              const StatusOr<tensor::Tensor> four =
                  tensor::ops::zeros(shape, tensor::DataType::kFloat32);
              return four.status().code() == core::kOutOfMemory ? 0 : 1;
            }),
            0);
}

#endif  // ENGINE_TEST_WITHOUT_ADDRESS_LIMIT

}  // namespace
}  // namespace engine::memory
