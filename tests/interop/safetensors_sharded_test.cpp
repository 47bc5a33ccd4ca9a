// Clause: docs/design/safetensors.md, "Sharded checkpoints".
#include "interop/safetensors_sharded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "safetensors_test_util.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

// How many calls of fsync(2) succeed before they report a full disk.
namespace {
constexpr int kAllFsyncs = -1;
int fsyncs_to_succeed = kAllFsyncs;
int fsyncs_to_interrupt = 0;
}  // namespace

// Stands in for libc's in this program.
extern "C" int fsync(int file_descriptor) {
  if (fsyncs_to_interrupt > 0) {
    --fsyncs_to_interrupt;
    errno = EINTR;
    return -1;
  }
  if (fsyncs_to_succeed == 0) {
    errno = ENOSPC;
    return -1;
  }
  if (fsyncs_to_succeed > 0) --fsyncs_to_succeed;
  return static_cast<int>(syscall(SYS_fsync, file_descriptor));
}

namespace engine::safetensors {
namespace {

using ::engine::testing::Counting;
using ::engine::testing::StatusIs;
using ::engine::testing::ValuesOf;
using tensor::DataType;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kIndex[] = "model.safetensors.index.json";

// Five tensors of 16, 16, 40, 4 and 4 bytes, not in the order of their names.
std::vector<NamedTensor> FiveTensors() {
  return {{"e", Counting({4}, DataType::kInt32)},
          {"d", Counting({2}, DataType::kInt64)},
          {"c", Counting({10}, DataType::kFloat32)},
          {"b", Counting({}, DataType::kInt32)},
          {"a", *Counting({2, 2}, DataType::kUInt8).transpose(0, 1)}};
}

// The bytes that other readers see, names of files included.
TEST(SafetensorsShardedTest, LayoutOnDisk) {
  const TemporaryDirectory directory;
  const std::vector<NamedTensor> tensors = FiveTensors();
  ENGINE_ASSERT_OK(SaveSharded(directory.File(kIndex), tensors, 32, {{"format", "pt"}}));
  EXPECT_EQ(ReadFile(directory.File(kIndex)), R"({
  "metadata": {
    "total_size": 80
  },
  "weight_map": {
    "a": "model-00003-of-00003.safetensors",
    "b": "model-00003-of-00003.safetensors",
    "c": "model-00002-of-00003.safetensors",
    "d": "model-00001-of-00003.safetensors",
    "e": "model-00001-of-00003.safetensors"
  }
}
)");
  EXPECT_EQ(directory.Count(), 4);
  // Each is what Save writes.
  const std::string single = directory.File("single");
  ENGINE_ASSERT_OK(Save(single, std::span(tensors).first(2), {{"format", "pt"}}));
  EXPECT_EQ(ReadFile(directory.File("model-00001-of-00003.safetensors")), ReadFile(single));
}

TEST(SafetensorsShardedTest, ReadsBack) {
  const TemporaryDirectory directory;
  ENGINE_ASSERT_OK(SaveSharded(directory.File(kIndex), FiveTensors(), 32));
  ENGINE_ASSERT_OK_AND_ASSIGN(const ShardedFile model, ShardedFile::Open(directory.File(kIndex)));
  EXPECT_EQ(model.total_size(), 80U);
  ASSERT_THAT(model.shards(), SizeIs(3));
  EXPECT_EQ(model.shards()[1].name, "model-00002-of-00003.safetensors");
  ASSERT_THAT(model.tensors(), SizeIs(5));
  EXPECT_EQ(model.tensors()[0].name, "a");
  EXPECT_EQ(model.tensors()[0].shard, 2U);
  ASSERT_NE(model.Find("c"), nullptr);
  EXPECT_EQ(model.Find("c"), model.shards()[1].file.Find("c"));
  EXPECT_EQ(model.Find("f"), nullptr);
  EXPECT_EQ(model.Find(""), nullptr);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor a, model.Get("a"));
  EXPECT_THAT(ValuesOf<std::uint8_t>(a), ElementsAre(0, 2, 1, 3));
  EXPECT_TRUE(a.is_read_only());
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor d, model.GetAligned("d"));
  EXPECT_THAT(ValuesOf<std::int64_t>(d), ElementsAre(0, 1));
  EXPECT_THAT(model.Get("f"), StatusIs(core::StatusCode::kNotFound, "has no tensor 'f'"));
  EXPECT_THAT(model.GetAligned("f"), StatusIs(core::StatusCode::kNotFound));
}

