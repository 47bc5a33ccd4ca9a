#include "interop/npy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/checked_math.h"
#include "core/no_throw.h"
#include "interop/internal/npy_header.h"
#include "memory/allocator.h"
#include "memory/byte_sink.h"
#include "memory/mapped_file.h"
#include "memory/replacement_file.h"
#include "tensor/element_writer.h"

namespace engine::npy {
namespace {

using core::WithoutBadAlloc;
using internal::Description;
using internal::kMagic;
using internal::kVersionBytes;
using tensor::Tensor;

// Of memory that Serialize allocates: the elements begin at a multiple of 64.
constexpr std::size_t kFileAlignment = 64;

core::StatusOr<Version> ReadVersion(std::string_view text) {
  constexpr std::size_t kFixedBytes = kMagic.size() + kVersionBytes;
  if (text.size() < kFixedBytes || !text.starts_with(kMagic)) {
    return core::InvalidArgumentError("npy: {} bytes that do not begin with the magic",
                                      text.size());
  }
  const auto major = static_cast<unsigned char>(text[kMagic.size()]);
  const auto minor = static_cast<unsigned char>(text[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return core::InvalidArgumentError("npy: version {}.{}, expected 1.0, 2.0 or 3.0", major, minor);
  }
  return static_cast<Version>(major);
}

// Where the elements lie: the strides of C or Fortran order.
tensor::Strides StridesOf(const tensor::Shape& shape, bool fortran_order) {
  if (!fortran_order) return RowMajorStrides(shape);
  tensor::Strides strides(shape.dims());  // of the right size
  std::int64_t stride = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape.dim(i), 1);
  }
  return strides;
}

// The tensor with its axes in reverse order.
core::StatusOr<Tensor> Reversed(const Tensor& tensor) {
  std::array<int, tensor::kMaxRank> axes{};
  const int rank = tensor.shape().rank();
  for (int i = 0; i < rank; ++i) axes[static_cast<std::size_t>(i)] = rank - 1 - i;
  return tensor.permute(std::span<const int>(axes).first(static_cast<std::size_t>(rank)));
}

// A checked request: what stands before the elements, and the view whose row-major order is the
// file's.
struct Plan {
  std::string prefix;
  Tensor elements;
  std::size_t total_bytes = 0;
};

core::StatusOr<Plan> MakePlan(const Tensor& tensor, Version version) {
  if (!tensor.defined()) return core::InvalidArgumentError("npy: the tensor is undefined");
  if (!tensor.device().is_cpu()) {
    return core::UnimplementedError("npy: the tensor is on {}, expected cpu", tensor.device());
  }
  Plan plan;
  plan.elements = tensor;
  bool fortran_order = false;
  if (!tensor.is_contiguous()) {
    ENGINE_ASSIGN_OR_RETURN(Tensor reversed, Reversed(tensor));
    fortran_order = reversed.is_contiguous();
    if (fortran_order) plan.elements = std::move(reversed);
  }
  plan.prefix = internal::FormatPrefix({tensor.dtype(), fortran_order, tensor.shape()}, version);
  // Layouts that overlap themselves reach sizes that no file has; the sum cannot wrap, since
  // tensors stay below 2^63 bytes.
  plan.total_bytes = plan.prefix.size() + tensor.nbytes();
  return plan;
}

core::Status AppendAll(const Plan& plan, memory::ByteSink& sink) {
  ENGINE_RETURN_IF_ERROR(sink.Append(plan.prefix.data(), plan.prefix.size()));
  return tensor::ElementWriter(sink).Append(plan.elements);
}

}  // namespace

