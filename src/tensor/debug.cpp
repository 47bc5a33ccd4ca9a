#include "tensor/debug.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "tensor/ops.h"

namespace engine::tensor::internal {

const char* FormatForDebugger(const Tensor& tensor) {
  static thread_local std::array<char, 4096> shown;
  const std::string text = tensor.defined() && !tensor.device().is_cpu()
                               ? fmt::format("Tensor(shape={}, dtype={}, device={})",
                                             tensor.shape(), tensor.dtype(), tensor.device())
                               : ops::to_string(tensor);
  constexpr std::string_view kMore = "...";
  const std::size_t room = shown.size() - 1 - kMore.size();
  const std::size_t bytes = std::min(text.size(), room);
  std::memcpy(shown.data(), text.data(), bytes);
  const std::string_view end = text.size() > room ? kMore : "";
  std::memcpy(shown.data() + bytes, end.data(), end.size());
  shown[bytes + end.size()] = '\0';
  return shown.data();
}

}  // namespace engine::tensor::internal