// A tensor above the limit has a file of its own; so has every one when the limit is below all.
TEST(SafetensorsShardedTest, Limits) {
  const auto files = [](std::uint64_t limit) {
    const TemporaryDirectory directory;
    ENGINE_EXPECT_OK(SaveSharded(directory.File(kIndex), FiveTensors(), limit));
    const core::StatusOr<ShardedFile> model = ShardedFile::Open(directory.File(kIndex));
    ENGINE_EXPECT_OK(model);
    EXPECT_EQ(directory.Count(), std::ssize(model->shards()) + 1);
    return model->shards().size();
  };
  EXPECT_EQ(files(1), 5U);
  EXPECT_EQ(files(16), 4U);
  EXPECT_EQ(files(40), 3U);
  EXPECT_EQ(files(79), 2U);
  EXPECT_EQ(files(80), 1U);
  EXPECT_EQ(files(UINT64_MAX), 1U);
}

TEST(SafetensorsShardedTest, NoTensors) {
  const TemporaryDirectory directory;
  ENGINE_ASSERT_OK(SaveSharded(directory.File(kIndex), {}, 1));
  EXPECT_TRUE(std::filesystem::exists(directory.File("model-00001-of-00001.safetensors")));
  ENGINE_ASSERT_OK_AND_ASSIGN(const ShardedFile model, ShardedFile::Open(directory.File(kIndex)));
  EXPECT_THAT(model.tensors(), SizeIs(0));
}

// The checkpoint may be mapped, and the source of what replaces it.
TEST(SafetensorsShardedTest, ReplacesItself) {
  const TemporaryDirectory directory;
  ENGINE_ASSERT_OK(SaveSharded(directory.File(kIndex), FiveTensors(), 32));
  ENGINE_ASSERT_OK_AND_ASSIGN(const ShardedFile model, ShardedFile::Open(directory.File(kIndex)));
  std::vector<NamedTensor> again;
  for (const ShardedFile::Entry& entry : model.tensors()) {
    ENGINE_ASSERT_OK_AND_ASSIGN(Tensor tensor, model.Get(entry.name));
    again.push_back({entry.name, std::move(tensor)});
  }
  ENGINE_ASSERT_OK(SaveSharded(directory.File(kIndex), again, 40));
  ENGINE_ASSERT_OK_AND_ASSIGN(const ShardedFile after, ShardedFile::Open(directory.File(kIndex)));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor e, after.Get("e"));
  EXPECT_THAT(ValuesOf<std::int32_t>(e), ElementsAre(0, 1, 2, 3));
}

TEST(SafetensorsShardedTest, AFailureLeavesWhatWasThere) {
  const TemporaryDirectory directory;
  const std::string index = directory.File(kIndex);
  ENGINE_ASSERT_OK(SaveSharded(index, FiveTensors(), 80));
  const std::string before = ReadFile(directory.File("model-00001-of-00001.safetensors"));
  // The index cannot be made: its place is taken by a folder, found before any file moves.
  std::filesystem::remove(index);
  std::filesystem::create_directory(index);
  const std::vector<NamedTensor> other = {{"x", Counting({1}, DataType::kInt8)}};
  EXPECT_THAT(SaveSharded(index, other, 80),
              StatusIs(core::StatusCode::kInvalidArgument, "is a directory"));
  EXPECT_EQ(ReadFile(directory.File("model-00001-of-00001.safetensors")), before);
  EXPECT_EQ(directory.Count(), 2);
}

