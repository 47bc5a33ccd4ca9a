#include <fmt/format.h>

#include <cstddef>
#include <iterator>

#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"
#include "tensor/internal/ops_common.h"
#include "tensor/ops.h"

namespace engine::tensor::ops {
namespace {

using Text = fmt::memory_buffer;

template <typename T>
void AppendElement(Text& text, const std::byte* element) {
  const T value = strided::LoadElement<T>(element);
  if constexpr (strided::kIsHalf<T>) {
    fmt::format_to(std::back_inserter(text), "{}", static_cast<float>(value));
  } else if constexpr (sizeof(T) == 1 && strided::kIsInteger<T>) {
    fmt::format_to(std::back_inserter(text), "{}", int{value});  // a number, not a character
  } else {
    fmt::format_to(std::back_inserter(text), "{}", value);
  }
}

using ElementAppender = void (*)(Text&, const std::byte*);

ElementAppender SelectElementAppender(DataType dtype) {
  return strided::VisitDType(
      dtype, []<typename T>(strided::TypeTag<T>) -> ElementAppender { return &AppendElement<T>; },
      [](DataType) -> ElementAppender { return nullptr; });
}

// Prints nested rows; reads the elements it shows and no others.
class Printer {
 public:
  Printer(const Tensor& tensor, int edge_items, Text& text)
      : tensor_(tensor),
        edge_items_(edge_items),
        text_(text),
        append_element_(SelectElementAppender(tensor.dtype())) {}

  // Everything below one index of axis `axis` - 1, whose first element is at `address`.
  void AppendAxis(int axis, const std::byte* address) {
    if (axis == tensor_.shape().rank()) return append_element_(text_, address);
    const std::int64_t extent = tensor_.shape().dim(axis);
    const std::int64_t stride = tensor_.strides()[axis];
    const std::int64_t item_bytes = itemsize(tensor_.dtype());
    const bool truncated = extent > 2 * edge_items_;
    Append("[");
    for (std::int64_t i = 0; i < extent; ++i) {
      if (i > 0) AppendSeparator(axis);
      if (truncated && i == edge_items_) {
        Append("...");
        i = extent - edge_items_ - 1;
        continue;
      }
      AppendAxis(axis + 1, address + i * stride * item_bytes);
    }
    Append("]");
  }

 private:
  void Append(fmt::string_view part) { text_.append(part.begin(), part.end()); }

  // As NumPy: a comma between elements; between blocks of n axes n line breaks, then one space per
  // bracket still open.
  void AppendSeparator(int axis) {
    Append(",");
    const int inner_axes = tensor_.shape().rank() - 1 - axis;
    if (inner_axes == 0) return Append(" ");
    for (int i = 0; i < inner_axes; ++i) Append("\n");
    for (int i = 0; i <= axis; ++i) Append(" ");
  }

  const Tensor& tensor_;
  std::int64_t edge_items_;
  Text& text_;
  ElementAppender append_element_;
};

// Out of line, so that the formatting (which compares with zero) stays inside the caller's
// floating-point scope.
[[gnu::noinline]] void AppendElements(const Tensor& tensor, int edge_items, Text& text) {
  Printer(tensor, edge_items, text).AppendAxis(0, static_cast<const std::byte*>(tensor.data()));
}

}  // namespace

std::string to_string(const Tensor& tensor, int edge_items) {
  ENGINE_CHECK(edge_items > 0, "to_string: edge_items is {}, expected > 0", edge_items);
  if (!tensor.defined()) return "Tensor(undefined)";
  internal::CheckOnCpu("to_string", tensor);
  Text text;
  fmt::format_to(std::back_inserter(text), "Tensor(shape={}, dtype={}, device={})\n",
                 tensor.shape(), tensor.dtype(), tensor.device());
  if (tensor.numel() == 0) {
    fmt::format_to(std::back_inserter(text), "[]");
  } else {
    const strided::ScopedDefaultFpEnvironment environment;
    AppendElements(tensor, edge_items, text);
  }
  return fmt::to_string(text);
}

}  // namespace engine::tensor::ops
