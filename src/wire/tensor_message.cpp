#include "wire/tensor_message.h"

#include <array>
#include <functional>
#include <limits>
#include <utility>

#include "core/check.h"

namespace engine::wire {
namespace {

// A cache line, and the widest vector of today's x86-64; as Tensor::empty.
constexpr std::size_t kStorageAlignment = 64;

// By value of the wire's dtype.
constexpr std::array<std::uint8_t, 14> kElementSizes = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};

static_assert(TensorMessage::kMaxRank == tensor::kMaxRank);

}  // namespace

TensorMessage::TensorMessage(TensorMessage&& target) noexcept { MoveFrom(target); }

TensorMessage& TensorMessage::operator=(TensorMessage&& target) noexcept {
  if (&target == this) return *this;
  // Where others hold the storage too, it is for the caller to keep them, as with all borrowed bytes.
  ENGINE_CHECK(
      target.storage_ != nullptr || storage_.use_count() > 1 ||
          !Holds(target.payload_, target.size_),
      "TensorMessage: the source borrows {} bytes of the storage that moving it here would free",
      target.size());
  MoveFrom(target);
  return *this;
}

void TensorMessage::MoveFrom(TensorMessage& target) noexcept {
  CopyMetadata(target);
  SetPayload(target.TakePayload());
  target.clear();
  target.reserved_buf_ = 0;
  target.reserved_buf2_ = 0;
  target.reserved_buf3_ = 0;
}

TensorMessage::Payload TensorMessage::TakePayload() {
  Payload payload{std::move(storage_),
                  std::exchange(payload_, nullptr),
                  std::exchange(size_, 0),
                  std::exchange(is_owner_, std::uint8_t{0}) != 0,
                  std::exchange(read_only_, false),
                  handed_out_.exchange(false, std::memory_order_relaxed)};
  storage_ = nullptr;
  return payload;
}

TensorMessage::Payload TensorMessage::SharePayload() const {
  if (storage_ != nullptr) handed_out_.store(true, std::memory_order_relaxed);
  return {storage_, payload_, size_, /*owned=*/false, read_only_, /*handed_out=*/true};
}

void TensorMessage::SetPayload(Payload payload) {
  storage_ = std::move(payload.storage);
  payload_ = payload.data;
  size_ = payload.size;
  is_owner_ = payload.owned ? 1 : 0;
  read_only_ = payload.read_only;
  handed_out_.store(payload.handed_out, std::memory_order_relaxed);
}

core::StatusOr<TensorMessage::Payload> TensorMessage::OwnedPayload(
    std::size_t size, memory::Allocator* allocator) const {
  if (allocator == nullptr) allocator = memory::DefaultCpuAllocator();
  ENGINE_CHECK(allocator->device().is_cpu(), "TensorMessage: the allocator serves {}, expected cpu",
               allocator->device());
  if (is_owner() && size == size_ && !handed_out_.load(std::memory_order_relaxed)) {
    return Payload{storage_, payload_, size, /*owned=*/true};
  }
  ENGINE_ASSIGN_OR_RETURN(memory::Buffer buffer, allocator->Allocate(size, kStorageAlignment));
  ENGINE_CHECK(buffer.size_bytes() >= size,
               "TensorMessage: the allocator returned {} bytes, {} were asked for",
               buffer.size_bytes(), size);
  ENGINE_ASSIGN_OR_RETURN(std::shared_ptr<memory::Buffer> storage,
                          memory::ShareBuffer(std::move(buffer)));
  auto* const data = static_cast<std::uint8_t*>(storage->data());
  return Payload{std::move(storage), data, size, /*owned=*/true};
}

void TensorMessage::CopyMetadata(const TensorStruct& source) {
  const std::uint64_t size = size_;
  const std::uint8_t is_owner = is_owner_;
  static_cast<TensorStruct&>(*this) = source;
  data_ = 0;
  size_ = size;
  is_owner_ = is_owner;
}

bool TensorMessage::Holds(const std::uint8_t* data, std::size_t size) const {
  if (storage_ == nullptr || size == 0) return false;
  const auto* const begin = static_cast<const std::uint8_t*>(storage_->data());
  // Any two addresses have an order by std::less, and by no other operator.
  const std::less<const std::uint8_t*> before;
  return before(data, begin + storage_->size_bytes()) && before(begin, data + size);
}

core::Status TensorMessage::CheckIndependent(const char* operation,
                                             const TensorMessage& target) const {
  if (&target == this) {
    return core::InvalidArgumentError("{}: the source is the message itself", operation);
  }
  const bool keeps_storage = !is_owner() && target.storage_ == storage_;
  if (keeps_storage || !Holds(target.payload_, target.size_)) return core::OkStatus();
  return core::InvalidArgumentError(
      "{}: the source's {} bytes lie in the {} bytes of storage that would be released", operation,
      target.size(), storage_->size_bytes());
}

core::Status TensorMessage::shallow_copy(const TensorMessage& target) {
  ENGINE_RETURN_IF_ERROR(CheckIndependent("shallow_copy", target));
  CopyMetadata(target);
  SetPayload(target.SharePayload());
  return core::OkStatus();
}

