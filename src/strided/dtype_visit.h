// strided/dtype_visit.h: the only switch from a DataType to a C++ type.
// Layer 2.
#ifndef ENGINE_STRIDED_DTYPE_VISIT_H_
#define ENGINE_STRIDED_DTYPE_VISIT_H_

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/half.h"

namespace engine::strided {

// A type as a value, which a generic lambda can be called with.
template <typename T>
struct TypeTag {
  using type = T;  // what the tag stands for
};

// Calls visit(TypeTag<T>{}) with the element type of `dtype`, or reject(dtype) for a reserved
// dtype. Both return the same type. There is no default label: a new enumerator breaks exactly this
// switch. Use it to select a function; loops over elements belong inside what is selected.
template <typename Visit, typename Reject>
constexpr decltype(auto) VisitDType(tensor::DataType dtype, Visit&& visit, Reject&& reject) {
  using tensor::DataType;
  switch (dtype) {
    case DataType::kFloat32:
      return visit(TypeTag<float>{});
    case DataType::kFloat16:
      return visit(TypeTag<tensor::float16>{});
    case DataType::kBFloat16:
      return visit(TypeTag<tensor::bfloat16>{});
    case DataType::kFloat64:
      return visit(TypeTag<double>{});
    case DataType::kInt8:
      return visit(TypeTag<std::int8_t>{});
    case DataType::kUInt8:
      return visit(TypeTag<std::uint8_t>{});
    case DataType::kInt16:
      return visit(TypeTag<std::int16_t>{});
    case DataType::kUInt16:
      return visit(TypeTag<std::uint16_t>{});
    case DataType::kInt32:
      return visit(TypeTag<std::int32_t>{});
    case DataType::kUInt32:
      return visit(TypeTag<std::uint32_t>{});
    case DataType::kInt64:
      return visit(TypeTag<std::int64_t>{});
    case DataType::kUInt64:
      return visit(TypeTag<std::uint64_t>{});
    case DataType::kBool:
      return visit(TypeTag<bool>{});
    case DataType::kFP8E4M3:
    case DataType::kInt4:
      break;
  }
  return reject(dtype);
}

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_DTYPE_VISIT_H_
