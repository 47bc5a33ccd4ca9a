// Allocators that fail. Clause: every function that takes an Allocator asks it and nobody else for
// storage; when any of its requests is refused, the result is kOutOfMemory, what was there stays as
// it was, and what had been allocated is freed. And none writes outside of what it was given.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/status.h"
#include "dense/dense_tensor.h"
#include "dense/generated.h"
#include "dense/operations.h"
#include "dense/output.h"
#include "dense/reshape.h"
#include "governed/governed_tensor.h"
#include "interop/interop_test_util.h"
#include "interop/safetensors.h"
#include "interop/safetensors_sharded.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/dtype.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "testing/allocators.h"
#include "testing/redzone_allocator.h"
#include "testing/status_matchers.h"
#include "testing/tensors.h"
#include "wire/tensor_message.h"

namespace engine {
namespace {

using core::Status;
using dense::DenseMatrix;
using governed::GovernedTensor;
using memory::Allocator;
using tensor::DataType;
using tensor::Tensor;
using wire::TensorMessage;

// What the calls work on, and all of its bytes, to see that a failed call changed none.
struct Subjects {
  Subjects() {
    turned = *testing::Counting({3, 5}, DataType::kFloat32).transpose(0, 1);
    parent = *GovernedTensor<float>::FromTensor(turned);
    sibling = parent;
    ENGINE_CHECK(message.create(24).ok());
    std::memset(message.mutable_data(), 7, 24);
    quantized = *TensorMessage::FromTensor(testing::Counting({4, 4}, DataType::kUInt8));
    quantized.set_quant_scale(0.5f);
    // One byte before the floats puts them at an odd address.
    std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("odd":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
    header.append((8 - header.size() % 8) % 8, ' ');
    bytes.assign(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    bytes += header + "abcdefghi";
    file = *safetensors::File::FromBuffer(testing::BorrowStorage(bytes.data(), bytes.size()));
    interop_testing::WriteFile(directory.File("one.safetensors"), bytes);
    interop_testing::WriteFile(directory.File("model.safetensors.index.json"),
                               R"({"weight_map":{"a":"one.safetensors","odd":"one.safetensors"}})");
    sharded = *safetensors::ShardedFile::Open(directory.File("model.safetensors.index.json"));
  }

  [[nodiscard]] std::vector<std::uint64_t> State() const {
    std::vector<std::uint64_t> state = testing::BitsOf(turned);
    const auto add = [&state](const void* data, std::size_t size_bytes) {
      const auto* const begin = static_cast<const unsigned char*>(data);
      state.push_back(reinterpret_cast<std::uintptr_t>(data));
      state.insert(state.end(), begin, begin + size_bytes);
    };
    add(parent.data(), 15 * sizeof(float));
    add(sibling.data(), 15 * sizeof(float));
    add(message.data(), message.size());
    add(quantized.data(), quantized.size());
    add(matrix.data(), 6 * sizeof(float));
    state.push_back(static_cast<std::uint64_t>(matrix.extents()[0]));
    return state;
  }

  Tensor turned;
  GovernedTensor<float> parent;
  GovernedTensor<float> sibling;
  TensorMessage message;
  TensorMessage quantized;
  std::string bytes;
  std::optional<safetensors::File> file;
  interop_testing::TemporaryDirectory directory;
  std::optional<safetensors::ShardedFile> sharded;
  DenseMatrix<float> matrix = *DenseMatrix<float>::CopyOf(dense::FullTensor<float, 2>(9, {3, 2}));
};

// Runs the call and drops its result.
using Call = std::function<Status(Subjects&, Allocator*)>;
struct Case {
  const char* name;
  Call call;
};

const Case kCases[] = {
    {"Empty",
     [](Subjects&, Allocator* a) {
       return Tensor::empty({2, 3}, DataType::kFloat32, tensor::Device::Cpu(), a).status();
     }},
    {"Zeros",
     [](Subjects&, Allocator* a) {
       return tensor::ops::zeros({2, 3}, DataType::kInt8, tensor::Device::Cpu(), a).status();
     }},
    {"Ones",
     [](Subjects&, Allocator* a) {
       return tensor::ops::ones({7}, DataType::kFloat16, tensor::Device::Cpu(), a).status();
     }},
    {"Full",
     [](Subjects&, Allocator* a) {
       return tensor::ops::full({3, 1}, 5, DataType::kInt64, tensor::Device::Cpu(), a).status();
     }},
    {"Arange",
     [](Subjects&, Allocator* a) {
       return tensor::ops::arange(0, 9, 2, DataType::kFloat64, tensor::Device::Cpu(), a).status();
     }},
    {"CastToHalf",
     [](Subjects& s, Allocator* a) {
       return tensor::ops::cast(s.turned, DataType::kFloat16, a).status();
     }},
    {"CastToInteger",
     [](Subjects& s, Allocator* a) {
       return tensor::ops::cast(s.turned, DataType::kUInt8, a).status();
     }},
    {"CastToTheSame",
     [](Subjects& s, Allocator* a) {
       return tensor::ops::cast(s.turned, DataType::kFloat32, a).status();
     }},
    {"GovernedAlloc",
     [](Subjects&, Allocator* a) {
       return GovernedTensor<float>::Alloc({3, 3}, a).status();
     }},
    {"GovernedFromTensor",
     [](Subjects& s, Allocator* a) {
       return GovernedTensor<float>::FromTensor(s.turned, a).status();
     }},
    {"GovernedSet",
     [](Subjects& s, Allocator* a) {
       return s.parent.Set({4, 2}, 50, a);
     }},
    {"GovernedMaterialize", [](Subjects& s, Allocator* a) { return s.parent.Materialize(a); }},
    {"GovernedMutableData",
     [](Subjects& s, Allocator* a) { return s.parent.mutable_data(a).status(); }},
    {"MessageCreate", [](Subjects& s, Allocator* a) { return s.message.create(25, a); }},
    {"MessageDeepCopy",
     [](Subjects& s, Allocator* a) { return s.message.deep_copy(s.quantized, a); }},
    {"MessageDeepCopyOfBytes",
     [](Subjects& s, Allocator* a) {
       const std::uint8_t data[9] = {1, 2, 3};
       return s.message.deep_copy(data, sizeof(data), a);
     }},
    {"MessageClone", [](Subjects& s, Allocator* a) { return s.message.Clone(a).status(); }},
    {"MessageEncodeToBuffer",
     [](Subjects& s, Allocator* a) { return s.message.EncodeToBuffer(a).status(); }},
    {"MessageDequantize",
     [](Subjects& s, Allocator* a) { return s.quantized.Dequantize(a).status(); }},
    {"MessageFromTensor",
     [](Subjects& s, Allocator* a) {
       return TensorMessage::FromTensor(s.turned, TensorMessage::Packing::kPack, a).status();
     }},
    {"DenseZeros",
     [](Subjects&, Allocator* a) {
       return DenseMatrix<float>::Create({3, 2}, a).status();
     }},
    {"DenseUninitialized",
     [](Subjects&, Allocator* a) {
       return DenseMatrix<float>::Create(dense::uninitialized, {3, 2}, a).status();
     }},
    {"DenseStrided",
     [](Subjects&, Allocator* a) {
       return DenseMatrix<float, dense::Strided>::Create({3, 2}, {1, 4}, a).status();
     }},
    {"DenseClone", [](Subjects& s, Allocator* a) { return s.matrix.Clone(a).status(); }},
    {"DenseFromTensor",
     [](Subjects& s, Allocator* a) {
       return DenseMatrix<float>::FromTensor(s.turned, a).status();
     }},
    {"DenseResetShape",
     [](Subjects& s, Allocator* a) {
       return s.matrix.reset_shape({7, 2}, a);
     }},
    {"DenseReplace",
     [](Subjects& s, Allocator* a) {
       return s.matrix.replace(dense::uninitialized, {7, 2}, a);
     }},
    {"DensePrepareOutput",
     [](Subjects& s, Allocator* a) {
       return dense::prepare_output(s.matrix, dense::Extents<2>{7, 2}, a);
     }},
    {"DenseMakeTensor",
     [](Subjects&, Allocator* a) {
       return dense::make_tensor(dense::eye<float>(3, 4), a).status();
     }},
    {"DenseOtherLayout",
     [](Subjects& s, Allocator* a) {
       return dense::make_tensor<dense::ColumnMajor>(s.matrix, a).status();
     }},
    {"DenseCast",
     [](Subjects& s, Allocator* a) { return dense::cast<std::int16_t>(s.matrix, a).status(); }},
    {"DenseReshape",
     [](Subjects& s, Allocator* a) {
       return dense::reshape(s.matrix, {2, 3}, a).status();
     }},
    {"SafetensorsGetAligned",
     [](Subjects& s, Allocator* a) { return s.file->GetAligned("odd", a).status(); }},
    {"ShardedGetAligned",
     [](Subjects& s, Allocator* a) { return s.sharded->GetAligned("odd", a).status(); }},
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class AllocatorFaultsTest : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Calls, AllocatorFaultsTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST_P(AllocatorFaultsTest, EachRequestRefusedInTurn) {
  int refused = 0;
  for (;; ++refused) {
    ASSERT_LT(refused, 10);
    Subjects subjects;
    const std::vector<std::uint64_t> before = subjects.State();
    testing::CountingAllocator allocator(refused);
    const Status status = GetParam().call(subjects, &allocator);
    if (status.ok()) {
      EXPECT_EQ(allocator.counts()->allocations, refused) << "storage from elsewhere";
      break;
    }
    EXPECT_EQ(status.code(), core::kOutOfMemory) << status.ToString();
    EXPECT_EQ(subjects.State(), before);
    EXPECT_EQ(allocator.counts()->deletions, allocator.counts()->allocations);
  }
  EXPECT_EQ(refused, 1) << "one piece of storage each";
}

TEST_P(AllocatorFaultsTest, WritesOnlyWhatItWasGiven) {
  testing::RedzoneAllocator allocator;
  {
    Subjects subjects;
    ENGINE_EXPECT_OK(GetParam().call(subjects, &allocator));
    allocator.CheckIntact();
  }
  EXPECT_EQ(allocator.live_buffers(), 0);
}

}  // namespace
}  // namespace engine
