// testing/guarded_copy.h: a copy or cast between inaccessible pages.
// Test support; never installed.
#ifndef ENGINE_TESTING_GUARDED_COPY_H_
#define ENGINE_TESTING_GUARDED_COPY_H_

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/check.h"
#include "strided/copy_plan.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "testing/guarded_memory.h"
#include "testing/reference.h"

namespace engine::testing {

// What a trial copies: shape, both sides, and how many bytes each is moved away from the pages.
struct GuardedCase {
  tensor::Shape shape;
  tensor::DataType dst_dtype;
  tensor::Strides dst_strides;
  tensor::DataType src_dtype;
  tensor::Strides src_strides;
  std::int64_t dst_shift = 0;
  std::int64_t src_shift = 0;
};

// Two memories, used over and over: mapping them takes longer than most copies.
class GuardedCopy {
 public:
  explicit GuardedCopy(std::size_t bytes_per_side) : dst_(bytes_per_side), src_(bytes_per_side) {}

  // Runs the case twice: both sides against the page behind them, then against the one before. A
  // read or write outside of a side faults. Returns what differs from the expected bytes: elements,
  // the bytes between them, and those around; empty when nothing does. Every bit between elements
  // of the source is set: as NaN or -1 it fails most checks when a kernel lets it take part. With
  // `last_misfits`, so is every bit of the last element (in logical order), which the destination's
  // dtype must not hold; the run must then fail, and leave everything but elements alone.
  [[nodiscard]] std::string Run(const GuardedCase& c, bool last_misfits = false) {
    const std::int64_t src_bytes = WindowBytes(c.shape, c.src_strides, c.src_dtype);
    const std::int64_t dst_bytes = WindowBytes(c.shape, c.dst_strides, c.dst_dtype);
    ENGINE_CHECK(src_bytes + c.src_shift <= static_cast<std::int64_t>(src_.size_bytes()));
    ENGINE_CHECK(dst_bytes + c.dst_shift <= static_cast<std::int64_t>(dst_.size_bytes()));
    FillImages(c, src_bytes, dst_bytes, last_misfits);
    const strided::CopyPlan plan =
        strided::CopyPlan::Make(c.shape, c.dst_dtype, c.dst_strides, c.src_dtype, c.src_strides);
    for (const bool at_end : {true, false}) {
      std::byte* const from =
          at_end ? src_.end() - c.src_shift - src_bytes : src_.begin() + c.src_shift;
      std::byte* const to =
          at_end ? dst_.end() - c.dst_shift - dst_bytes : dst_.begin() + c.dst_shift;
      // As far as a kernel could stray: a few of the widest vectors.
      std::byte* const first = std::max(to - kMargin, dst_.begin());
      std::byte* const last = std::min(to + dst_bytes + kMargin, dst_.end());
      std::copy(src_image_.begin(), src_image_.end(), from);  // memcpy takes no null, even for 0
      std::memset(first, kCanary, static_cast<std::size_t>(last - first));
      const bool fits = plan.Run(to, from);
      if (fits == last_misfits) return Describe(c, at_end, fmt::format("the plan says {}", fits));
      if (last_misfits) TakeElements(c, to);
      const bool clean =
          std::all_of(first, to, IsCanary) && std::all_of(to + dst_bytes, last, IsCanary);
      if (!clean) return Describe(c, at_end, "bytes outside of the destination changed");
      if (!std::equal(dst_image_.begin(), dst_image_.end(), to)) {
        const auto wrong = std::mismatch(dst_image_.begin(), dst_image_.end(), to);
        return Describe(c, at_end,
                        fmt::format("byte {} of the destination is {:#04x}, expected {:#04x}",
                                    wrong.second - to, static_cast<unsigned>(*wrong.second),
                                    static_cast<unsigned>(*wrong.first)));
      }
    }
    return "";
  }

 private:
  static constexpr std::ptrdiff_t kMargin = 256;
  static constexpr int kCanary = 0xEE;
  static bool IsCanary(std::byte byte) { return byte == std::byte{kCanary}; }

