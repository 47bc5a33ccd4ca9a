#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "core/check.h"
#include "harness/contender.h"
#include "memory/buffer.h"
#include "strided/copy_plan.h"
#include "strided/target.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"

namespace engine::benchmarks {
namespace {

namespace ops = tensor::ops;
using tensor::DataType;
using tensor::Tensor;

class Memcpy final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "memcpy"; }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    const auto bytes = static_cast<std::size_t>(task.layout->total_bytes() / 2);
    return MakeJob([dst = task.dst, src = task.src, bytes] { std::memcpy(dst, src, bytes); });
  }
};

class Plan final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "engine"; }
  [[nodiscard]] std::string version() const override {
    return std::string(strided::ActiveTarget());
  }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    const Case& layout = *task.layout;
    if (!strided::IsConvertible(layout.dst, layout.src)) return nullptr;
    const auto plan = strided::CopyPlan::Make(layout.shape, layout.dst, layout.dst_strides,
                                              layout.src, layout.src_strides);
    return MakeJob([plan, dst = task.dst, src = task.src] {
      ENGINE_CHECK(plan.Run(dst, src), "an element was not representable");
    });
  }
};

// The caller's memory as a tensor. An error for what tensors exclude, such as a stride of 0.
core::StatusOr<Tensor> Borrow(const std::byte* data, std::int64_t elements, const Case& layout,
                              const tensor::Strides& strides, DataType dtype) {
  // Contenders write to destinations only.
  auto* const address = const_cast<std::byte*>(data);
  const auto bytes = static_cast<std::size_t>(elements * tensor::itemsize(dtype));
  ENGINE_ASSIGN_OR_RETURN(
      std::shared_ptr<memory::Buffer> buffer,
      memory::ShareBuffer(memory::Buffer(address, bytes, tensor::Device::Cpu(), [](void*) {})));
  return Tensor::from_strided_buffer(std::move(buffer), 0, layout.shape, strides, dtype);
}

struct TensorPair {
  Tensor dst;
  Tensor src;
};
core::StatusOr<TensorPair> BorrowBoth(const Task& task) {
  const Case& layout = *task.layout;
  ENGINE_ASSIGN_OR_RETURN(Tensor dst, Borrow(task.dst, layout.dst_window() - layout.dst_offset,
                                             layout, layout.dst_strides, layout.dst));
  ENGINE_ASSIGN_OR_RETURN(Tensor src, Borrow(task.src, layout.src_window() - layout.src_offset,
                                             layout, layout.src_strides, layout.src));
  return TensorPair{std::move(dst), std::move(src)};
}

class Ops final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "engine ops"; }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    core::StatusOr<TensorPair> pair = BorrowBoth(task);
    if (!pair.ok()) return nullptr;
    if (task.layout->dst == task.layout->src) {
      return MakeJob([tensors = *std::move(pair)] {
        ENGINE_CHECK(ops::copy(tensors.dst, tensors.src).ok(), "ops::copy failed");
      });
    }
    return MakeJob([tensors = *std::move(pair)] {
      ENGINE_CHECK(ops::cast_into(tensors.dst, tensors.src).ok(), "ops::cast_into failed");
    });
  }
};

class AllocatingCast final : public Contender {
 public:
  [[nodiscard]] std::string name() const override { return "engine ops, new tensor"; }
  [[nodiscard]] std::unique_ptr<Job> Prepare(const Task& task) override {
    core::StatusOr<TensorPair> pair = BorrowBoth(task);
    if (!pair.ok() || task.layout->dst == task.layout->src) return nullptr;
    return MakeJob([tensors = *std::move(pair), dtype = task.layout->dst] {
      ENGINE_CHECK(ops::cast(tensors.src, dtype).ok(), "ops::cast failed");
    });
  }
};

}  // namespace

std::unique_ptr<Contender> MakeMemcpy() { return std::make_unique<Memcpy>(); }
std::unique_ptr<Contender> MakePlan() { return std::make_unique<Plan>(); }
std::unique_ptr<Contender> MakeOps() { return std::make_unique<Ops>(); }
std::unique_ptr<Contender> MakeAllocatingCast() { return std::make_unique<AllocatingCast>(); }

}  // namespace engine::benchmarks
