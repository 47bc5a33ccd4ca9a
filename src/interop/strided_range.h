// interop/strided_range.h: the elements of any tensor as a random-access range.
// Layer 4.
//
//   ENGINE_ASSIGN_OR_RETURN(const auto values, interop::ElementsOf<const float>(tensor));
//   const float largest = *std::max_element(values.begin(), values.end());
//
// For algorithms and tests. A step along the innermost axis is one addition, into the next row some
// divisions; loops that must be fast belong into tensor/ops.h or over rows.
#ifndef ENGINE_INTEROP_STRIDED_RANGE_H_
#define ENGINE_INTEROP_STRIDED_RANGE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "core/check.h"
#include "core/status.h"
#include "interop/span.h"
#include "strided/layout.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace engine::interop {

// The elements in row-major order, whatever the strides. Keeps the storage alive; iterators are
// valid as long as the range they came from, and refer to elements by T&.
//
// Thread safety: as a const container.
template <ViewableElement T>
class StridedRange {
 public:
  class Iterator;
  // As the standard's containers name them; const and plain ranges iterate alike.
  using value_type = std::remove_const_t<T>;
  using reference = T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = Iterator;
  using const_iterator = Iterator;

  // At the first element.
  [[nodiscard]] Iterator begin() const { return Iterator(this, 0); }
  // One past the last element.
  [[nodiscard]] Iterator end() const { return Iterator(this, layout_.numel); }
  // The tensor's number of elements.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(layout_.numel); }
  // Whether there are none.
  [[nodiscard]] bool empty() const { return layout_.numel == 0; }
  // CHECKs index < size().
  [[nodiscard]] T& operator[](std::size_t index) const {
    ENGINE_CHECK(index < size(), "StridedRange: index {} is outside [0, {})", index, size());
    return *Iterator(this, static_cast<std::int64_t>(index));
  }

 private:
  template <ViewableElement U>
  friend core::StatusOr<StridedRange<U>> ElementsOf(const tensor::Tensor& tensor);

  explicit StridedRange(const tensor::Tensor& tensor)
      : tensor_(tensor),
        data_(static_cast<T*>(tensor.data())),
        // Against row-major order on the other side, so that axes keep their order and merge where
        // that is how memory goes on.
        layout_(strided::NormalizeLayout(tensor.shape(), RowMajorStrides(tensor.shape()),
                                         tensor.strides())) {
    if (layout_.rank > 0) {
      const strided::Axis& inner = layout_.axes[static_cast<std::size_t>(layout_.rank - 1)];
      row_elements_ = inner.extent;
      step_ = inner.src_stride;
    }
  }

  // The element that begins the row of a logical index.
  [[nodiscard]] T* RowOf(std::int64_t index) const {
    std::int64_t row = index / row_elements_;
    std::int64_t offset = 0;
    for (int i = layout_.rank - 2; i >= 0; --i) {
      const strided::Axis& axis = layout_.axes[static_cast<std::size_t>(i)];
      offset += row % axis.extent * axis.src_stride;
      row /= axis.extent;
    }
    return data_ + offset;
  }

  tensor::Tensor tensor_;
  T* data_;
  strided::Layout layout_;
  std::int64_t row_elements_ = 1;
  std::int64_t step_ = 0;
};

// A random-access iterator over the elements; valid as long as its range.
template <ViewableElement T>
class StridedRange<T>::Iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  // Singular: may be assigned to and destroyed.
  Iterator() = default;

  T& operator*() const { return row_[column_ * range_->step_]; }
  T* operator->() const { return &**this; }
  T& operator[](std::ptrdiff_t n) const { return *(*this + n); }

  Iterator& operator++() {
    if (++column_ == range_->row_elements_) Seek(index() /* of the next row */);
    return *this;
  }
  Iterator operator++(int) {
    Iterator before = *this;
    ++*this;
    return before;
  }
  Iterator& operator--() {
    if (column_ == 0) return *this += -1;
    --column_;
    return *this;
  }
  Iterator operator--(int) {
    Iterator before = *this;
    --*this;
    return before;
  }
  Iterator& operator+=(std::ptrdiff_t n) {
    Seek(index() + n);
    return *this;
  }
  Iterator& operator-=(std::ptrdiff_t n) { return *this += -n; }
  friend Iterator operator+(Iterator it, std::ptrdiff_t n) { return it += n; }
  friend Iterator operator+(std::ptrdiff_t n, Iterator it) { return it += n; }
  friend Iterator operator-(Iterator it, std::ptrdiff_t n) { return it -= n; }
  friend std::ptrdiff_t operator-(const Iterator& a, const Iterator& b) {
    return a.index() - b.index();
  }
  // Of iterators of one range.
  friend bool operator==(const Iterator& a, const Iterator& b) { return a.index() == b.index(); }
  friend std::strong_ordering operator<=>(const Iterator& a, const Iterator& b) {
    return a.index() <=> b.index();
  }

 private:
  friend class StridedRange;

  Iterator(const StridedRange* range, std::int64_t index) : range_(range) { Seek(index); }

  [[nodiscard]] std::int64_t index() const { return first_ + column_; }
  void Seek(std::int64_t index) {
    // One past the last element begins a row that does not exist; nothing is computed for it.
    const bool inside = index >= 0 && index < range_->layout_.numel;
    column_ = inside ? index % range_->row_elements_ : 0;
    first_ = index - column_;
    row_ = inside ? range_->RowOf(index) : range_->data_;
  }

  const StridedRange* range_ = nullptr;
  T* row_ = nullptr;         // its first element
  std::int64_t first_ = 0;   // the logical index of that
  std::int64_t column_ = 0;  // in the row
};

// Every element, in row-major order. Give the range a name before iterating: the result of
// `for (float v : *ElementsOf<float>(t))` dies before the loop begins.
//   Errors   those of AsSpan, without contiguity.
template <ViewableElement T>
[[nodiscard]] core::StatusOr<StridedRange<T>> ElementsOf(const tensor::Tensor& tensor) {
  ENGINE_RETURN_IF_ERROR(internal::CheckViewableAs<T>(tensor));
  return StridedRange<T>(tensor);
}

}  // namespace engine::interop

#endif  // ENGINE_INTEROP_STRIDED_RANGE_H_
