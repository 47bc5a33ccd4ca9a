#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ops_test_util.h"
#include "tensor/ops.h"
#include "testing/status_matchers.h"

namespace engine::tensor::ops {
namespace {

using testing::TensorOf;
using testing::TensorOfBits;
using enum DataType;

constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

// What follows the header line.
std::string Rows(const Tensor& tensor, int edge_items = 3) {
  const std::string text = to_string(tensor, edge_items);
  return text.substr(text.find('\n') + 1);
}

TEST(ToStringTest, Header) {
  EXPECT_EQ(to_string(*zeros({2, 3}, kFloat32)),
            "Tensor(shape=[2, 3], dtype=float32, device=cpu)\n"
            "[[0, 0, 0],\n"
            " [0, 0, 0]]");
}

TEST(ToStringTest, Undefined) { EXPECT_EQ(to_string(Tensor()), "Tensor(undefined)"); }

// P69: an axis is cut only when it is longer than twice the edge.
TEST(ToStringTest, Truncation) {
  EXPECT_EQ(Rows(*arange(0, 6)), "[0, 1, 2, 3, 4, 5]");
  EXPECT_EQ(Rows(*arange(0, 7)), "[0, 1, 2, ..., 4, 5, 6]");
  EXPECT_EQ(Rows(*arange(0, 10)), "[0, 1, 2, ..., 7, 8, 9]");
  EXPECT_EQ(Rows(*arange(0, 3), 1), "[0, ..., 2]");
  EXPECT_EQ(Rows(*arange(0, 2), 1), "[0, 1]");
  EXPECT_EQ(Rows(*arange(0, 10), std::numeric_limits<int>::max()),
            "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
}

TEST(ToStringTest, TruncatedOuterAxes) {
  EXPECT_EQ(Rows(*arange(0, 20)->reshape({5, 4}), 1),
            "[[0, ..., 3],\n"
            " ...,\n"
            " [16, ..., 19]]");
  EXPECT_EQ(Rows(*arange(0, 12)->reshape({3, 2, 2}), 1),
            "[[[0, 1],\n"
            "  [2, 3]],\n"
            "\n"
            " ...,\n"
            "\n"
            " [[8, 9],\n"
            "  [10, 11]]]");
}

// The nesting of numpy: n line breaks between blocks of n axes.
TEST(ToStringTest, Nesting) {
  EXPECT_EQ(Rows(*arange(0, 8)->reshape({2, 2, 2})),
            "[[[0, 1],\n"
            "  [2, 3]],\n"
            "\n"
            " [[4, 5],\n"
            "  [6, 7]]]");
  EXPECT_EQ(Rows(*arange(0, 4)->reshape({2, 1, 1, 2})),
            "[[[[0, 1]]],\n"
            "\n"
            "\n"
            " [[[2, 3]]]]");
}

TEST(ToStringTest, StridedViews) {
  const Tensor matrix = *arange(0, 12)->reshape({3, 4});
  EXPECT_EQ(Rows(*matrix.transpose(0, 1)), "[[0, 4, 8],\n [1, 5, 9],\n [2, 6, 10],\n [3, 7, 11]]");
  EXPECT_EQ(Rows(*matrix.slice(1, 1, 3)), "[[1, 2],\n [5, 6],\n [9, 10]]");
}

// P70: empty, scalar, small integers as numbers, extremes.
TEST(ToStringTest, EmptyTensors) {
  // P45: over null storage.
  for (const DataType dtype : testing::StorableDTypes()) {
    EXPECT_EQ(Rows(*zeros({0}, dtype)), "[]");
    EXPECT_EQ(Rows(*zeros({2, 0, 3}, dtype)), "[]");
  }
  EXPECT_EQ(to_string(*zeros({2, 0}, kInt8)), "Tensor(shape=[2, 0], dtype=int8, device=cpu)\n[]");
}

TEST(ToStringTest, ScalarsAndExtremes) {
  EXPECT_EQ(Rows(*full({}, 7, kInt32)), "7");
  EXPECT_EQ(Rows(TensorOf<std::uint8_t>({2}, {65, 255})), "[65, 255]");
  EXPECT_EQ(Rows(TensorOf<std::int8_t>({2}, {65, -128})), "[65, -128]");
  EXPECT_EQ(Rows(TensorOf<std::int16_t>({2}, {-32768, 32767})), "[-32768, 32767]");
  EXPECT_EQ(Rows(TensorOf<std::int64_t>({2}, {kInt64Min, kInt64Max})),
            "[-9223372036854775808, 9223372036854775807]");
  EXPECT_EQ(Rows(*full({1}, std::numeric_limits<std::uint64_t>::max(), kUInt64)),
            "[18446744073709551615]");
}

// The shortest form that reads back exactly; a half prints that of its float.
TEST(ToStringTest, FloatingValues) {
  EXPECT_EQ(Rows(TensorOfBits({1}, kBFloat16, {0x7F7F})), "[3.3895314e+38]");
  EXPECT_EQ(Rows(TensorOfBits({1}, kFloat16, {0x2E66})), "[0.099975586]");
  EXPECT_EQ(Rows(TensorOf<float>({4}, {0.1f, -2.5f, 16777216.0f, 1e-45f})),
            "[0.1, -2.5, 16777216, 1e-45]");
  EXPECT_EQ(Rows(TensorOf<double>({3}, {0.1, -0.0, 1.7976931348623157e308})),
            "[0.1, -0, 1.7976931348623157e+308]");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(
      Rows(TensorOf<float>({3}, {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})),
      "[inf, -inf, nan]");
}

// P23: any byte but 0 is true.
TEST(ToStringTest, BoolBytes) {
  const Tensor bytes = *TensorOf<std::uint8_t>({4}, {0, 1, 2, 255}).view_as_dtype(kBool);
  EXPECT_EQ(Rows(bytes), "[false, true, true, true]");
}

TEST(ToStringTest, EveryDType) {
  for (const DataType dtype : testing::StorableDTypes()) {
    const Tensor tensor = testing::PoisonedTensor({2}, dtype, 1);
    ENGINE_ASSERT_OK(fill(tensor, 1));
    EXPECT_EQ(to_string(tensor), fmt::format("Tensor(shape=[2], dtype={}, device=cpu)\n{}", dtype,
                                             dtype == kBool ? "[true, true]" : "[1, 1]"));
  }
}

// The stride of an axis of extent 1 is never multiplied out.
TEST(ToStringTest, HugeStrideOfAnAxisOfExtentOne) {
  const Tensor storage = TensorOf<double>({2}, {1, 2});
  ENGINE_ASSERT_OK_AND_ASSIGN(
      const Tensor tensor,
      Tensor::from_strided_buffer(storage.buffer(), 0, {1, 2}, Strides{kInt64Max, 1}, kFloat64));
  EXPECT_EQ(Rows(tensor), "[[1, 2]]");
}

TEST(ToStringTest, IndependentOfTheHostsFloatingPointMode) {
  const Tensor floats = TensorOf<float>({2}, {1e-40f, 0.1f});
  const Tensor doubles = TensorOf<double>({2}, {1e-310, 0.1});
  const Tensor halves = TensorOfBits({2}, kBFloat16, {0x0001, 0x3DCD});
  for (const testing::FpMode& mode : testing::kHostFpModes) {
    std::vector<std::string> texts(3);
    const std::uint64_t after = testing::ControlAfter(mode.control, [&] {
      texts[0] = to_string(floats);
      texts[1] = to_string(doubles);
      texts[2] = to_string(halves);
    });
    EXPECT_EQ(after, mode.control) << mode.name;
    EXPECT_THAT(texts[0], ::testing::HasSubstr("[1e-40, 0.1]")) << mode.name;
    EXPECT_THAT(texts[1], ::testing::HasSubstr("[1e-310, 0.1]")) << mode.name;
    EXPECT_THAT(texts[2], ::testing::HasSubstr("[9.1835e-41, 0.100097656]")) << mode.name;
  }
}

// 16 GiB of address space without memory behind it, and how many pages of it have been touched.
class LazyRegion {
 public:
  LazyRegion() {
    void* const data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return;
    // Huge pages would count 512 for one touch.
    madvise(data, kBytes, MADV_NOHUGEPAGE);
    buffer_ = std::make_shared<memory::Buffer>(data, kBytes, Device::Cpu(),
                                               [](void* mapping) { munmap(mapping, kBytes); });
  }

  [[nodiscard]] const std::shared_ptr<memory::Buffer>& buffer() const { return buffer_; }
  [[nodiscard]] std::int64_t ResidentPages() const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(kBytes / page);
    EXPECT_EQ(mincore(buffer_->data(), kBytes, pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(),
                         [](unsigned char page_state) { return (page_state & 1u) != 0; });
  }

  static constexpr std::size_t kBytes = std::size_t{1} << 34;

 private:
  std::shared_ptr<memory::Buffer> buffer_;
};

// P71: only the shown elements are read, wherever the long axis is.
TEST(ToStringTest, HugeTensorsTouchTheirEdgesOnly) {
  constexpr std::int64_t kLong = std::int64_t{1} << 34;
  struct Case {
    Shape shape;
    std::int64_t most_pages;
    std::string rows;
  };
  const std::vector<Case> cases = {
      {{1, kLong}, 2, "[[0, 0, 0, ..., 0, 0, 0]]"},
      {{kLong, 1}, 2, "[[0],\n [0],\n [0],\n ...,\n [0],\n [0],\n [0]]"},
      {{2, kLong / 2}, 4, "[[0, 0, 0, ..., 0, 0, 0],\n [0, 0, 0, ..., 0, 0, 0]]"}};
  for (const Case& test : cases) {
    const LazyRegion region;
    ASSERT_NE(region.buffer(), nullptr);
    ASSERT_EQ(region.ResidentPages(), 0);
    ENGINE_ASSERT_OK_AND_ASSIGN(const Tensor tensor,
                                Tensor::from_buffer(region.buffer(), 0, test.shape, kInt8));
    EXPECT_EQ(Rows(tensor), test.rows);
    EXPECT_LE(region.ResidentPages(), test.most_pages);
    EXPECT_GT(region.ResidentPages(), 0);
  }
}

}  // namespace
}  // namespace engine::tensor::ops