core::Status TensorMessage::shallow_copy(std::uint8_t* data, std::size_t size) {
  if (data == nullptr || size == 0) {
    return core::InvalidArgumentError("shallow_copy: {} bytes at {}, expected at least one", size,
                                      data == nullptr ? "null" : "an address");
  }
  if (data == payload_ || Holds(data, size)) {
    return core::InvalidArgumentError(
        "shallow_copy: the {} bytes are the present payload or lie in storage of this message",
        size);
  }
  SetPayload({nullptr, data, size});
  return core::OkStatus();
}

core::Status TensorMessage::deep_copy(const TensorMessage& target, memory::Allocator* allocator) {
  ENGINE_RETURN_IF_ERROR(CheckIndependent("deep_copy", target));
  Payload payload;
  if (target.is_valid()) {
    ENGINE_ASSIGN_OR_RETURN(payload, OwnedPayload(target.size(), allocator));
    std::memcpy(payload.data, target.payload_, target.size());
  }
  CopyMetadata(target);
  SetPayload(std::move(payload));
  return core::OkStatus();
}

core::Status TensorMessage::deep_copy(const std::uint8_t* data, std::size_t size,
                                      memory::Allocator* allocator) {
  if (data == nullptr || size == 0) {
    return core::InvalidArgumentError("deep_copy: {} bytes at {}, expected at least one", size,
                                      data == nullptr ? "null" : "an address");
  }
  if (is_owner() && Holds(data, size)) {
    return core::InvalidArgumentError("deep_copy: the {} bytes lie in the owned storage of {}",
                                      size, storage_->size_bytes());
  }
  ENGINE_ASSIGN_OR_RETURN(Payload payload, OwnedPayload(size, allocator));
  std::memcpy(payload.data, data, size);
  SetPayload(std::move(payload));
  return core::OkStatus();
}

core::Status TensorMessage::fill_data(const std::uint8_t* data, std::size_t size) {
  return deep_copy(data, size);
}

core::StatusOr<TensorMessage> TensorMessage::Clone(memory::Allocator* allocator) const {
  TensorMessage clone;
  ENGINE_RETURN_IF_ERROR(clone.deep_copy(*this, allocator));
  return clone;
}

core::Status TensorMessage::move_copy(TensorMessage& target) {
  ENGINE_RETURN_IF_ERROR(CheckIndependent("move_copy", target));
  MoveFrom(target);
  return core::OkStatus();
}

core::Status TensorMessage::create(std::size_t size, memory::Allocator* allocator) {
  if (size == 0) return core::InvalidArgumentError("create: 0 bytes, expected at least one");
  ENGINE_ASSIGN_OR_RETURN(Payload payload, OwnedPayload(size, allocator));
  SetPayload(std::move(payload));
  return core::OkStatus();
}

void TensorMessage::clear() {
  TensorStruct empty;
  empty.header.set_frame_id("");
  empty.reserved_buf_ = reserved_buf_;
  empty.reserved_buf2_ = reserved_buf2_;
  empty.reserved_buf3_ = reserved_buf3_;
  static_cast<TensorStruct&>(*this) = empty;
  SetPayload({});
}

core::Status TensorMessage::set_shape(const std::uint32_t* shape, std::uint8_t rank) {
  if (shape == nullptr && rank > 0) {
    return core::InvalidArgumentError("set_shape: null with rank {}", rank);
  }
  if (rank > kMaxRank) rank = kMaxRank;
  std::array<std::uint32_t, kMaxRank> strides{};
  std::uint64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (stride > std::numeric_limits<std::uint32_t>::max()) {
      return core::InvalidArgumentError("set_shape: stride {} of axis {} is above 2^32 - 1", stride,
                                        axis);
    }
    strides[static_cast<std::size_t>(axis)] = static_cast<std::uint32_t>(stride);
    stride *= shape[axis];  // of two numbers below 2^32
  }
  for (std::uint8_t axis = 0; axis < kMaxRank; ++axis) {
    shape_[axis] = axis < rank ? shape[axis] : 0;
    strides_[axis] = strides[axis];
  }
  rank_ = rank;
  num_elements_ = rank > 0 ? stride : 0;
  batch_size_ = shape_[0];
  return core::OkStatus();
}

namespace {

core::Status CheckAxis(const char* operation, std::uint8_t dim) {
  if (dim < TensorMessage::kMaxRank) return core::OkStatus();
  return core::InvalidArgumentError("{}: axis {}, expected below {}", operation, dim,
                                    TensorMessage::kMaxRank);
}

}  // namespace

core::Status TensorMessage::set_shape_at(std::uint8_t dim, std::uint32_t value) {
  ENGINE_RETURN_IF_ERROR(CheckAxis("set_shape_at", dim));
  shape_[dim] = value;
  return core::OkStatus();
}

core::Status TensorMessage::set_stride_at(std::uint8_t dim, std::uint32_t value) {
  ENGINE_RETURN_IF_ERROR(CheckAxis("set_stride_at", dim));
  strides_[dim] = value;
  return core::OkStatus();
}

std::uint8_t TensorMessage::element_size_of(DataType dtype) {
  return dtype < kElementSizes.size() ? kElementSizes[dtype] : std::uint8_t{0};
}

}  // namespace engine::wire
