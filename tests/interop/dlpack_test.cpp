// Clause: docs/design/dlpack.md.
#include "interop/dlpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "interop/dlpack_abi.h"
#include "tensor/ops.h"
#include "testing/death_test_style.h"
#include "testing/heap.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"

namespace engine::dlpack {
namespace {

using ::engine::testing::Counting;
using ::engine::testing::StatusIs;
using ::engine::testing::ValuesOf;
using tensor::DataType;
using tensor::Device;
using tensor::Shape;
using tensor::Strides;
using tensor::Tensor;
using ::testing::ElementsAre;

// A producer whose structure may say anything. It counts the calls of its deleter, which must come
// for the structure that was lent.
template <typename Managed>
class Producer {
 public:
  explicit Producer(std::vector<std::int64_t> dims, std::vector<std::int64_t> strides = {})
      : dims_(std::move(dims)), strides_(std::move(strides)) {
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) {
      auto* const producer = static_cast<Producer*>(self->manager_ctx);
      EXPECT_EQ(self, &producer->managed);
      ++producer->deletions;
    };
    DLTensor& tensor = managed.dl_tensor;
    tensor.data = values.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<std::int32_t>(dims_.size());
    tensor.dtype = {kDLInt, 32, 1};
    tensor.shape = dims_.empty() ? nullptr : dims_.data();
    tensor.strides = strides_.empty() ? nullptr : strides_.data();
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.version = {1, 1};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  std::unique_ptr<Managed, Release> Lend() { return std::unique_ptr<Managed, Release>(&managed); }

  Managed managed = {};
  std::array<std::int32_t, 24> values = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                         12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
  int deletions = 0;

 private:
  std::vector<std::int64_t> dims_;
  std::vector<std::int64_t> strides_;
};

using Versioned = Producer<DLManagedTensorVersioned>;
using Unversioned = Producer<DLManagedTensor>;

struct Code {
  DataType dtype;
  std::uint8_t code;
  std::uint8_t bits;
};

// Codes by number, as published.
constexpr std::array<Code, 13> kCodes = {{
    {DataType::kInt8, 0, 8},
    {DataType::kInt16, 0, 16},
    {DataType::kInt32, 0, 32},
    {DataType::kInt64, 0, 64},
    {DataType::kUInt8, 1, 8},
    {DataType::kUInt16, 1, 16},
    {DataType::kUInt32, 1, 32},
    {DataType::kUInt64, 1, 64},
    {DataType::kFloat16, 2, 16},
    {DataType::kFloat32, 2, 32},
    {DataType::kFloat64, 2, 64},
    {DataType::kBFloat16, 4, 16},
    {DataType::kBool, 6, 8},
}};

TEST(DLPackExportTest, EveryField) {
  const Tensor base = Counting({4, 6}, DataType::kInt32);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor part, base.slice(1, 2, 5));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor view, part.transpose(0, 1));
  ENGINE_ASSERT_OK_AND_ASSIGN(const VersionedHandle handle, Export(view));
  EXPECT_EQ(handle->version.major, 1U);
  EXPECT_EQ(handle->version.minor, 0U);
  EXPECT_EQ(handle->flags, 0U);
  const DLTensor& lent = handle->dl_tensor;
  EXPECT_EQ(lent.data, static_cast<std::byte*>(base.data()) + 8);
  EXPECT_EQ(lent.byte_offset, 0U);
  EXPECT_EQ(lent.device.device_type, 1);
  EXPECT_EQ(lent.device.device_id, 0);
  ASSERT_EQ(lent.ndim, 2);
  EXPECT_EQ(std::vector(lent.shape, lent.shape + 2), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(std::vector(lent.strides, lent.strides + 2), (std::vector<std::int64_t>{1, 6}));
  EXPECT_EQ(lent.dtype.lanes, 1);
}

TEST(DLPackExportTest, DTypes) {
  for (const Code& code : kCodes) {
    SCOPED_TRACE(std::string(tensor::to_string(code.dtype)));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, tensor::ops::zeros({2}, code.dtype));
    ENGINE_ASSERT_OK_AND_ASSIGN(VersionedHandle handle, Export(tensor));
    EXPECT_EQ(handle->dl_tensor.dtype.code, code.code);
    EXPECT_EQ(handle->dl_tensor.dtype.bits, code.bits);
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor back, Import(std::move(handle)));
    EXPECT_EQ(back.dtype(), code.dtype);
    EXPECT_EQ(back.data(), tensor.data());
  }
}

