#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/checked_math.h"
#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"
#include "tensor/element_fill.h"
#include "tensor/internal/ops_common.h"
#include "tensor/ops.h"
#include "tensor/storage.h"

namespace engine::tensor::ops {
namespace {

using Element = std::array<std::byte, 8>;

// `value` as an element of `dtype`, of a tensor of that shape.
core::StatusOr<Element> Represent(const char* operation, const Scalar& value, DataType dtype,
                                  const Shape& shape) {
  Element element{};
  if (value.StoreAs(dtype, element.data())) return element;
  return core::InvalidArgumentError("{}: value {} is not representable in {} (shape {})", operation,
                                    value, dtype, shape);
}

core::Status FillElements(const char* operation, const Tensor& tensor, const Scalar& value) {
  ENGINE_ASSIGN_OR_RETURN(const Element element,
                          Represent(operation, value, tensor.dtype(), tensor.shape()));
  FillWithElement(tensor.shape(), tensor.strides(), tensor.dtype(), tensor.data(), element.data());
  return core::OkStatus();
}

// The number of elements of arange.
core::StatusOr<std::int64_t> CountSteps(std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) return core::InvalidArgumentError("arange: step is 0");
  const std::optional<std::int64_t> span = core::CheckedSub(end, start);
  if (!span.has_value()) {
    return core::InvalidArgumentError("arange: end - start overflows int64_t for [{}, {})", start,
                                      end);
  }
  if (*span == 0 || (*span > 0) != (step > 0)) return 0;
  // Magnitudes in uint64_t: that of INT64_MIN has no int64_t, and neither may the count.
  const auto magnitude = [](std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? std::uint64_t{0} - bits : bits;
  };
  const std::uint64_t count = (magnitude(*span) - 1) / magnitude(step) + 1;
  if (!std::in_range<std::int64_t>(count)) {
    return core::InvalidArgumentError(
        "arange: [{}, {}) with step {} has {} elements, more than "
        "int64_t counts",
        start, end, step, count);
  }
  return static_cast<std::int64_t>(count);
}

// `count` elements from `out` on, all of them representable. Out of line, so that the arithmetic
// stays inside the caller's floating-point scope.
template <typename T>
[[gnu::noinline]] void WriteArange(std::byte* out, std::int64_t start, std::int64_t step,
                                   std::int64_t count) {
  // Unsigned: the sum past the last element may wrap. It is exact, unlike one in the dtype.
  auto value = static_cast<std::uint64_t>(start);
  for (std::int64_t i = 0; i < count; ++i, value += static_cast<std::uint64_t>(step)) {
    const auto exact = static_cast<std::int64_t>(value);
    T element{};
    if constexpr (std::same_as<T, bool>) {
      element = exact != 0;
    } else {
      static_cast<void>(strided::ConvertElement(exact, element));
    }
    strided::StoreElement(out + i * static_cast<std::int64_t>(sizeof(T)), element);
  }
}

using ArangeWriter = void (*)(std::byte*, std::int64_t, std::int64_t, std::int64_t);

ArangeWriter SelectArangeWriter(DataType dtype) {
  return strided::VisitDType(
      dtype, []<typename T>(strided::TypeTag<T>) -> ArangeWriter { return &WriteArange<T>; },
      [](DataType) -> ArangeWriter { return nullptr; });
}

}  // namespace

core::StatusOr<Tensor> zeros(Shape shape, DataType dtype, Device device,
                             memory::Allocator* allocator) {
  ENGINE_ASSIGN_OR_RETURN(
      std::shared_ptr<memory::Buffer> storage,
      AllocateStorage("zeros", shape, dtype, device, allocator, StorageInitialization::kZero));
  return Tensor::from_buffer(std::move(storage), 0, shape, dtype);
}

core::StatusOr<Tensor> ones(Shape shape, DataType dtype, Device device,
                            memory::Allocator* allocator) {
  return full(shape, 1, dtype, device, allocator);
}

core::StatusOr<Tensor> full(Shape shape, Scalar value, DataType dtype, Device device,
                            memory::Allocator* allocator) {
  ENGINE_ASSIGN_OR_RETURN(Tensor result, Tensor::empty(shape, dtype, device, allocator));
  ENGINE_RETURN_IF_ERROR(FillElements("full", result, value));
  return result;
}

core::StatusOr<Tensor> arange(std::int64_t start, std::int64_t end, std::int64_t step,
                              DataType dtype, Device device, memory::Allocator* allocator) {
  ENGINE_ASSIGN_OR_RETURN(const std::int64_t count, CountSteps(start, end, step));
  // Known before the storage is. A reserved dtype or a device without a backend is empty's error,
  // whatever the elements. The sequence is monotonic: when its two ends are representable,
  // everything between is.
  if (count > 0 && device.is_cpu() && !is_reserved(dtype)) {
    for (const std::int64_t end_value : {start, start + (count - 1) * step}) {
      ENGINE_RETURN_IF_ERROR(Represent("arange", end_value, dtype, {count}).status());
    }
  }
  ENGINE_ASSIGN_OR_RETURN(Tensor result, Tensor::empty({count}, dtype, device, allocator));
  if (count == 0) return result;

  const ArangeWriter write = SelectArangeWriter(dtype);
  const strided::ScopedDefaultFpEnvironment environment;
  write(static_cast<std::byte*>(result.data()), start, step, count);
  return result;
}

core::Status fill(const Tensor& tensor, Scalar value) {
  internal::CheckOnCpu("fill", tensor);
  ENGINE_RETURN_IF_ERROR(internal::RequireWritable("fill", tensor));
  return FillElements("fill", tensor, value);
}

}  // namespace engine::tensor::ops
