// A producer's structure of arbitrary metadata, over memory of a chosen size.
//
// Whatever it says, the deleter runs exactly once. What Import accepts has the metadata that was
// lent, comes back from a round trip with the same, and where its window lies within the memory,
// copies and prints without leaving it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.h"
#include "interop/dlpack.h"
#include "interop/dlpack_abi.h"
#include "tensor/ops.h"

namespace engine::dlpack {
namespace {

// Reads values off the front of the input; zeros when it has ended.
class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size) : next_(bytes), left_(size) {}
  template <typename T>
  T Take() {
    T value{};
    const std::size_t count = std::min(left_, sizeof(T));
    if (count > 0) std::memcpy(&value, next_, count);
    next_ += count;
    left_ -= count;
    return value;
  }
  // Mostly small, as extents and strides that can be accepted are.
  std::int64_t TakeInteger() {
    const auto kind = Take<std::uint8_t>();
    return kind < 200 ? kind % 9 : Take<std::int64_t>();
  }

 private:
  const std::uint8_t* next_;
  std::size_t left_;
};

constexpr std::size_t kMaxAxes = 12;  // more than the library takes

template <typename Managed>
struct Producer {
  Managed managed = {};
  std::array<std::int64_t, kMaxAxes> shape{};
  std::array<std::int64_t, kMaxAxes> strides{};
  std::unique_ptr<std::uint8_t[]> memory;
  std::size_t memory_bytes = 0;
  int deletions = 0;

  explicit Producer(Input& input) {
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->manager_ctx)->deletions; };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      const auto version = input.Take<std::uint8_t>();
      managed.version = {version < 250 ? 1U : version, input.Take<std::uint8_t>()};
      managed.flags = input.Take<std::uint8_t>();
    }
    DLTensor& tensor = managed.dl_tensor;
    memory_bytes = input.Take<std::uint16_t>() % 4096;
    memory = std::make_unique<std::uint8_t[]>(memory_bytes);
    tensor.data = memory_bytes == 0 ? nullptr : memory.get();
    const auto device = input.Take<std::uint8_t>();
    tensor.device = {static_cast<DLDeviceType>(device < 240 ? 1 : device), 0};
    tensor.ndim = input.Take<std::int8_t>() % static_cast<int>(kMaxAxes + 1);
    tensor.dtype = {static_cast<std::uint8_t>(input.Take<std::uint8_t>() % 8),
                    static_cast<std::uint8_t>(8U << (input.Take<std::uint8_t>() % 5)), 1};
    if (input.Take<std::uint8_t>() > 250) tensor.dtype.lanes = input.Take<std::uint16_t>();
    for (std::int64_t& extent : shape) extent = input.TakeInteger();
    for (std::int64_t& stride : strides) stride = input.TakeInteger();
    const auto missing = input.Take<std::uint8_t>();
    tensor.shape = missing % 32 == 31 ? nullptr : shape.data();
    tensor.strides = missing % 4 == 3 ? nullptr : strides.data();
    tensor.byte_offset = static_cast<std::uint64_t>(input.TakeInteger());
  }
};

void CheckElements(const tensor::Tensor& tensor) {
  if (tensor.numel() > 256) return;
  (void)tensor::ops::to_string(tensor);
  const core::StatusOr<tensor::Tensor> copy =
      tensor::Tensor::empty(tensor.shape(), tensor.dtype(), tensor::Device::Cpu());
  ENGINE_CHECK(copy.ok() && tensor::ops::copy(*copy, tensor).ok());
}

// That `tensor` is what `lent` says. Strides count where they lead to an element.
void CheckIsAsLent(const tensor::Tensor& tensor, const DLTensor& lent) {
  ENGINE_CHECK(tensor.shape().rank() == lent.ndim);
  std::int64_t row_major = 1;
  for (int i = lent.ndim - 1; i >= 0; --i) {
    const std::int64_t extent = lent.shape[i];
    ENGINE_CHECK(tensor.shape().dim(i) == extent);
    if (tensor.numel() == 0) continue;
    ENGINE_CHECK(extent == 1 ||
                 tensor.strides()[i] == (lent.strides == nullptr ? row_major : lent.strides[i]));
    row_major *= extent;
  }
  ENGINE_CHECK(tensor.numel() == 0 ||
               tensor.data() == static_cast<std::byte*>(lent.data) + lent.byte_offset);
}

void CheckRoundTrip(const tensor::Tensor& tensor, DLDataType type) {
  core::StatusOr<VersionedHandle> exported = Export(tensor);
  ENGINE_CHECK(exported.ok() == (tensor.numel() == 0 || tensor.is_aligned()));
  if (!exported.ok()) return;
  ENGINE_CHECK((*exported)->dl_tensor.dtype.code == type.code);
  ENGINE_CHECK((*exported)->dl_tensor.dtype.bits == type.bits);
  const core::StatusOr<tensor::Tensor> back = Import(*std::move(exported));
  ENGINE_CHECK(back.ok() && back->dtype() == tensor.dtype());
  ENGINE_CHECK(back->shape() == tensor.shape() && back->strides() == tensor.strides());
  ENGINE_CHECK(tensor.numel() == 0 || back->data() == tensor.data());
  ENGINE_CHECK(back->is_read_only() == tensor.is_read_only());
}

template <typename Managed>
void Check(Input input) {
  Producer<Managed> producer(input);
  {
    const core::StatusOr<tensor::Tensor> tensor =
        Import(std::unique_ptr<Managed, Release>(&producer.managed));
    ENGINE_CHECK(producer.deletions == (tensor.ok() ? 0 : 1));
    if (!tensor.ok()) return;
    const DLTensor& lent = producer.managed.dl_tensor;
    CheckIsAsLent(*tensor, lent);
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      const bool read_only = (producer.managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
      ENGINE_CHECK(tensor->is_read_only() == read_only);
    } else {
      ENGINE_CHECK(!tensor->is_read_only());
    }
    // The memory must hold what the producer says; only then may it be touched.
    const std::size_t window = tensor->buffer()->size_bytes();
    const bool inside = lent.byte_offset <= producer.memory_bytes &&
                        window <= producer.memory_bytes - lent.byte_offset;
    if (inside) CheckElements(*tensor);
    CheckRoundTrip(*tensor, lent.dtype);
  }
  ENGINE_CHECK(producer.deletions == 1);
}

}  // namespace
}  // namespace engine::dlpack

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const engine::dlpack::Input input(bytes, size);
  engine::dlpack::Check<DLManagedTensorVersioned>(input);
  engine::dlpack::Check<DLManagedTensor>(input);
  return 0;
}
