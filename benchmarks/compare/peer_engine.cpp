// The library behind the C interface of a benchmark that times several libraries on the same
// buffers in one process: prepare may plan, run executes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "memory/buffer.h"
#include "strided/copy_plan.h"
#include "strided/target.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace {

using engine::tensor::DataType;
using engine::tensor::Tensor;

// The interface's dtypes, in its order.
constexpr DataType kDataTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                                   DataType::kFloat64, DataType::kInt8,    DataType::kUInt8,
                                   DataType::kInt32,   DataType::kInt64};

struct PeerView {
  int dtype;
  int rank;
  std::int64_t shape[8];
  std::int64_t stride[8];  // elements
  char* data;
};

struct PeerCase {
  const char* name;
  PeerView src;
  PeerView dst;
};

struct Prepared {
  engine::strided::CopyPlan plan;
  Tensor dst;
  Tensor src;
};

// The caller's memory as a tensor.
engine::core::StatusOr<Tensor> Borrow(const PeerView& view) {
  const auto rank = static_cast<std::size_t>(view.rank);
  const std::span<const std::int64_t> dims(view.shape, rank);
  const std::span<const std::int64_t> strides(view.stride, rank);
  const DataType dtype = kDataTypes[view.dtype];
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < rank; ++i) elements += (dims[i] - 1) * strides[i];
  const auto bytes = static_cast<std::size_t>(elements * engine::tensor::itemsize(dtype));
  ENGINE_ASSIGN_OR_RETURN(engine::tensor::Shape shape, engine::tensor::Shape::FromDims(dims));
  ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<engine::memory::Buffer> buffer,
                          engine::memory::ShareBuffer(engine::memory::Buffer(
                              view.data, bytes, engine::tensor::Device::Cpu(), [](void*) {})));
  return Tensor::from_strided_buffer(std::move(buffer), 0, shape, engine::tensor::Strides(strides),
                                     dtype);
}

engine::core::StatusOr<Prepared> Prepare(const PeerCase& peer_case) {
  ENGINE_ASSIGN_OR_RETURN(Tensor dst, Borrow(peer_case.dst));
  ENGINE_ASSIGN_OR_RETURN(Tensor src, Borrow(peer_case.src));
  if (dst.dtype() == src.dtype()) {
    ENGINE_ASSIGN_OR_RETURN(engine::strided::CopyPlan plan,
                            engine::tensor::ops::plan_copy(dst, src));
    return Prepared{plan, std::move(dst), std::move(src)};
  }
  ENGINE_ASSIGN_OR_RETURN(engine::strided::CopyPlan plan, engine::tensor::ops::plan_cast(dst, src));
  return Prepared{plan, std::move(dst), std::move(src)};
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] const char* peer_init() {
  static const std::string info("engine_tensor on " + std::string(engine::strided::ActiveTarget()));
  return info.c_str();
}

[[gnu::visibility("default")]] void* peer_prepare(const PeerCase* peer_case) {
  auto prepared = Prepare(*peer_case);
  return prepared.ok() ? new (std::nothrow) Prepared(*std::move(prepared)) : nullptr;
}

[[gnu::visibility("default")]] void peer_run(void* state) {
  const auto* const prepared = static_cast<const Prepared*>(state);
  ENGINE_CHECK(prepared->plan.Run(prepared->dst.data(), prepared->src.data()),
               "an element was not representable");
}

[[gnu::visibility("default")]] void peer_free(void* state) { delete static_cast<Prepared*>(state); }

}  // extern "C"
