#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "compare/peers.h"

namespace engine::benchmarks {
namespace {

using tensor::DataType;
using DnnlType = dnnl::memory::data_type;

std::optional<DnnlType> TypeOf(DataType dtype) {
  using enum DataType;
  switch (dtype) {
    case kFloat32:
      return DnnlType::f32;
    case kFloat16:
      return DnnlType::f16;
    case kBFloat16:
      return DnnlType::bf16;
    case kInt8:
      return DnnlType::s8;
    case kUInt8:
      return DnnlType::u8;
    case kInt32:
      return DnnlType::s32;
    default:
      return std::nullopt;
  }
}

constexpr std::int64_t kMostForReference = std::int64_t{16} << 20;

class OneDnn final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "oneDNN"; }
  [[nodiscard]] std::string version() const override {
    const dnnl_version_t* const version = dnnl_version();
    return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
  }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    const Case& layout = *task.layout;
    const std::optional<DnnlType> dst_type = TypeOf(layout.dst);
    const std::optional<DnnlType> src_type = TypeOf(layout.src);
    if (!dst_type.has_value() || !src_type.has_value()) return nullptr;
    // What a layout cannot be reordered from is an exception.
    try {
      dnnl::memory dst = Borrow(task.dst, layout, layout.dst_strides, *dst_type);
      dnnl::memory src = Borrow(task.src, layout, layout.src_strides, *src_type);
      const dnnl::reorder::primitive_desc description(src, dst);
      // Its reference code takes about 100 ns an element: minutes, for the largest layouts.
      const bool is_reference = std::string_view(description.impl_info_str()).starts_with("ref");
      if (is_reference && layout.total_bytes() > kMostForReference) return nullptr;
      dnnl::reorder reorder(description);
      std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_FROM, src}, {DNNL_ARG_TO, dst}};
      return MakeJob([stream = stream_, reorder = std::move(reorder),
                      arguments = std::move(arguments)]() mutable {
        reorder.execute(stream, arguments);
        stream.wait();
      });
    } catch (const dnnl::error&) {
      return nullptr;
    }
  }
  [[nodiscard]] std::string Difference(const Case& layout) const override {
    const bool to_integer = tensor::is_integral(layout.dst) && layout.dst != layout.src;
    return to_integer ? "rounds to nearest and saturates" : "";
  }

 private:
  dnnl::memory Borrow(const std::byte* data, const Case& layout, const tensor::Strides& strides,
                      DnnlType type) {
    const dnnl::memory::dims dims(layout.shape.dims().begin(), layout.shape.dims().end());
    const dnnl::memory::desc description(dims, type,
                                         dnnl::memory::dims(strides.begin(), strides.end()));
    return dnnl::memory(description, engine_, const_cast<std::byte*>(data));
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
};

}  // namespace

PeerOr MakeOneDnn() { return std::make_unique<OneDnn>(); }

}  // namespace engine::benchmarks