// Storage that counts its deleter; the loan keeps it, whoever lets go last.
TEST(DLPackExportTest, KeepsTheStorageUntilReleased) {
  int deletions = 0;
  std::int32_t values[3] = {1, 2, 3};
  const auto export_one = [&](bool read_only) {
    const auto buffer = std::make_shared<memory::Buffer>(
        values, sizeof(values), Device::Cpu(), [&deletions](void*) { ++deletions; }, read_only);
    const Tensor tensor = *Tensor::from_buffer(buffer, 0, {3}, DataType::kInt32);
    return Export(tensor);
  };
  ENGINE_ASSERT_OK_AND_ASSIGN(VersionedHandle handle, export_one(false));
  EXPECT_EQ(handle->flags, 0U);
  EXPECT_EQ(deletions, 0);
  // A consumer in C, on another thread.
  DLManagedTensorVersioned* const raw = handle.release();
  std::thread([raw] { raw->deleter(raw); }).join();
  EXPECT_EQ(deletions, 1);

  ENGINE_ASSERT_OK_AND_ASSIGN(handle, export_one(true));
  EXPECT_EQ(handle->flags, 1U);
  handle.reset();
  EXPECT_EQ(deletions, 2);
}

TEST(DLPackExportTest, ScalarsAndEmpties) {
  ENGINE_ASSERT_OK_AND_ASSIGN(VersionedHandle scalar, Export(Counting({}, DataType::kInt16)));
  EXPECT_EQ(scalar->dl_tensor.ndim, 0);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor scalar_back, Import(std::move(scalar)));
  EXPECT_EQ(scalar_back.shape(), Shape{});
  EXPECT_THAT(ValuesOf<std::int16_t>(scalar_back), ElementsAre(0));
  ENGINE_ASSERT_OK_AND_ASSIGN(VersionedHandle empty, Export(Counting({0, 3}, DataType::kInt16)));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor empty_back, Import(std::move(empty)));
  EXPECT_EQ(empty_back.shape(), Shape({0, 3}));
  // As in a checkpoint behind a tensor of one byte: no element, so nothing to be aligned.
  char bytes[4] = {};
  const auto buffer =
      std::make_shared<memory::Buffer>(bytes, sizeof(bytes), Device::Cpu(), [](void*) {});
  for (const std::size_t offset : {0U, 1U}) {
    const Tensor none = *Tensor::from_buffer(buffer, offset, {0}, DataType::kFloat32);
    ENGINE_ASSERT_OK_AND_ASSIGN(const VersionedHandle handle, Export(none));
    EXPECT_EQ(handle->dl_tensor.data, nullptr);
  }
}

TEST(DLPackExportTest, Refusals) {
  EXPECT_THAT(Export(Tensor()), StatusIs(core::StatusCode::kInvalidArgument, "undefined"));
  EXPECT_THAT(ExportUnversioned(Tensor()), StatusIs(core::StatusCode::kInvalidArgument));
  alignas(8) char bytes[16] = {};
  const auto buffer_on = [&](Device device, bool read_only) {
    return std::make_shared<memory::Buffer>(
        bytes, 16, device, [](void*) {}, read_only);
  };
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor cuda,
      Tensor::from_buffer(buffer_on(Device::Cuda(0), false), 0, {1}, DataType::kFloat32));
  EXPECT_THAT(Export(cuda), StatusIs(core::StatusCode::kUnimplemented, "is on cuda:0"));
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor misaligned,
      Tensor::from_buffer(buffer_on(Device::Cpu(), false), 1, {3}, DataType::kFloat32));
  EXPECT_THAT(Export(misaligned),
              StatusIs(core::StatusCode::kInvalidArgument, "not a multiple of 4 bytes"));
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor read_only,
      Tensor::from_buffer(buffer_on(Device::Cpu(), true), 0, {3}, DataType::kFloat32));
  ENGINE_EXPECT_OK(Export(read_only));
  EXPECT_THAT(ExportUnversioned(read_only),
              StatusIs(core::StatusCode::kInvalidArgument, "only the versioned form"));
}

