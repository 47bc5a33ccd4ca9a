#include "memory/buffer.h"

#include <new>
#include <utility>

#include "core/check.h"

namespace engine::memory {

Buffer::Buffer(void* data, std::size_t size_bytes, tensor::Device device, Deleter deleter,
               bool read_only)
    : data_(data),
      size_bytes_(size_bytes),
      device_(device),
      read_only_(read_only),
      deleter_(std::move(deleter)) {
  ENGINE_CHECK(deleter_ != nullptr, "Buffer: the deleter is null");
  ENGINE_CHECK((data == nullptr) == (size_bytes == 0),
               "Buffer: data is {} but size_bytes is {}; null goes with 0 only",
               data == nullptr ? "null" : "not null", size_bytes);
}

Buffer::Buffer(Buffer&& other) noexcept { Swap(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  // Taken out first: `other` may belong to what the old deleter releases.
  Buffer incoming(std::move(other));
  Reset();
  // A deleter that reached back may have filled *this; `incoming` then destroys that.
  Swap(incoming);
  return *this;
}

Buffer::~Buffer() { Reset(); }

void Buffer::Reset() noexcept {
  if (!deleter_) return;
  // Disengage first: a deleter that reaches back here must not run a second time.
  const Deleter deleter = std::exchange(deleter_, nullptr);
  void* const data = std::exchange(data_, nullptr);
  size_bytes_ = 0;
  device_ = tensor::Device();
  read_only_ = false;
  deleter(data);
}

void Buffer::Swap(Buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(device_, other.device_);
  std::swap(read_only_, other.read_only_);
  std::swap(deleter_, other.deleter_);
}

namespace {

// Room for a Buffer and the counts that std::allocate_shared puts beside it; the allocator below
// asserts that it suffices.
constexpr std::size_t kSharedBlockBytes = sizeof(Buffer) + 64;

// Hands one preallocated block to std::allocate_shared, so that the only allocation that can fail
// has already succeeded and nothing is left to throw.
template <typename T>
class PreallocatedBlock {
 public:
  using value_type = T;

  explicit PreallocatedBlock(void* block) : block_(block) {}
  template <typename U>
  // NOLINTNEXTLINE(google-explicit-constructor): allocators of one family convert.
  PreallocatedBlock(const PreallocatedBlock<U>& other) : block_(other.block()) {}

  T* allocate(std::size_t count) {
    static_assert(sizeof(T) <= kSharedBlockBytes);
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    ENGINE_CHECK(count == 1);
    return static_cast<T*>(block_);
  }
  void deallocate(T* block, std::size_t) { ::operator delete(block); }

  [[nodiscard]] void* block() const { return block_; }

  template <typename U>
  bool operator==(const PreallocatedBlock<U>& other) const {
    return block_ == other.block();
  }

 private:
  void* block_;
};

}  // namespace

core::StatusOr<std::shared_ptr<Buffer>> ShareBuffer(Buffer buffer) {
  void* const block = ::operator new(kSharedBlockBytes, std::nothrow);
  if (block == nullptr) return core::OutOfMemoryError("the control block of a Buffer");
  return std::allocate_shared<Buffer>(PreallocatedBlock<Buffer>(block), std::move(buffer));
}

}  // namespace engine::memory
