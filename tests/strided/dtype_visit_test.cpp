#include "strided/dtype_visit.h"

#include <gtest/gtest.h>

#include "tensor/dtype.h"

namespace engine::strided {
namespace {

using tensor::DataType;

// Every dtype reaches the C++ type that maps to it; the reserved ones are rejected.
TEST(VisitDTypeTest, ReachesTheMappedType) {
  int visited = 0;
  int rejected = 0;
  for (const DataType dtype : tensor::kAllDataTypes) {
    const bool accepted = VisitDType(
        dtype,
        [&](auto tag) {
          using T = typename decltype(tag)::type;
          EXPECT_EQ(tensor::dtype_of<T>, dtype);
          EXPECT_EQ(static_cast<int>(sizeof(T)), tensor::itemsize(dtype));
          return true;
        },
        [&](DataType refused) {
          EXPECT_EQ(refused, dtype);
          return false;
        });
    EXPECT_NE(accepted, tensor::is_reserved(dtype)) << tensor::to_string(dtype);
    ++(accepted ? visited : rejected);
  }
  EXPECT_EQ(visited, 13);
  EXPECT_EQ(rejected, 2);
}

TEST(VisitDTypeTest, IsUsableAtCompileTime) {
  constexpr auto kItemBytes = VisitDType(
      DataType::kFloat64, [](auto tag) { return sizeof(typename decltype(tag)::type); },
      [](DataType) { return std::size_t{0}; });
  static_assert(kItemBytes == 8);
}

}  // namespace
}  // namespace engine::strided