// P76: the offset is part of the address; strides are the producer's.
TEST(DLPackImportTest, OffsetAndStrides) {
  Versioned producer({2, 3}, {8, 2});
  producer.managed.dl_tensor.byte_offset = 12;
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(Tensor tensor, Import(producer.Lend()));
    EXPECT_EQ(tensor.data(), &producer.values[3]);
    EXPECT_EQ(tensor.shape(), Shape({2, 3}));
    EXPECT_EQ(tensor.strides(), Strides({8, 2}));
    EXPECT_EQ(tensor.buffer()->size_bytes(), 13U * 4U);  // to the end of the last element
    EXPECT_FALSE(tensor.is_read_only());
    EXPECT_THAT(ValuesOf<std::int32_t>(tensor), ElementsAre(3, 5, 7, 11, 13, 15));
    ENGINE_ASSERT_OK(tensor::ops::fill(tensor, -1));
    EXPECT_EQ(producer.values[15], -1);
    EXPECT_EQ(producer.values[14], 14);
    // A view keeps the loan.
    ENGINE_ASSERT_OK_AND_ASSIGN(tensor, tensor.select(0, 1));
    EXPECT_EQ(producer.deletions, 0);
  }
  EXPECT_EQ(producer.deletions, 1);
}

TEST(DLPackImportTest, Unversioned) {
  Unversioned producer({2, 3});
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, Import(producer.Lend()));
    EXPECT_THAT(ValuesOf<std::int32_t>(tensor), ElementsAre(0, 1, 2, 3, 4, 5));
    // On to a consumer of the same kind, and back.
    ENGINE_ASSERT_OK_AND_ASSIGN(UnversionedHandle handle, ExportUnversioned(tensor));
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor again, Import(std::move(handle)));
    EXPECT_EQ(again.data(), producer.values.data());
  }
  EXPECT_EQ(producer.deletions, 1);
}

TEST(DLPackImportTest, ReadOnlyIsKeptBothWays) {
  Versioned producer({4});
  producer.managed.flags = 1 | 2 | (std::uint64_t{1} << 40);  // and flags that mean nothing here
  {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, Import(producer.Lend()));
    EXPECT_TRUE(tensor.is_read_only());
    EXPECT_THAT(tensor::ops::fill(tensor, 0), StatusIs(core::StatusCode::kInvalidArgument));
    ENGINE_ASSERT_OK_AND_ASSIGN(const VersionedHandle handle, Export(tensor));
    EXPECT_EQ(handle->flags, 1U);
  }
  EXPECT_EQ(producer.deletions, 1);
}

TEST(DLPackImportTest, AProducerWithoutADeleter) {
  Versioned producer({4});
  producer.managed.deleter = nullptr;
  ENGINE_EXPECT_OK(Import(producer.Lend()));
  EXPECT_EQ(producer.deletions, 0);
}

// Only item-aligned, or not even that, is accepted; numpy and others promise no more.
TEST(DLPackImportTest, Misaligned) {
  Versioned producer({3});
  producer.managed.dl_tensor.byte_offset = 1;
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, Import(producer.Lend()));
  EXPECT_FALSE(tensor.is_aligned());
  std::int32_t expected = 0;
  std::memcpy(&expected, reinterpret_cast<const char*>(producer.values.data()) + 5, 4);
  EXPECT_EQ(tensor.item<std::int32_t>({1}), expected);
}

