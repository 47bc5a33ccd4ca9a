// strided/internal/periodic_rows-inl.h: rows by table as lookups in vectors, for AVX-512.
//
// A Highway "-inl" header: see cast_vectors-inl.h.

#if defined(ENGINE_STRIDED_INTERNAL_PERIODIC_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ENGINE_STRIDED_INTERNAL_PERIODIC_ROWS_INL_H_
#undef ENGINE_STRIDED_INTERNAL_PERIODIC_ROWS_INL_H_
#else
#define ENGINE_STRIDED_INTERNAL_PERIODIC_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace engine::strided {
namespace HWY_NAMESPACE {
namespace {

// v's lanes by index, where the mask is set; elsewhere `rest`. Highway 1.0 has no masked lookup.
HWY_INLINE __m512i MaskedLookup(uint16_t /*item*/, __m512i rest, uint64_t mask, __m512i index,
                                __m512i v) {
  return _mm512_mask_permutexvar_epi16(rest, static_cast<__mmask32>(mask), index, v);
}
HWY_INLINE __m512i MaskedLookup(uint32_t /*item*/, __m512i rest, uint64_t mask, __m512i index,
                                __m512i v) {
  return _mm512_mask_permutexvar_epi32(rest, static_cast<__mmask16>(mask), index, v);
}
HWY_INLINE __m512i MaskedLookup(uint64_t /*item*/, __m512i rest, uint64_t mask, __m512i index,
                                __m512i v) {
  return _mm512_mask_permutexvar_epi64(rest, static_cast<__mmask8>(mask), index, v);
}

// Note [Periodic rows] Small matrices one after another, pixels of many planes, windows: rows of
// `period` items at equal distances, the same pattern in each, one row after the other in the
// destination. As many rows as make whole vectors are a group. Each of its vectors is put together
// from the few places of the source that hold its items: a load, a lookup, a mask for each. They
// are the same for every group.
template <typename T>
class PeriodicRows {
 public:
  // A pattern that PeriodFits accepted. `table` is in bytes, as is the distance of rows.
  PeriodicRows(const int64_t* table, int64_t period, int64_t row_bytes)
      : row_items_(row_bytes / kItem) {
    while (group_rows_ * period % kLanes != 0) group_rows_ *= 2;
    vectors_ = group_rows_ * period / kLanes;
    last_ = table[0] / kItem;
    for (int64_t c = 1; c < period; ++c) last_ = HWY_MAX(last_, table[c] / kItem);
    int64_t col = 0;
    int64_t row = 0;
    for (int64_t v = 0; v < vectors_; ++v) {
      int64_t from[kLanes];
      for (int64_t& item : from) {
        item = row * row_items_ + table[col] / kItem;
        if (++col == period) {
          col = 0;
          ++row;
        }
      }
      PrepareVector(from, v);
    }
  }

  // Copies groups from the first of `rows` rows on; returns the rows done. Loads stay between the
  // first and the last item of the rows.
  int64_t Copy(std::byte* to, const std::byte* from, int64_t rows) const {
    const auto* src = reinterpret_cast<const T*>(from);
    auto* dst = reinterpret_cast<T*>(to);
    const int64_t end = (rows - 1) * row_items_ + last_ + 1;
    int64_t row = 0;
    for (; row + group_rows_ <= rows && row * row_items_ + reach_ <= end; row += group_rows_) {
      int64_t lookup = 0;
      for (int64_t v = 0; v < vectors_; ++v, dst += kLanes) {
        __m512i items = _mm512_setzero_si512();
        for (int64_t k = counts_[v]; k > 0; --k, ++lookup) {
          items = MaskedLookup(T{}, items, masks_[lookup], _mm512_load_si512(index_[lookup]),
                               _mm512_loadu_si512(src + offsets_[lookup]));
        }
        _mm512_storeu_si512(dst, items);
      }
      src += group_rows_ * row_items_;
    }
    return row;
  }

 private:
  static constexpr int64_t kItem = sizeof(T);
  static constexpr int64_t kLanes = 64 / kItem;

  // The items of vector `v` are those of the source at `from`.
  void PrepareVector(const int64_t* from, int64_t v) {
    uint64_t missing = (uint64_t{1} << kLanes) - 1;
    counts_[v] = 0;
    for (; missing != 0; ++counts_[v], ++num_lookups_) {
      int64_t first = INT64_MAX;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        if ((missing >> lane & 1) != 0) first = HWY_MIN(first, from[lane]);
      }
      uint64_t mask = 0;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t index = from[lane] - first;
        const bool inside = index >= 0 && index < kLanes && (missing >> lane & 1) != 0;
        index_[num_lookups_][lane] = static_cast<T>(inside ? index : 0);
        mask |= uint64_t{inside} << lane;
      }
      masks_[num_lookups_] = mask;
      offsets_[num_lookups_] = first;
      missing &= ~mask;
      reach_ = HWY_MAX(reach_, first + kLanes);
    }
  }

  int64_t row_items_;
  int64_t group_rows_ = 1;
  int64_t vectors_ = 0;
  int64_t last_ = 0;   // items from a row's address to its last
  int64_t reach_ = 0;  // likewise, from a group's to the end of its loads
  int64_t num_lookups_ = 0;
  int64_t counts_[kMaxPeriod];
  // Of each lookup: where its vector is (items from the group's first row), which of its items go
  // to which lanes.
  int64_t offsets_[kMaxLookups];
  uint64_t masks_[kMaxLookups];
  alignas(64) T index_[kMaxLookups][kLanes];
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace engine::strided
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3

#endif  // per-target include guard