// A disk that turns out to be full when data is made durable: no file has moved by then.
TEST(SafetensorsShardedTest, AFailedFsyncLeavesWhatWasThere) {
  const TemporaryDirectory directory;
  const std::string index = directory.File(kIndex);
  ENGINE_ASSERT_OK(SaveSharded(index, FiveTensors(), 32));
  const std::string before = ReadFile(directory.File("model-00001-of-00003.safetensors"));
  std::vector<NamedTensor> other = FiveTensors();
  for (NamedTensor& named : other) named.name += '2';
  for (int succeed = 0; succeed < 4; ++succeed) {
    fsyncs_to_succeed = succeed;
    EXPECT_THAT(SaveSharded(index, other, 32), StatusIs(core::StatusCode::kInternal, "fsync"));
    EXPECT_EQ(ReadFile(directory.File("model-00001-of-00003.safetensors")), before) << succeed;
    EXPECT_EQ(directory.Count(), 4);
  }
  fsyncs_to_succeed = kAllFsyncs;
  ENGINE_EXPECT_OK(SaveSharded(index, other, 32));
  EXPECT_NE(ReadFile(directory.File("model-00001-of-00003.safetensors")), before);
}

// After a crash of the machine the index is new only where its files are: the folder is synced
// before the index takes its place, and after it.
TEST(SafetensorsShardedTest, TheFolderIsSyncedAroundTheIndex) {
  const TemporaryDirectory directory;
  const std::string index = directory.File(kIndex);
  ENGINE_ASSERT_OK(SaveSharded(index, FiveTensors(), 32));
  const std::string old_index = ReadFile(index);
  const std::string old_file = ReadFile(directory.File("model-00003-of-00003.safetensors"));
  std::vector<NamedTensor> other = FiveTensors();
  for (NamedTensor& named : other) named.name += '2';
  const auto save = [&](int succeed) {
    fsyncs_to_succeed = succeed;
    core::Status status = SaveSharded(index, other, 32);
    fsyncs_to_succeed = kAllFsyncs;
    return status;
  };
  // Three files and the index have been synced; the files have taken their places.
  EXPECT_THAT(save(4), StatusIs(core::StatusCode::kInternal, "fsync of the folder '"));
  EXPECT_NE(ReadFile(directory.File("model-00003-of-00003.safetensors")), old_file);
  EXPECT_EQ(ReadFile(index), old_index);
  EXPECT_THAT(save(5), StatusIs(core::StatusCode::kInternal, "fsync of the folder '"));
  EXPECT_NE(ReadFile(index), old_index);
  ENGINE_EXPECT_OK(save(6));
  EXPECT_EQ(directory.Count(), 4);
}

TEST(SafetensorsShardedTest, InterruptedFsyncsAreRepeated) {
  const TemporaryDirectory directory;
  fsyncs_to_interrupt = 2;
  ENGINE_EXPECT_OK(SaveSharded(directory.File(kIndex), FiveTensors(), 32));
  EXPECT_EQ(fsyncs_to_interrupt, 0);
}