  static std::int64_t WindowBytes(const tensor::Shape& shape, const tensor::Strides& strides,
                                  tensor::DataType dtype) {
    if (shape.numel() == 0) return 0;
    std::int64_t last = 0;
    for (int i = 0; i < shape.rank(); ++i) last += (shape.dim(i) - 1) * strides[i];
    return (last + 1) * tensor::itemsize(dtype);
  }

  // Casts move small integers, whose patterns differ from dtype to dtype; copies any bytes.
  void FillImages(const GuardedCase& c, std::int64_t src_bytes, std::int64_t dst_bytes,
                  bool last_misfits) {
    const int src_item = tensor::itemsize(c.src_dtype);
    const int dst_item = tensor::itemsize(c.dst_dtype);
    const std::array<std::uint64_t, kSmall> src_patterns = PatternsOfSmall(c.src_dtype);
    const std::array<std::uint64_t, kSmall> dst_patterns = PatternsOfSmall(c.dst_dtype);
    // All bits set: NaN, -1, or the largest unsigned integer.
    src_image_.assign(static_cast<std::size_t>(src_bytes), std::byte{0xFF});
    dst_image_.assign(static_cast<std::size_t>(dst_bytes), std::byte{kCanary});
    std::int64_t last_from = 0;
    reference::ForEachElement(c.shape, c.dst_strides, c.src_strides,
                              [&](std::int64_t to, std::int64_t from) {
                                // Of the place, so that a repeated element has one value. Fibonacci hashing, folded: every
                                // byte varies, also along places a power of two apart.
                                const std::uint64_t product =
                                    (static_cast<std::uint64_t>(from) + 1) * 0x9E3779B97F4A7C15u;
                                const std::uint64_t hash = product ^ (product >> 32);
                                const bool copies = c.dst_dtype == c.src_dtype;
                                const std::size_t small = (hash >> 32) % kSmall;
                                reference::StoreBits(src_image_.data() + from * src_item,
                                                     copies ? hash : src_patterns[small], src_item);
                                reference::StoreBits(dst_image_.data() + to * dst_item,
                                                     copies ? hash : dst_patterns[small], dst_item);
                                last_from = from;
                              });
    if (last_misfits) {
      std::memset(src_image_.data() + last_from * src_item, 0xFF,
                  static_cast<std::size_t>(src_item));
    }
  }

  // After a failed run the elements are unspecified: whatever they are, they are as expected.
  void TakeElements(const GuardedCase& c, const std::byte* to) {
    const int item = tensor::itemsize(c.dst_dtype);
    reference::ForEachElement(c.shape, c.dst_strides, c.dst_strides,
                              [&](std::int64_t at, std::int64_t) {
                                std::memcpy(dst_image_.data() + at * item, to + at * item,
                                            static_cast<std::size_t>(item));
                              });
  }

  // The patterns of 0, 1, 2, ...; every castable dtype holds them.
  static constexpr std::size_t kSmall = 101;
  static std::array<std::uint64_t, kSmall> PatternsOfSmall(tensor::DataType dtype) {
    std::array<std::uint64_t, kSmall> patterns{};
    if (dtype == tensor::DataType::kBool) return patterns;  // never cast
    for (std::size_t i = 0; i < kSmall; ++i) {
      patterns[i] = *reference::ConvertBits(dtype, tensor::DataType::kUInt8, i);
    }
    return patterns;
  }

  static std::string Describe(const GuardedCase& c, bool at_end, const std::string& what) {
    return fmt::format("{} {} -> {} {} of shape {}, shifts {} and {}, against the page {}: {}",
                       c.src_dtype, c.src_strides, c.dst_dtype, c.dst_strides, c.shape, c.src_shift,
                       c.dst_shift, at_end ? "behind" : "before", what);
  }

  GuardedMemory dst_;
  GuardedMemory src_;
  std::vector<std::byte> src_image_;
  std::vector<std::byte> dst_image_;
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_GUARDED_COPY_H_
