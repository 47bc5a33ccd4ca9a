// Dequantisation of contiguous runs, once per target, and the walk over strided sources. Highway
// includes this file again for each target (HWY_TARGET_INCLUDE); what is outside the target
// namespace is compiled once (HWY_ONCE).
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/check.h"
#include "strided/convert.h"
#include "strided/dequantize.h"
#include "strided/fp_environment.h"
#include "strided/internal/active_target.h"
#include "strided/internal/highway_targets.h"
#include "strided/layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strided/dequantize_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

namespace engine::strided {
// `count` contiguous elements.
using DequantizeRun = void (*)(std::byte* dst, const std::byte* src, std::int64_t count,
                               Quantization quantization);
}  // namespace engine::strided

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// For zero points with which no difference leaves int32: its conversion to float then rounds like
// that of the 64-bit difference.
template <typename T>
HWY_INLINE void DequantizeVectors(std::byte* HWY_RESTRICT dst_bytes,
                                  const std::byte* HWY_RESTRICT src_bytes, int64_t count,
                                  Quantization quantization) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<T, decltype(di)> dq;
  const auto zero_point = hn::Set(di, quantization.zero_point);
  const auto scale = hn::Set(df, quantization.scale);
  auto* const dst = reinterpret_cast<float*>(dst_bytes);
  const auto* const src = reinterpret_cast<const T*>(src_bytes);
  const auto step = [&](int64_t i) HWY_ATTR {
    const auto difference = hn::Sub(hn::PromoteTo(di, hn::LoadU(dq, src + i)), zero_point);
    hn::StoreU(hn::Mul(hn::ConvertTo(df, difference), scale), df, dst + i);
  };
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    step(i);
    step(i + lanes);
    step(i + 2 * lanes);
    step(i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) step(i);
  for (; i < count; ++i) {
    StoreElement(dst_bytes + i * int64_t{sizeof(float)},
                 DequantizeElement(LoadElement<T>(src_bytes + i), quantization));
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace

// Null where the target has no vectors.
DequantizeRun DequantizeRunOf(bool is_signed) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(is_signed);
  return nullptr;
#else
  return is_signed ? DequantizeVectors<std::int8_t> : DequantizeVectors<std::uint8_t>;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace engine::strided {
namespace {

template <typename T>
void DequantizeScalar(std::byte* dst, const std::byte* src, std::int64_t count,
                      Quantization quantization) {
  for (std::int64_t i = 0; i < count; ++i) {
    StoreElement(dst + i * std::int64_t{sizeof(float)},
                 DequantizeElement(LoadElement<T>(src + i), quantization));
  }
}

DequantizeRun ChooseRun(bool is_signed, std::int32_t zero_point) {
  static constexpr DequantizeRun (*kTable[])(bool) = ENGINE_TARGET_TABLE(DequantizeRunOf);
  using Int32 = std::numeric_limits<std::int32_t>;
  constexpr std::int64_t kLowest = std::numeric_limits<std::int8_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::uint8_t>::max();
  const bool fits = kLowest - zero_point >= Int32::min() && kHighest - zero_point <= Int32::max();
  if (ActiveTargetKind() != Target::kScalar && fits) {
    return kTable[static_cast<std::size_t>(ActiveTargetKind())](is_signed);
  }
  return is_signed ? DequantizeScalar<std::int8_t> : DequantizeScalar<std::uint8_t>;
}

// Writes rows one after another. Long contiguous rows are converted where they are, others packed
// together first.
class RowWriter {
 public:
  RowWriter(std::byte* dst, DequantizeRun run, Quantization quantization)
      : dst_(dst), run_(run), quantization_(quantization) {}

  void Add(const std::byte* src, std::int64_t stride, std::int64_t count) {
    if (stride == 1 && count >= kDirect) {
      Flush();
      Convert(src, count);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      packed_[static_cast<std::size_t>(used_++)] = src[i * stride];
      if (used_ == kPacked) Flush();
    }
  }

  void Flush() {
    Convert(packed_.data(), used_);
    used_ = 0;
  }

 private:
  static constexpr std::int64_t kPacked = 4096;
  static constexpr std::int64_t kDirect = 256;

  void Convert(const std::byte* src, std::int64_t count) {
    run_(dst_, src, count, quantization_);
    dst_ += count * std::int64_t{sizeof(float)};
  }

  std::byte* dst_;
  DequantizeRun run_;
  Quantization quantization_;
  std::int64_t used_ = 0;
  std::array<std::byte, kPacked> packed_;
};

}  // namespace

void Dequantize(void* dst, const void* src, const tensor::Shape& shape,
                const tensor::Strides& src_strides, tensor::DataType src_dtype,
                Quantization quantization) {
  const bool is_signed = src_dtype == tensor::DataType::kInt8;
  ENGINE_CHECK(is_signed || src_dtype == tensor::DataType::kUInt8,
               "Dequantize: dtype {}, expected int8 or uint8", src_dtype);
  ENGINE_CHECK((std::bit_cast<std::uint32_t>(quantization.scale) & 0x7F800000u) != 0x7F800000u,
               "Dequantize: scale {}, expected finite", quantization.scale);
  const bool is_contiguous = tensor::IsContiguous(shape, src_strides);
  const DequantizeRun run = ChooseRun(is_signed, quantization.zero_point);
  auto* const to = static_cast<std::byte*>(dst);
  const auto* const from = static_cast<const std::byte*>(src);
  const ScopedDefaultFpEnvironment fp_environment;
  if (is_contiguous) {
    run(to, from, shape.numel(), quantization);
    return;
  }
  RowWriter writer(to, run, quantization);
  ForEachRow<1>(shape, {&src_strides},
                [&](const auto& offsets, const auto& strides, std::int64_t count, std::int64_t) {
                  writer.Add(from + offsets[0], strides[0], count);
                  return true;
                });
  writer.Flush();
}

}  // namespace engine::strided
#endif  // HWY_ONCE