// Where nothing is walked, strides may say anything.
TEST(DLPackImportTest, StridesThatDoNotMatter) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t odd : {std::int64_t{0}, std::int64_t{-7}, kMin}) {
    Versioned unit({1, 3, 1}, {odd, 1, odd});
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, Import(unit.Lend()));
    EXPECT_TRUE(tensor.is_contiguous());
    EXPECT_THAT(ValuesOf<std::int32_t>(tensor), ElementsAre(0, 1, 2));
    Versioned empty({2, 0}, {odd, odd});
    empty.managed.dl_tensor.data = nullptr;
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor none, Import(empty.Lend()));
    EXPECT_EQ(none.numel(), 0);
  }
}

// A change to the producer's structure that Import refuses.
struct Refusal {
  const char* name;
  core::StatusCode code;
  const char* message;
  void (*change)(Versioned&);
};

constexpr core::StatusCode kInvalid = core::StatusCode::kInvalidArgument;
constexpr core::StatusCode kUnimplemented = core::StatusCode::kUnimplemented;

const Refusal kRefusals[] = {
    {"Major0", kInvalid, "version 0.9",
     [](Versioned& p) {
       p.managed.version = {0, 9};
     }},
    {"Major2", kInvalid, "version 2.0, expected 1.x",
     [](Versioned& p) {
       p.managed.version = {2, 0};
       // The rest of a foreign version is not looked at.
       p.managed.dl_tensor.ndim = 3;
       p.managed.dl_tensor.shape = reinterpret_cast<std::int64_t*>(8);
     }},
    {"Cuda", kUnimplemented, "device type 2",
     [](Versioned& p) {
       p.managed.dl_tensor.device = {kDLCUDA, 0};
     }},
    {"PinnedHost", kUnimplemented, "device type 3",
     [](Versioned& p) {
       p.managed.dl_tensor.device = {kDLCUDAHost, 0};
     }},
    {"NoDevice", kUnimplemented, "device type -1",
     [](Versioned& p) { p.managed.dl_tensor.device.device_type = static_cast<DLDeviceType>(-1); }},
    {"Lanes4", kUnimplemented, "4 lanes",
     [](Versioned& p) { p.managed.dl_tensor.dtype.lanes = 4; }},
    {"Lanes0", kUnimplemented, "0 lanes",
     [](Versioned& p) { p.managed.dl_tensor.dtype.lanes = 0; }},
    {"Bits24", kUnimplemented, "24 bits",
     [](Versioned& p) { p.managed.dl_tensor.dtype.bits = 24; }},
    {"Int4", kUnimplemented, "4 bits", [](Versioned& p) { p.managed.dl_tensor.dtype.bits = 4; }},
    {"Complex", kUnimplemented, "type code 5",
     [](Versioned& p) {
       p.managed.dl_tensor.dtype = {kDLComplex, 64, 1};
     }},
    {"Float8", kUnimplemented, "type code 10",
     [](Versioned& p) {
       p.managed.dl_tensor.dtype = {10, 8, 1};
     }},
    {"BitBool", kUnimplemented, "1 bits",
     [](Versioned& p) {
       p.managed.dl_tensor.dtype = {kDLBool, 1, 1};
     }},
    {"RankNegative", kInvalid, "rank -1", [](Versioned& p) { p.managed.dl_tensor.ndim = -1; }},
    {"Rank9", kInvalid, "rank 9", [](Versioned& p) { p.managed.dl_tensor.ndim = 9; }},
    {"RankHuge", kInvalid, "rank 2147483647",
     [](Versioned& p) { p.managed.dl_tensor.ndim = std::numeric_limits<std::int32_t>::max(); }},
    {"NoExtents", kInvalid, "without extents",
     [](Versioned& p) { p.managed.dl_tensor.shape = nullptr; }},
    // P28.
    {"NegativeExtents", kInvalid, "is negative",
     [](Versioned& p) { p.managed.dl_tensor.shape[0] = p.managed.dl_tensor.shape[1] = -2; }},
    // P25.
    {"ProductOverflows", kInvalid, "overflows int64_t",
     [](Versioned& p) { p.managed.dl_tensor.shape[0] = std::int64_t{1} << 62; }},
    // P27.
    {"BytesOverflow", kInvalid, "does not fit the address space",
     [](Versioned& p) {
       p.managed.dl_tensor.shape[0] = std::int64_t{1} << 60;
       p.managed.dl_tensor.strides = nullptr;
     }},
    {"StrideZero", kInvalid, "stride 0 of axis 0",
     [](Versioned& p) { p.managed.dl_tensor.strides[0] = 0; }},
    {"StrideNegative", kInvalid, "stride -1 of axis 1",
     [](Versioned& p) { p.managed.dl_tensor.strides[1] = -1; }},
    {"StrideOverflows", kInvalid, "does not fit the address space",
     [](Versioned& p) {
       p.managed.dl_tensor.strides[0] = std::numeric_limits<std::int64_t>::max();
     }},
    {"NullData", kInvalid, "null data", [](Versioned& p) { p.managed.dl_tensor.data = nullptr; }},
    {"NullDataWithOffset", kInvalid, "null data",
     [](Versioned& p) {
       p.managed.dl_tensor.data = nullptr;
       p.managed.dl_tensor.byte_offset = 64;
     }},
    // P72.
    {"OffsetWraps", kInvalid, "does not fit the address space",
     [](Versioned& p) { p.managed.dl_tensor.byte_offset = UINT64_MAX - 3; }},
    {"EndWraps", kInvalid, "does not fit the address space",
     [](Versioned& p) { p.managed.dl_tensor.data = reinterpret_cast<void*>(UINTPTR_MAX - 7); }},
};

