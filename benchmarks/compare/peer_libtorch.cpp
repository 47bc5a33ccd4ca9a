#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "compare/peers.h"

namespace engine::benchmarks {
namespace {

using tensor::DataType;

std::optional<at::ScalarType> TypeOf(DataType dtype) {
  using enum DataType;
  switch (dtype) {
    case kFloat32:
      return at::kFloat;
    case kFloat16:
      return at::kHalf;
    case kBFloat16:
      return at::kBFloat16;
    case kFloat64:
      return at::kDouble;
    case kInt8:
      return at::kChar;
    case kUInt8:
      return at::kByte;
    case kInt16:
      return at::kShort;
    case kInt32:
      return at::kInt;
    case kInt64:
      return at::kLong;
    default:
      return std::nullopt;
  }
}

at::Tensor Borrow(const std::byte* data, const Case& layout, const tensor::Strides& strides,
                  at::ScalarType type) {
  const at::IntArrayRef sizes(layout.shape.dims().data(), layout.shape.dims().size());
  return at::from_blob(const_cast<std::byte*>(data), sizes,
                       at::IntArrayRef(strides.begin(), strides.values().size()),
                       at::TensorOptions().dtype(type));
}

class Libtorch final : public Contender {
 public:
  Libtorch() { at::set_num_threads(1); }
  [[nodiscard]] std::string name() const override { return "libtorch"; }
  [[nodiscard]] std::string version() const override {
    const std::string config = at::show_config();
    const std::string key = "CPU capability usage: ";
    const std::size_t start = config.find(key);
    if (start == config.npos) return TORCH_VERSION;
    const std::size_t end = config.find('\n', start);
    return TORCH_VERSION ", " + config.substr(start + key.size(), end - start - key.size());
  }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    const Case& layout = *task.layout;
    const std::optional<at::ScalarType> dst_type = TypeOf(layout.dst);
    const std::optional<at::ScalarType> src_type = TypeOf(layout.src);
    if (!dst_type.has_value() || !src_type.has_value()) return nullptr;
    at::Tensor dst = Borrow(task.dst, layout, layout.dst_strides, *dst_type);
    at::Tensor src = Borrow(task.src, layout, layout.src_strides, *src_type);
    return MakeJob([dst = std::move(dst), src = std::move(src)] { dst.copy_(src); });
  }

 private:
  c10::InferenceMode no_autograd_;
};

}  // namespace

PeerOr MakeLibtorch() { return std::make_unique<Libtorch>(); }

}  // namespace engine::benchmarks
