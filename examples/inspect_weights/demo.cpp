#include "demo.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "interop/safetensors.h"
#include "tensor/ops.h"

namespace inspect_weights {
namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
namespace safetensors = engine::safetensors;
using engine::tensor::DataType;
using engine::tensor::Device;
using engine::tensor::Shape;
using engine::tensor::Tensor;

constexpr std::int64_t kVocabulary = 2048;
constexpr std::int64_t kHidden = 384;
constexpr std::int64_t kInner = 4 * kHidden;
constexpr std::int64_t kPositions = 512;
constexpr double kStddev = 0.02;  // what transformers are commonly initialised with

struct RandomWeight {
  const char* name;
  Shape shape;
  DataType dtype;
};

core::StatusOr<Tensor> MakeRandom(const RandomWeight& weight, std::uint64_t seed) {
  ENGINE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::empty(weight.shape, weight.dtype, Device::Cpu()));
  ENGINE_RETURN_IF_ERROR(ops::fill_normal(tensor, seed, 0.0, kStddev));
  return tensor;
}

core::StatusOr<Tensor> MakePositions() {
  ENGINE_ASSIGN_OR_RETURN(Tensor positions, ops::arange(0, kPositions));
  return positions.reshape({1, kPositions});
}

core::Status AddRandomWeights(std::vector<safetensors::NamedTensor>& tensors) {
  const RandomWeight weights[] = {
      {"embeddings.word.weight", {kVocabulary, kHidden}, DataType::kFloat32},
      {"layers.0.attention.query.weight", {kHidden, kHidden}, DataType::kFloat16},
      {"layers.0.attention.key.weight", {kHidden, kHidden}, DataType::kFloat16},
      {"layers.0.attention.value.weight", {kHidden, kHidden}, DataType::kFloat16},
      {"layers.0.attention.output.weight", {kHidden, kHidden}, DataType::kFloat16},
      {"layers.0.mlp.up.weight", {kInner, kHidden}, DataType::kBFloat16},
      {"layers.0.mlp.up.bias", {kInner}, DataType::kFloat32},
      {"layers.0.mlp.down.weight", {kHidden, kInner}, DataType::kFloat32},
      {"layers.0.mlp.down.bias", {kHidden}, DataType::kFloat32},
  };
  std::uint64_t seed = 1;
  for (const RandomWeight& weight : weights) {
    ENGINE_ASSIGN_OR_RETURN(Tensor tensor, MakeRandom(weight, seed++));
    tensors.push_back({weight.name, std::move(tensor)});
  }
  return core::OkStatus();
}

core::Status AddNorm(const std::string& name, std::vector<safetensors::NamedTensor>& tensors) {
  ENGINE_ASSIGN_OR_RETURN(Tensor weight, ops::ones({kHidden}, DataType::kFloat32));
  ENGINE_ASSIGN_OR_RETURN(Tensor bias, ops::zeros({kHidden}, DataType::kFloat32));
  tensors.push_back({name + ".weight", std::move(weight)});
  tensors.push_back({name + ".bias", std::move(bias)});
  return core::OkStatus();
}

}  // namespace

core::Status WriteDemoCheckpoint(const std::string& path) {
  std::vector<safetensors::NamedTensor> tensors;
  ENGINE_RETURN_IF_ERROR(AddRandomWeights(tensors));
  ENGINE_RETURN_IF_ERROR(AddNorm("layers.0.attention.norm", tensors));
  ENGINE_RETURN_IF_ERROR(AddNorm("layers.0.mlp.norm", tensors));
  ENGINE_ASSIGN_OR_RETURN(Tensor positions, MakePositions());
  tensors.push_back({"embeddings.position_ids", std::move(positions)});
  ENGINE_ASSIGN_OR_RETURN(Tensor bytes, ops::arange(0, 256, 1, DataType::kUInt8));
  tensors.push_back({"embeddings.byte_fallback", std::move(bytes)});
  return safetensors::Save(path, tensors,
                           {{"format", "engine_tensor"}, {"model", "demonstration layer"}});
}

}  // namespace inspect_weights
