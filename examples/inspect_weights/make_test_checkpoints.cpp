// make_test_checkpoints FOLDER: writes the checkpoints that the tests of inspect_weights read.
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "interop/safetensors.h"
#include "tensor/ops.h"

namespace {

namespace core = engine::core;
namespace ops = engine::tensor::ops;
namespace safetensors = engine::safetensors;
using engine::tensor::DataType;
using engine::tensor::Tensor;

// [[1, 70000, -70000], [NaN, inf, 0.5]]: two values beyond float16, and two that survive any cast.
core::StatusOr<Tensor> MakeExtremes() {
  constexpr float kValues[] = {1,
                               70000,
                               -70000,
                               std::numeric_limits<float>::quiet_NaN(),
                               std::numeric_limits<float>::infinity(),
                               0.5F};
  ENGINE_ASSIGN_OR_RETURN(Tensor tensor, ops::zeros({2, 3}, DataType::kFloat32));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) tensor.data_ptr<float>()[i] = kValues[i];
  return tensor;
}

core::Status WriteSpecial(const std::string& path) {
  ENGINE_ASSIGN_OR_RETURN(Tensor extremes, MakeExtremes());
  ENGINE_ASSIGN_OR_RETURN(Tensor flags, ops::ones({4}, DataType::kBool));
  ENGINE_ASSIGN_OR_RETURN(Tensor nothing, ops::zeros({0, 3}, DataType::kInt16));
  ENGINE_ASSIGN_OR_RETURN(Tensor scalar, ops::full({}, 3.5, DataType::kFloat64));
  ENGINE_ASSIGN_OR_RETURN(Tensor large,
                          ops::full({2}, (std::int64_t{1} << 53) + 1, DataType::kInt64));
  return safetensors::Save(path, std::vector<safetensors::NamedTensor>{{"extremes", extremes},
                                                                       {"flags", flags},
                                                                       {"nothing", nothing},
                                                                       {"scalar", scalar},
                                                                       {"large", large}});
}

// A file with a dtype that the library lacks, and a float32 tensor at an odd address: nothing that
// our writer would make.
core::Status WriteForeign(const std::string& path) {
  constexpr std::string_view kHeader =
      R"({"f8":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]},)"
      R"("odd\nname":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(kHeader.size());
  static_assert(kHeader.size() < 256);
  bytes += kHeader;
  bytes += std::string_view("\x38\x00\x00\x80\x3F", 5);  // one byte, then 1.0f
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return core::InternalError("cannot create {}", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) == 0 && written) return core::OkStatus();
  return core::InternalError("cannot write {}", path);
}

core::Status Run(const std::string& folder) {
  ENGINE_RETURN_IF_ERROR(WriteSpecial(folder + "/special.safetensors"));
  return WriteForeign(folder + "/foreign.safetensors");
}

}  // namespace

int main(int argc, char** argv) {
  const core::Status status = Run(argc == 2 ? argv[1] : ".");
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