core::StatusOr<Header> ReadHeader(std::span<const std::byte> bytes) {
  return WithoutBadAlloc([&]() -> core::StatusOr<Header> {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Header header;
    ENGINE_ASSIGN_OR_RETURN(header.version, ReadVersion(text));
    const std::size_t length_begin = kMagic.size() + kVersionBytes;
    const std::size_t length_bytes = internal::LengthBytes(header.version);
    if (text.size() - length_begin < length_bytes) {
      return core::InvalidArgumentError("npy: {} bytes end within the header's length",
                                        text.size());
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) {
      length |= std::to_integer<std::uint64_t>(bytes[length_begin + i]) << (8 * i);
    }
    header.begin = length_begin + length_bytes;
    if (length > kMaxHeaderBytes || length > text.size() - header.begin) {
      return core::InvalidArgumentError("npy: a header of {} bytes in {}, expected at most {}",
                                        length, text.size(), kMaxHeaderBytes);
    }
    ENGINE_ASSIGN_OR_RETURN(
        const Description description,
        internal::ParseDescription(text.substr(header.begin, length), header.version));
    header.dtype = description.dtype;
    header.fortran_order = description.fortran_order;
    header.shape = description.shape;
    header.begin += length;
    const std::optional<std::int64_t> data_bytes =
        core::CheckedMul<std::int64_t>(header.shape.numel(), tensor::itemsize(header.dtype));
    if (!data_bytes.has_value() ||
        static_cast<std::uint64_t>(*data_bytes) > text.size() - header.begin) {
      return core::InvalidArgumentError(
          "npy: {} bytes after the header, too few for shape {} of {}", text.size() - header.begin,
          header.shape, header.dtype);
    }
    header.end = header.begin + static_cast<std::size_t>(*data_bytes);
    return header;
  });
}

core::StatusOr<Tensor> Load(const std::string& path) {
  return WithoutBadAlloc([&]() -> core::StatusOr<Tensor> {
    ENGINE_ASSIGN_OR_RETURN(const memory::MappedFile mapped, memory::MappedFile::Open(path));
    core::StatusOr<Tensor> tensor = FromBuffer(mapped.buffer());
    if (tensor.ok() || core::IsOutOfMemory(tensor.status())) return tensor;
    return core::Status(tensor.status().code(),
                        "'" + path + "': " + std::string(tensor.status().message()));
  });
}

core::StatusOr<Tensor> FromBuffer(std::shared_ptr<memory::Buffer> buffer, std::size_t byte_offset) {
  ENGINE_CHECK(buffer != nullptr, "FromBuffer: the buffer is null");
  ENGINE_CHECK(buffer->device().is_cpu(), "FromBuffer: the buffer is on {}, expected cpu",
               buffer->device());
  if (byte_offset > buffer->size_bytes()) {
    return core::InvalidArgumentError("npy: offset {} in a buffer of {} bytes", byte_offset,
                                      buffer->size_bytes());
  }
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(buffer->data()),
                                         buffer->size_bytes());
  ENGINE_ASSIGN_OR_RETURN(const Header header, ReadHeader(bytes.subspan(byte_offset)));
  return Tensor::from_strided_buffer(std::move(buffer), byte_offset + header.begin, header.shape,
                                     StridesOf(header.shape, header.fortran_order), header.dtype);
}

core::Status Save(const std::string& path, const Tensor& tensor, Version version) {
  return WithoutBadAlloc([&]() -> core::Status {
    ENGINE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(tensor, version));
    memory::ReplacementFile file("npy", path);
    ENGINE_RETURN_IF_ERROR(file.Create());
    ENGINE_RETURN_IF_ERROR(AppendAll(plan, file));
    return file.Commit();
  });
}

core::StatusOr<memory::Buffer> Serialize(const Tensor& tensor, Version version) {
  return WithoutBadAlloc([&]() -> core::StatusOr<memory::Buffer> {
    ENGINE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(tensor, version));
    ENGINE_ASSIGN_OR_RETURN(memory::Buffer file, memory::DefaultCpuAllocator()->Allocate(
                                                     plan.total_bytes, kFileAlignment));
    memory::MemorySink sink(file.data(), file.size_bytes());
    ENGINE_RETURN_IF_ERROR(AppendAll(plan, sink));
    return file;
  });
}

}  // namespace engine::npy