// Large checkpoints have more files than a process may usually have open.
TEST(SafetensorsShardedTest, MoreFilesThanDescriptors) {
  const TemporaryDirectory directory;
  const std::vector<NamedTensor> tensors = [] {
    std::vector<NamedTensor> many;
    for (int i = 0; i < 100; ++i)
      many.push_back({std::to_string(i), Counting({1}, DataType::kInt8)});
    return many;
  }();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{64, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const core::Status status = SaveSharded(directory.File(kIndex), tensors, 1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ENGINE_EXPECT_OK(status);
  EXPECT_EQ(directory.Count(), 101);
}

TEST(SafetensorsShardedTest, WrongRequests) {
  const TemporaryDirectory directory;
  const auto refused = [&](const char* name, std::vector<NamedTensor> tensors, std::uint64_t limit,
                           const char* message) {
    EXPECT_THAT(SaveSharded(directory.File(name), tensors, limit),
                StatusIs(core::StatusCode::kInvalidArgument, message));
  };
  refused("model.index.json", {}, 1, "does not end in a name and .safetensors.index.json");
  refused(".safetensors.index.json", {}, 1, "does not end in a name and");
  refused(kIndex, {}, 0, "files of 0 bytes");
  refused("m\xFF.safetensors.index.json", {}, 1, "the name 'm\\xff' is not UTF-8");
  // What Open would refuse: "-00001-of-00001.safetensors" and 228 bytes make 255.
  refused("m\x01.safetensors.index.json", {}, 1,
          "'m\\x01-00001-of-00001.safetensors' has a control");
  refused("m\u202E.safetensors.index.json", {}, 1, "has a control character");
  refused((std::string(229, 'm') + ".safetensors.index.json").c_str(), {}, 1,
          "more than 255 bytes");
  const Tensor one = Counting({1}, DataType::kInt8);
  // In different files.
  refused(kIndex, {{"a", one}, {"a", one}}, 1, "two tensors are named 'a'");
  refused(kIndex, {{"a", one}, {"b", Tensor()}}, 1, "tensor 'b' is undefined");
  // Names of files have five digits.
  std::vector<NamedTensor> many;
  for (int i = 0; i < 100'000; ++i) many.push_back({std::to_string(i), one});
  refused(kIndex, many, 1, "100000 files of 1 bytes of data each, expected at most 99999");
  EXPECT_EQ(directory.Count(), 0);
}

// The longest names that SaveSharded takes are those that Open takes.
TEST(SafetensorsShardedTest, LongestName) {
  const TemporaryDirectory directory;
  const std::string index = directory.File(std::string(228, 'm') + ".safetensors.index.json");
  ENGINE_ASSERT_OK(SaveSharded(index, FiveTensors(), 32));
  ENGINE_EXPECT_OK(ShardedFile::Open(index));
}

TEST(SafetensorsShardedTest, OpenReportsTheFile) {
  const TemporaryDirectory directory;
  const std::string index = directory.File(kIndex);
  EXPECT_THAT(ShardedFile::Open(index), StatusIs(core::StatusCode::kNotFound, kIndex));
  WriteFile(index, R"({"weight_map":{"t":"f"}})");
  EXPECT_THAT(ShardedFile::Open(index), StatusIs(core::StatusCode::kNotFound, "/f'"));
  WriteFile(directory.File("f"), "short");
  EXPECT_THAT(ShardedFile::Open(index),
              StatusIs(core::StatusCode::kInvalidArgument, "/f': safetensors: 5 bytes"));
  const std::vector<NamedTensor> other = {{"u", Counting({1}, DataType::kInt8)}};
  ENGINE_ASSERT_OK(Save(directory.File("f"), other));
  EXPECT_THAT(ShardedFile::Open(index),
              StatusIs(core::StatusCode::kInvalidArgument, "tensor 't' is not in 'f'"));
  WriteFile(index, "{");
  EXPECT_THAT(ShardedFile::Open(index),
              StatusIs(core::StatusCode::kInvalidArgument, "index.json': safetensors: the index"));
}

// As in the cache of a model hub, where every file is a link to a blob elsewhere.
TEST(SafetensorsShardedTest, SymbolicLinks) {
  const TemporaryDirectory blobs;
  const TemporaryDirectory snapshot;
  ENGINE_ASSERT_OK(SaveSharded(blobs.File(kIndex), FiveTensors(), 80));
  std::filesystem::create_symlink(blobs.File(kIndex), snapshot.File(kIndex));
  const char shard[] = "model-00001-of-00001.safetensors";
  EXPECT_THAT(ShardedFile::Open(snapshot.File(kIndex)), StatusIs(core::StatusCode::kNotFound));
  std::filesystem::create_symlink(blobs.File(shard), snapshot.File(shard));
  ENGINE_EXPECT_OK(ShardedFile::Open(snapshot.File(kIndex)));
}

}  // namespace
}  // namespace engine::safetensors