TEST(DLPackRefusalTest, TheDeleterRunsOnce) {
  for (const Refusal& refusal : kRefusals) {
    SCOPED_TRACE(refusal.name);
    Versioned producer({2, 3}, {3, 1});
    refusal.change(producer);
    EXPECT_THAT(Import(producer.Lend()), StatusIs(refusal.code, refusal.message));
    EXPECT_EQ(producer.deletions, 1);
  }
}

#ifdef __cpp_exceptions

// Each allocation fails in turn.
TEST(DLPackOutOfMemoryTest, TheDeleterRunsOnce) {
  bool imported = false;
  for (std::int64_t successes = 0; !imported; ++successes) {
    ASSERT_LT(successes, 10);
    Versioned producer({2, 3});
    {
      const testing::ScopedHeapFailure failure(successes);
      const core::StatusOr<Tensor> tensor = Import(producer.Lend());
      imported = tensor.ok();
      EXPECT_TRUE(imported || core::IsOutOfMemory(tensor.status()));
      EXPECT_EQ(producer.deletions, imported ? 0 : 1);
    }
    EXPECT_EQ(producer.deletions, 1);
  }
}

TEST(DLPackOutOfMemoryTest, Export) {
  const Tensor tensor = Counting({2}, DataType::kInt8);
  const testing::ScopedHeapFailure failure(0);
  EXPECT_TRUE(core::IsOutOfMemory(Export(tensor).status()));
  EXPECT_TRUE(core::IsOutOfMemory(ExportUnversioned(tensor).status()));
}

#endif  // __cpp_exceptions

TEST(DLPackHeapTest, OneAllocationEachWay) {
  const Tensor tensor = Counting({2}, DataType::kInt8);
  const std::int64_t before = testing::HeapAllocationsOnThisThread();
  core::StatusOr<VersionedHandle> handle = Export(tensor);
  EXPECT_EQ(testing::HeapAllocationsOnThisThread(), before + 1);
  const core::StatusOr<Tensor> back = Import(*std::move(handle));
  EXPECT_EQ(testing::HeapAllocationsOnThisThread(), before + 2);
  ENGINE_EXPECT_OK(back);
}

class DLPackDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(DLPackDeathTest, NullHandles) {
  EXPECT_DEATH(static_cast<void>(Import(VersionedHandle())), "Import of a null handle");
  EXPECT_DEATH(static_cast<void>(Import(UnversionedHandle())), "Import of a null handle");
}

}  // namespace
}  // namespace engine::dlpack
