// harness/data.h: the memory that is timed, and what it holds.
#ifndef ENGINE_BENCHMARKS_HARNESS_DATA_H_
#define ENGINE_BENCHMARKS_HARNESS_DATA_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace engine::benchmarks {

// Zeroed memory of its own mapping, in pages of the base size (4 KiB) unless huge ones are asked
// for: whether the kernel happens to grant huge pages would decide more than any kernel. Every page
// has been touched.
class Pages {
 public:
  // CHECKs that the memory can be had.
  Pages(std::int64_t size_bytes, bool huge);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_;
  std::int64_t size_bytes_;
};

enum class DataKind : std::uint8_t {
  kOrdinary,  // within the range of both dtypes, no two neighbours alike
  kZeros,
  kSubnormals,        // of the source dtype
  kSubnormalResults,  // values that are subnormal in the destination dtype
  kNaNs,              // quiet
  kInfinities,        // of both signs
};

[[nodiscard]] std::string_view Name(DataKind kind);

// The kinds beyond the ordinary one that a cast of the pair, from a floating dtype, can be given:
// integers take no NaN and no infinity, and a dtype's subnormals may be out of the source's reach.
[[nodiscard]] std::vector<DataKind> SpecialKinds(tensor::DataType src, tensor::DataType dst);

// Fills `data` with `elements` elements of `src` that convert to `dst`: one in `one_in` of the kind
// that is asked for, the others ordinary. The same on every run.
//   CHECKs   both dtypes castable; floating ones for every kind but the first two.
void Fill(std::byte* data, std::int64_t elements, tensor::DataType src, tensor::DataType dst,
          DataKind kind = DataKind::kOrdinary, int one_in = 1);

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_DATA_H_
