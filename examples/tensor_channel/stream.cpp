#include "stream.h"

#include <algorithm>
#include <utility>

#include "tensor/ops.h"
#include "wire/format.h"

namespace tensor_channel {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
using engine::tensor::DataType;
using engine::tensor::Device;
using engine::tensor::Shape;
using engine::tensor::Tensor;

namespace {

constexpr std::uint32_t kVariants = 4;
const Shape kImageShape = {1, 3, 224, 224};   // NCHW
const Shape kFeatureShape = {1, 56, 56, 64};  // NHWC

core::StatusOr<Tensor> MakeImage(std::uint64_t seed) {
  ENGINE_ASSIGN_OR_RETURN(Tensor image,
                          Tensor::empty(kImageShape, DataType::kFloat32, Device::Cpu()));
  ENGINE_RETURN_IF_ERROR(ops::fill_uniform(image, seed));
  return image;
}

core::StatusOr<Tensor> MakeFeatures(std::uint64_t seed) {
  ENGINE_ASSIGN_OR_RETURN(Tensor values,
                          Tensor::empty(kFeatureShape, DataType::kFloat32, Device::Cpu()));
  ENGINE_RETURN_IF_ERROR(ops::fill_uniform(values, seed, -128, 127));
  return ops::cast(values, DataType::kInt8);
}

}  // namespace

core::StatusOr<Stream> Stream::Make() {
  Stream stream;
  for (std::uint64_t seed = 0; seed < kVariants; ++seed) {
    ENGINE_ASSIGN_OR_RETURN(Tensor image, MakeImage(2 * seed));
    ENGINE_ASSIGN_OR_RETURN(Tensor features, MakeFeatures(2 * seed + 1));
    stream.images_.push_back(std::move(image));
    stream.features_.push_back(std::move(features));
  }
  return stream;
}

const Tensor& Stream::at(std::uint32_t seq) const {
  const std::size_t variant = seq / 2 % kVariants;
  return IsImage(seq) ? images_[variant] : features_[variant];
}

std::size_t Stream::max_message_bytes() const {
  return engine::wire::kEnvelopeBytes +
         std::max(images_.front().nbytes(), features_.front().nbytes());
}

}  // namespace tensor_channel
