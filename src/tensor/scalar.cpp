#include "tensor/scalar.h"

#include <fmt/format.h>

#include <cmath>

#include "core/check.h"
#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/fp_environment.h"

namespace engine::tensor {
namespace {

// Converts into `out`; false, with `out` unchanged, when T cannot represent the value.
template <typename T, typename Source>
bool Represent(Source value, T& out) {
  if constexpr (std::same_as<T, bool>) {
    if (value != Source{0} && value != Source{1}) return false;
    out = value == Source{1};
    return true;
  } else if constexpr (strided::kIsFloating<T>) {
    out = strided::NarrowFromDouble<T>(strided::WidenToDouble(value));
    return true;
  } else {
    // Unlike cast, a value with a fraction is refused rather than truncated.
    if constexpr (std::floating_point<Source>) {
      if (std::trunc(value) != value) return false;
    }
    return strided::ConvertElement(value, out);
  }
}

// Out of line, so that the arithmetic stays between the two ends of the caller's floating-point
// scope.
template <typename T, typename Value>
[[gnu::noinline]] bool Store(const Value& value, std::byte* element) {
  T converted{};
  const bool representable =
      std::visit([&converted](auto held) { return Represent(held, converted); }, value);
  if (representable) strided::StoreElement(element, converted);
  return representable;
}

}  // namespace

core::Status Scalar::StoreAs(DataType dtype, std::byte* element) const {
  ENGINE_CHECK(!is_reserved(dtype), "StoreAs: {} is a reserved dtype", dtype);
  const bool stored = [&] {
    const strided::ScopedDefaultFpEnvironment environment;
    return strided::VisitDType(
        dtype, [&]<typename T>(strided::TypeTag<T>) { return Store<T>(value_, element); },
        [](DataType) { return false; });
  }();
  if (stored) return core::OkStatus();
  return core::InvalidArgumentError("the value {} is not representable in {}", ToString(), dtype);
}

std::string Scalar::ToString() const {
  return std::visit([](auto held) { return fmt::format("{}", held); }, value_);
}

}  // namespace engine::tensor
