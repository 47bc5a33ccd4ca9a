// The code of docs/guide/interop.md; guide_text_test.cpp compares the two.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// [snippet]
#include "interop/dlpack.h"
#include "interop/npy.h"
#include "interop/safetensors.h"
#include "interop/safetensors_sharded.h"
#include "interop/span.h"
#include "interop/strided_range.h"

namespace dlpack = engine::dlpack;
namespace interop = engine::interop;
namespace npy = engine::npy;
namespace safetensors = engine::safetensors;
using engine::core::Status;
using engine::core::StatusOr;
using engine::tensor::Tensor;
// [/snippet]

#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
using engine::tensor::DataType;

Status Checkpoints(const std::string& folder) {
  ENGINE_ASSIGN_OR_RETURN(const Tensor weight, ops::ones({4, 2}, DataType::kFloat32));
  const std::vector<safetensors::NamedTensor> named = {{"a", weight}, {"b", weight}};
  const std::string index_path = folder + "guide_interop.safetensors.index.json";
  // [snippet]
  constexpr std::uint64_t kMaxShardBytes = 40;  // of data, per file
  ENGINE_RETURN_IF_ERROR(safetensors::SaveSharded(index_path, named, kMaxShardBytes));
  ENGINE_ASSIGN_OR_RETURN(auto model, safetensors::ShardedFile::Open(index_path));
  ENGINE_ASSIGN_OR_RETURN(Tensor b, model.Get("b"));  // a view of the file that holds it
  // [/snippet]
  EXPECT_EQ(model.shards().size(), 2u);
  EXPECT_EQ(b.item<float>({3, 1}), 1.0f);
  return core::OkStatus();
}

TEST(InteropGuideTest, Checkpoints) { ENGINE_EXPECT_OK(Checkpoints(::testing::TempDir())); }

Status Arrays(const std::string& path) {
  ENGINE_ASSIGN_OR_RETURN(const Tensor line, ops::arange(0, 6, 1, DataType::kFloat32));
  ENGINE_ASSIGN_OR_RETURN(const Tensor logits, line.reshape({2, 3}));
  // [snippet]
  ENGINE_RETURN_IF_ERROR(npy::Save(path, logits));          // byte for byte as numpy.save
  ENGINE_ASSIGN_OR_RETURN(Tensor loaded, npy::Load(path));  // mapped, read-only, no copy
  // [/snippet]
  EXPECT_TRUE(loaded.is_read_only());
  EXPECT_EQ(loaded.item<float>({1, 2}), 5.0f);
  return core::OkStatus();
}

TEST(InteropGuideTest, Arrays) {
  ENGINE_EXPECT_OK(Arrays(::testing::TempDir() + "guide_interop.npy"));
}

// [snippet]
// To a consumer, as its C interface wants it: it calls the deleter when it is done.
StatusOr<DLManagedTensorVersioned*> Lend(const Tensor& tensor) {
  ENGINE_ASSIGN_OR_RETURN(dlpack::VersionedHandle handle, dlpack::Export(tensor));
  return handle.release();
}

// From a producer: its deleter runs when the last tensor over the memory is gone, or here, when the
// tensor is refused.
StatusOr<Tensor> Borrow(DLManagedTensorVersioned* managed) {
  return dlpack::Import(dlpack::VersionedHandle(managed));
}
// [/snippet]

TEST(InteropGuideTest, DlpackRoundTrip) {
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor, ops::ones({2, 3}, DataType::kFloat16));
  ENGINE_ASSERT_OK_AND_ASSIGN(DLManagedTensorVersioned* const managed, Lend(tensor));
  ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor back, Borrow(managed));
  EXPECT_EQ(back.data(), tensor.data());
  EXPECT_EQ(back.shape(), tensor.shape());
}

Status Ranges() {
  ENGINE_ASSIGN_OR_RETURN(const Tensor line, ops::arange(0, 6, 1, DataType::kFloat32));
  ENGINE_ASSIGN_OR_RETURN(const Tensor matrix, line.reshape({2, 3}));
  ENGINE_ASSIGN_OR_RETURN(const Tensor turned, matrix.transpose(0, 1));
  // [snippet]
  ENGINE_ASSIGN_OR_RETURN(std::span<const float> flat, interop::AsSpan<const float>(matrix));
  ENGINE_ASSIGN_OR_RETURN(const auto values, interop::ElementsOf<const float>(turned));
  const float largest = *std::max_element(values.begin(), values.end());  // any strides
  // [/snippet]
  EXPECT_EQ(flat.size(), 6u);
  EXPECT_EQ(values[1], 3.0f);
  EXPECT_EQ(largest, 5.0f);
  return core::OkStatus();
}

TEST(InteropGuideTest, Ranges) { ENGINE_EXPECT_OK(Ranges()); }

}  // namespace
