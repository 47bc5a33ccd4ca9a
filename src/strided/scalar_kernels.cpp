// The kernels of the scalar target: plain loops, the reference that every vector kernel equals.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "strided/convert.h"
#include "strided/dtype_visit.h"
#include "strided/internal/kernels.h"

namespace engine::strided {
namespace {

void CopyRowsScalar(const RowsJob& job) {
  for (std::int64_t r = 0; r < job.rows; ++r) {
    std::memcpy(job.DstRow(r), job.SrcRow(r), static_cast<std::size_t>(job.row_bytes));
  }
}

template <std::size_t kItemBytes>
void CopyStridedRowsScalar(const StridedRowsJob& job) {
  constexpr auto kItem = static_cast<std::int64_t>(kItemBytes);
  for (std::int64_t r = 0; r < job.rows; ++r) {
    std::byte* const dst = job.dst + job.dst_offsets[r];
    const std::byte* const src = job.src + job.src_offsets[r];
    for (std::int64_t c = 0; c < job.cols; ++c) {
      std::memcpy(dst + c * job.dst_step * kItem, src + c * job.src_step * kItem, kItemBytes);
    }
  }
}

template <std::size_t kItemBytes>
void CopyTabledRowsScalar(const TabledRowsJob& job) {
  constexpr auto kItem = static_cast<std::int64_t>(kItemBytes);
  for (std::int64_t k = 0; k < job.runs; ++k) {
    for (std::int64_t r = 0; r < job.rows; ++r) {
      std::byte* const dst = job.dst + job.dst_offsets[k] + r * job.dst_step;
      const std::byte* const src = job.src + job.src_offsets[k] + r * job.src_step;
      for (std::int64_t c = 0; c < job.cols; ++c) {
        std::memcpy(dst + c * kItem, src + job.src_table[c], kItemBytes);
      }
    }
  }
}

template <std::size_t kItemBytes>
void TransposeScalar(const TransposeJob& job) {
  constexpr auto kItem = static_cast<std::int64_t>(kItemBytes);
  for (std::int64_t c = 0; c < job.cols; ++c) {
    for (std::int64_t r = 0; r < job.rows; ++r) {
      std::memcpy(job.dst + job.dst_offsets[c] + r * kItem,
                  job.src + job.src_offsets[r] + c * kItem, kItemBytes);
    }
  }
}

template <std::size_t kItemBytes>
void InterleaveScalar(const InterleaveJob& job) {
  constexpr auto kItem = static_cast<std::int64_t>(kItemBytes);
  for (std::int64_t i = 0; i < job.count; ++i) {
    for (std::int64_t k = 0; k < job.channels; ++k) {
      const std::int64_t in_plane = k * job.plane_bytes + i * kItem;
      const std::int64_t in_pixel = (i * job.channels + k) * kItem;
      std::memcpy(job.dst + (job.to_planes ? in_plane : in_pixel),
                  job.src + (job.to_planes ? in_pixel : in_plane), kItemBytes);
    }
  }
}

template <std::size_t kItemBytes>
CopyKernels KernelsOfItem() {
  return {CopyRowsScalar, CopyStridedRowsScalar<kItemBytes>, CopyTabledRowsScalar<kItemBytes>,
          TransposeScalar<kItemBytes>, InterleaveScalar<kItemBytes>};
}

template <CastElement Src, CastElement Dst>
bool CastRowsScalar(const CastRowsJob& job) {
  for (std::int64_t r = 0; r < job.rows; ++r) {
    std::byte* const dst = job.dst + job.dst_offsets[r];
    const std::byte* const src = job.src + job.src_offsets[r];
    for (std::int64_t c = 0; c < job.cols; ++c) {
      Dst converted{};
      if (!ConvertElement(LoadElement<Src>(src + c * std::int64_t{sizeof(Src)}), converted)) {
        return false;
      }
      StoreElement(dst + c * std::int64_t{sizeof(Dst)}, converted);
    }
  }
  return true;
}

}  // namespace

CopyKernels ScalarCopyKernels(int item_bytes) {
  switch (item_bytes) {
    case 1:
      return KernelsOfItem<1>();
    case 2:
      return KernelsOfItem<2>();
    case 4:
      return KernelsOfItem<4>();
    default:
      return KernelsOfItem<8>();
  }
}

CastRows ScalarCastRows(tensor::DataType src, tensor::DataType dst) {
  const auto reject = [](tensor::DataType) -> CastRows { return nullptr; };
  return VisitDType(
      src,
      [&](auto src_tag) -> CastRows {
        using Src = typename decltype(src_tag)::type;
        return VisitDType(
            dst,
            [](auto dst_tag) -> CastRows {
              using Dst = typename decltype(dst_tag)::type;
              if constexpr (CastElement<Src> && CastElement<Dst> && !std::same_as<Src, Dst>) {
                return CastRowsScalar<Src, Dst>;
              } else {
                return nullptr;
              }
            },
            reject);
      },
      reject);
}

}  // namespace engine::strided
