#include "harness/data.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/check.h"
#include "strided/copy_plan.h"
#include "strided/dtype_visit.h"
#include "tensor/half.h"

namespace engine::benchmarks {
namespace {

using tensor::DataType;

// Converts through the library's own definition.
void FromDoubles(const std::vector<double>& values, DataType dtype, std::byte* out) {
  const tensor::Shape shape = *tensor::Shape::FromDims({static_cast<std::int64_t>(values.size())});
  const auto plan = strided::CopyPlan::Make(shape, dtype, {1}, DataType::kFloat64, {1});
  ENGINE_CHECK(plan.Run(out, values.data()), "a value that {} cannot hold", dtype);
}

bool IsUnsigned(DataType dtype) { return tensor::to_string(dtype).front() == 'u'; }

// Ordinary values stay below this in magnitude.
double Bound(DataType a, DataType b) {
  const auto of = [](DataType dtype) {
    const int bits = tensor::itemsize_bits(dtype);
    if (bits == 8) return 125.0;
    // Halves hold small integers exactly, wide floats get a fraction as well.
    return tensor::is_floating_point(dtype) || bits == 16 ? 1000.0 : 100000.0;
  };
  return std::min(of(a), of(b));
}

// The smallest positive subnormal and the smallest positive normal number.
struct SubnormalRange {
  double min;
  double end;
};
SubnormalRange SubnormalsOf(DataType dtype) {
  return strided::VisitDType(
      dtype,
      [](auto tag) -> SubnormalRange {
        using T = typename decltype(tag)::type;
        return {static_cast<double>(std::numeric_limits<T>::denorm_min()),
                static_cast<double>(std::numeric_limits<T>::min())};
      },
      [](DataType) -> SubnormalRange {
        return {0, 0};
      });
}

double Draw(std::mt19937_64& generator, DataType src, DataType dst, DataKind kind) {
  const double unit = std::ldexp(static_cast<double>(generator() >> 11), -53);  // [0, 1)
  const bool negative = !IsUnsigned(src) && !IsUnsigned(dst) && generator() % 2 == 0;
  double magnitude = 0;
  switch (kind) {
    case DataKind::kOrdinary:
      magnitude = unit * Bound(src, dst);
      if (!tensor::is_floating_point(src)) magnitude = std::floor(magnitude);
      break;
    case DataKind::kZeros:
      break;
    case DataKind::kSubnormals:
    case DataKind::kSubnormalResults: {
      const SubnormalRange range = SubnormalsOf(kind == DataKind::kSubnormals ? src : dst);
      magnitude = std::max(range.min, unit * range.end);
      break;
    }
    case DataKind::kNaNs:
      magnitude = std::numeric_limits<double>::quiet_NaN();
      break;
    case DataKind::kInfinities:
      magnitude = std::numeric_limits<double>::infinity();
      break;
  }
  return negative ? -magnitude : magnitude;
}

}  // namespace

Pages::Pages(std::int64_t size_bytes, bool huge) : size_bytes_(size_bytes) {
  const auto bytes = static_cast<std::size_t>(size_bytes);
  void* const address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ENGINE_CHECK(address != MAP_FAILED, "cannot map {} bytes", size_bytes);
  // Kernels without huge pages refuse the advice, which is then not needed.
  (void)madvise(address, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  data_ = static_cast<std::byte*>(address);
  std::memset(data_, 0, bytes);
}

Pages::~Pages() { munmap(data_, static_cast<std::size_t>(size_bytes_)); }

std::string_view Name(DataKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"ordinary",          "zeros", "subnormals",
                                                      "subnormal results", "NaNs",  "infinities"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<DataKind> SpecialKinds(DataType src, DataType dst) {
  std::vector<DataKind> kinds = {DataKind::kZeros, DataKind::kSubnormals};
  if (!tensor::is_floating_point(dst)) return kinds;
  if (SubnormalsOf(dst).end > SubnormalsOf(src).min) kinds.push_back(DataKind::kSubnormalResults);
  kinds.insert(kinds.end(), {DataKind::kNaNs, DataKind::kInfinities});
  return kinds;
}

void Fill(std::byte* data, std::int64_t elements, DataType src, DataType dst, DataKind kind,
          int one_in) {
  // A prime number of values, repeated: no extent that is timed is a multiple of it, so an element
  // in a wrong place shows.
  constexpr std::int64_t kPeriod = 65521;
  std::mt19937_64 generator(2024);
  std::vector<double> values(static_cast<std::size_t>(std::min(kPeriod, elements)));
  for (double& value : values) {
    const bool special = generator() % static_cast<std::uint64_t>(one_in) == 0;
    value = Draw(generator, src, dst, special ? kind : DataKind::kOrdinary);
  }
  FromDoubles(values, src, data);
  const std::int64_t total = elements * tensor::itemsize(src);
  for (std::int64_t filled = static_cast<std::int64_t>(values.size()) * tensor::itemsize(src);
       filled < total;) {
    const std::int64_t more = std::min(filled, total - filled);
    std::memcpy(data + filled, data, static_cast<std::size_t>(more));
    filled += more;
  }
}

}  // namespace engine::benchmarks
