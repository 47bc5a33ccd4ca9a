// memory/pmr_allocator.h: Buffers from a std::pmr::memory_resource.
// Layer 2.
//
//   std::pmr::monotonic_buffer_resource arena(64 << 20);
//   memory::PmrAllocator allocator(&arena);
//   ENGINE_ASSIGN_OR_RETURN(Tensor t, Tensor::empty({2, 3}, kFloat32, Device::Cpu(), &allocator));
#ifndef ENGINE_MEMORY_PMR_ALLOCATOR_H_
#define ENGINE_MEMORY_PMR_ALLOCATOR_H_

#include <cstddef>
#include <memory_resource>

#include "core/status.h"
#include "memory/allocator.h"
#include "memory/buffer.h"
#include "tensor/device.h"

namespace engine::memory {

// Passes requests on to a resource, and gives memory back to it with the size and alignment that it
// was asked for. The resource must outlive every Buffer; this allocator need not.
//
// A resource reports failure by std::bad_alloc, which becomes kOutOfMemory (without exceptions the
// resource itself aborts); it must throw nothing else, and not return null. std::pmr knows no such
// answer: standard libraries declare the result as never null, so that no test for it is certain to
// be compiled, and Buffer CHECKs. Memory whose source answers null wants an Allocator of its own.
//
// Thread safety: the resource's. Allocators are to be usable from any thread, so a resource that is
// not synchronised serves one thread, the deaths of its Buffers included.
class PmrAllocator final : public Allocator {
 public:
  //   CHECKs   resource is not null.
  explicit PmrAllocator(std::pmr::memory_resource* resource);

  // As Allocator. Zero bytes do not reach the resource.
  [[nodiscard]] core::StatusOr<Buffer> Allocate(std::size_t bytes, std::size_t alignment) override;

  [[nodiscard]] tensor::Device device() const override;
  // As given to the constructor.
  [[nodiscard]] std::pmr::memory_resource* resource() const { return resource_; }

 private:
  std::pmr::memory_resource* resource_;
};

}  // namespace engine::memory

#endif  // ENGINE_MEMORY_PMR_ALLOCATOR_H_
