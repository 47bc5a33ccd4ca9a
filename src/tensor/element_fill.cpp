#include "tensor/element_fill.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "strided/layout.h"

namespace engine::tensor {
namespace {

// A multiple of every item size, and a handful of vector stores when copied whole.
constexpr std::size_t kBlockBytes = 64;

// One element, ready to be written many times, whatever its dtype.
class ElementPattern {
 public:
  // `element` holds item_bytes bytes, a power of two.
  ElementPattern(const std::byte* element, std::size_t item_bytes) : item_bytes_(item_bytes) {
    std::memcpy(block_.data(), element, item_bytes);
    for (std::size_t filled = item_bytes; filled < kBlockBytes; filled *= 2) {
      std::memcpy(block_.data() + filled, block_.data(), filled);
    }
    one_byte_ = std::memcmp(block_.data(), block_.data() + 1, kBlockBytes - 1) == 0;
  }

  // `count` > 0 elements, `stride` elements apart; dst not null.
  void WriteRow(std::byte* dst, std::int64_t stride, std::int64_t count) const {
    if (stride == 1 || count == 1) {
      WriteBytes(dst, static_cast<std::size_t>(count) * item_bytes_);
      return;
    }
    switch (item_bytes_) {
      case 1:
        return WriteStrided<1>(dst, stride, count);
      case 2:
        return WriteStrided<2>(dst, stride, count);
      case 4:
        return WriteStrided<4>(dst, stride, count);
      default:
        return WriteStrided<8>(dst, stride, count);
    }
  }

 private:
  void WriteBytes(std::byte* dst, std::size_t bytes) const {
    if (one_byte_) {
      std::memset(dst, std::to_integer<int>(block_[0]), bytes);
      return;
    }
    for (; bytes >= kBlockBytes; bytes -= kBlockBytes, dst += kBlockBytes) {
      std::memcpy(dst, block_.data(), kBlockBytes);
    }
    std::memcpy(dst, block_.data(), bytes);
  }

  template <std::int64_t kItemBytes>
  void WriteStrided(std::byte* dst, std::int64_t stride, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(dst + i * stride * kItemBytes, block_.data(), kItemBytes);
    }
  }

  std::array<std::byte, kBlockBytes> block_;
  std::size_t item_bytes_;
  bool one_byte_;
};

}  // namespace

void FillWithElement(const Shape& shape, const Strides& strides, DataType dtype, void* data,
                     const void* element) {
  if (shape.numel() == 0) return;
  const auto item_bytes = static_cast<std::size_t>(itemsize(dtype));
  const ElementPattern pattern(static_cast<const std::byte*>(element), item_bytes);
  // Merged axes, outermost first by stride: long rows, and the order of memory.
  const strided::Layout layout = strided::NormalizeLayout(shape, strides, strides);
  auto* const base = static_cast<std::byte*>(data);
  if (layout.rank <= 1) {
    const bool one = layout.rank == 0;
    return pattern.WriteRow(base, one ? 1 : layout.axes[0].dst_stride,
                            one ? 1 : layout.axes[0].extent);
  }
  Strides merged;
  DimVector extents;
  for (int i = 0; i < layout.rank; ++i) {
    extents.push_back(layout.axes[static_cast<std::size_t>(i)].extent);
    merged.push_back(layout.axes[static_cast<std::size_t>(i)].dst_stride);
  }
  strided::ForEachRow<1>(
      *Shape::FromDims(extents.values()), {&merged},
      [&](const auto& offsets, const auto& inner, std::int64_t count, std::int64_t /*first*/) {
        pattern.WriteRow(base + offsets[0] * static_cast<std::int64_t>(item_bytes), inner[0],
                         count);
        return true;
      });
}

}  // namespace engine::tensor
