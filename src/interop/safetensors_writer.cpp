#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "core/checked_math.h"
#include "core/errno_status.h"
#include "core/no_throw.h"
#include "interop/internal/safetensors_header.h"
#include "interop/internal/safetensors_text.h"
#include "interop/safetensors.h"
#include "memory/allocator.h"
#include "tensor/ops.h"

namespace engine::safetensors {
namespace {

using core::WithoutBadAlloc;
using internal::kLengthBytes;
using internal::kMetadataKey;
using internal::Quoted;
using tensor::Tensor;

// Strided tensors pass through memory of this size. A page-cache write of 256 KiB costs far more
// than the system call, and the block stays in a second-level cache.
constexpr std::size_t kChunkBytes = 256 * 1024;
// The header is padded with spaces to a multiple of this, so that the data is aligned.
constexpr std::size_t kHeaderAlignment = 8;

// A checked request: what is written, in which order, after which text.
struct Plan {
  std::vector<const NamedTensor*> tensors;
  std::string prefix;  // the length and the padded header
  std::uint64_t total_bytes = 0;
};

core::Status CheckText(const char* what, std::string_view text) {
  if (internal::FindInvalidUtf8(text) == std::string_view::npos) return core::OkStatus();
  return core::InvalidArgumentError("safetensors: {} {} is not UTF-8", what, Quoted(text));
}

core::Status CheckTensor(const NamedTensor& named) {
  ENGINE_RETURN_IF_ERROR(CheckText("the name", named.name));
  if (named.name == kMetadataKey) {
    return core::InvalidArgumentError("safetensors: no tensor can be named {}", kMetadataKey);
  }
  if (!named.tensor.defined()) {
    return core::InvalidArgumentError("safetensors: tensor {} is undefined", Quoted(named.name));
  }
  if (!named.tensor.device().is_cpu()) {
    return core::UnimplementedError("safetensors: tensor {} is on {}, expected cpu",
                                    Quoted(named.name), named.tensor.device());
  }
  return core::OkStatus();
}

// JSON as serde_json prints it, so that equal content gives equal bytes.
void AppendJsonString(std::string_view text, std::string& out) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    const std::size_t escape = kEscaped.find(c);
    if (escape != std::string_view::npos) {
      out += {'\\', kLetters[escape]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

core::Status AppendMetadata(const Metadata& metadata, std::string& out) {
  std::vector<const Metadata::value_type*> sorted;
  sorted.reserve(metadata.size());
  for (const Metadata::value_type& entry : metadata) {
    ENGINE_RETURN_IF_ERROR(CheckText("the metadata key", entry.first));
    ENGINE_RETURN_IF_ERROR(CheckText("the metadata value", entry.second));
    sorted.push_back(&entry);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  AppendJsonString(kMetadataKey, out);
  const char* separator = ":{";
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i]->first == sorted[i - 1]->first) {
      return core::InvalidArgumentError("safetensors: two metadata entries have the key {}",
                                        Quoted(sorted[i]->first));
    }
    out += std::exchange(separator, ",");
    AppendJsonString(sorted[i]->first, out);
    out += ':';
    AppendJsonString(sorted[i]->second, out);
  }
  out += '}';
  return core::OkStatus();
}

// Appends one tensor's entry and advances `offset` past its data.
core::Status AppendEntry(const NamedTensor& named, std::uint64_t& offset, std::string& out) {
  const Tensor& tensor = named.tensor;
  // Layouts that overlap themselves reach sizes that no buffer has.
  const std::optional<std::uint64_t> nbytes =
      core::CheckedMul(static_cast<std::uint64_t>(tensor.numel()),
                       static_cast<std::uint64_t>(tensor::itemsize(tensor.dtype())));
  const std::optional<std::uint64_t> end =
      nbytes.has_value() ? core::CheckedAdd(offset, *nbytes) : std::nullopt;
  if (!end.has_value()) {
    return core::InvalidArgumentError("safetensors: tensor {} ends beyond 2^64 bytes",
                                      Quoted(named.name));
  }
  AppendJsonString(named.name, out);
  fmt::format_to(
      std::back_inserter(out), R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
      internal::FormatName(tensor.dtype()), fmt::join(tensor.shape().dims(), ","), offset, *end);
  offset = *end;
  return core::OkStatus();
}

core::Status SortTensors(std::span<const NamedTensor> tensors, Plan& plan) {
  plan.tensors.reserve(tensors.size());
  for (const NamedTensor& named : tensors) {
    ENGINE_RETURN_IF_ERROR(CheckTensor(named));
    plan.tensors.push_back(&named);
  }
  const auto by_name = [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; };
  std::sort(plan.tensors.begin(), plan.tensors.end(), by_name);
  const auto twice =
      std::adjacent_find(plan.tensors.begin(), plan.tensors.end(),
                         [](const auto* a, const auto* b) { return a->name == b->name; });
  if (twice != plan.tensors.end()) {
    return core::InvalidArgumentError("safetensors: two tensors are named {}",
                                      Quoted((*twice)->name));
  }
  std::sort(plan.tensors.begin(), plan.tensors.end(),
            [&](const NamedTensor* a, const NamedTensor* b) {
              const int a_bytes = tensor::itemsize(a->tensor.dtype());
              const int b_bytes = tensor::itemsize(b->tensor.dtype());
              return a_bytes != b_bytes ? a_bytes > b_bytes : by_name(a, b);
            });
  return core::OkStatus();
}

core::StatusOr<Plan> MakePlan(std::span<const NamedTensor> tensors, const Metadata& metadata) {
  Plan plan;
  ENGINE_RETURN_IF_ERROR(SortTensors(tensors, plan));
  std::string& out = plan.prefix;
  out.assign(kLengthBytes, '\0');
  out += '{';
  if (!metadata.empty()) ENGINE_RETURN_IF_ERROR(AppendMetadata(metadata, out));
  std::uint64_t data_bytes = 0;
  for (const NamedTensor* const named : plan.tensors) {
    if (out.back() != '{') out += ',';
    ENGINE_RETURN_IF_ERROR(AppendEntry(*named, data_bytes, out));
  }
  out += '}';
  const std::size_t unpadded = out.size() - kLengthBytes;
  const std::size_t length =
      (unpadded + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment;
  out.append(length - unpadded, ' ');
  if (length > kMaxHeaderBytes) {
    return core::InvalidArgumentError("safetensors: the header takes {} bytes, expected at most {}",
                                      length, kMaxHeaderBytes);
  }
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    out[i] = static_cast<char>(static_cast<unsigned char>(length >> (8 * i)));
  }
  const std::optional<std::uint64_t> total =
      core::CheckedAdd<std::uint64_t>(out.size(), data_bytes);
  if (!total.has_value()) {
    return core::InvalidArgumentError("safetensors: the file would have more than 2^64 bytes");
  }
  plan.total_bytes = *total;
  return plan;
}

// Appends the elements of `view` in row-major order. Strided ones pass through `chunk`, which is
// allocated when the first of them comes.
template <typename Sink>
core::Status AppendElements(const Tensor& view, std::shared_ptr<memory::Buffer>& chunk,
                            Sink& sink) {
  if (view.numel() == 0) return core::OkStatus();
  if (view.is_contiguous()) return sink.Append(view.data(), view.nbytes());
  if (view.nbytes() <= kChunkBytes) {
    if (chunk == nullptr) {
      ENGINE_ASSIGN_OR_RETURN(memory::Buffer buffer, memory::DefaultCpuAllocator()->Allocate(
                                                         kChunkBytes, kHeaderAlignment));
      ENGINE_ASSIGN_OR_RETURN(chunk, memory::ShareBuffer(std::move(buffer)));
    }
    ENGINE_ASSIGN_OR_RETURN(const Tensor packed,
                            Tensor::from_buffer(chunk, 0, view.shape(), view.dtype()));
    ENGINE_RETURN_IF_ERROR(tensor::ops::copy(packed, view));
    return sink.Append(packed.data(), packed.nbytes());
  }
  // As many rows of the outermost axis as fit, or one row's parts.
  const std::int64_t extent = view.shape().dim(0);
  const std::size_t row_bytes = view.nbytes() / static_cast<std::size_t>(extent);
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(kChunkBytes / row_bytes, 1));
  for (std::int64_t i = 0; i < extent; i += rows) {
    ENGINE_ASSIGN_OR_RETURN(const Tensor block, rows == 1
                                                    ? view.select(0, i)
                                                    : view.slice(0, i, std::min(i + rows, extent)));
    ENGINE_RETURN_IF_ERROR(AppendElements(block, chunk, sink));
  }
  return core::OkStatus();
}

template <typename Sink>
core::Status AppendAll(const Plan& plan, Sink& sink) {
  ENGINE_RETURN_IF_ERROR(sink.Append(plan.prefix.data(), plan.prefix.size()));
  std::shared_ptr<memory::Buffer> chunk;
  for (const NamedTensor* const named : plan.tensors) {
    ENGINE_RETURN_IF_ERROR(AppendElements(named->tensor, chunk, sink));
  }
  return core::OkStatus();
}

// Writes into memory that the plan's total_bytes fit.
class MemorySink {
 public:
  explicit MemorySink(void* begin) : next_(static_cast<std::byte*>(begin)) {}
  core::Status Append(const void* data, std::size_t size_bytes) {
    std::memcpy(next_, data, size_bytes);
    next_ += size_bytes;
    return core::OkStatus();
  }

 private:
  std::byte* next_;
};

// A new file beside `path` that takes its place when it is complete, and is removed otherwise.
class ReplacementFile {
 public:
  explicit ReplacementFile(const std::string& path) : path_(path) {}
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;
  ~ReplacementFile() {
    if (file_descriptor_ >= 0) close(file_descriptor_);
    if (exists_) unlink(temporary_path_.c_str());
  }

  core::Status Create();
  core::Status Append(const void* data, std::size_t size_bytes);
  core::Status Commit();

 private:
  // The error of the system call that has just failed.
  [[nodiscard]] core::Status Failed(const char* call) const {
    return core::ErrnoError(errno, "safetensors: {} '{}', to become '{}'", call, temporary_path_,
                            path_);
  }

  const std::string& path_;
  std::string temporary_path_;
  int file_descriptor_ = -1;
  bool exists_ = false;
};

core::Status ReplacementFile::Create() {
  if (path_.find('\0') != std::string::npos) {
    return core::InvalidArgumentError("safetensors: the path contains a NUL byte");
  }
  struct stat replaced = {};
  const bool replaces = stat(path_.c_str(), &replaced) == 0;
  // rename(2) would put a file in place of a device or socket.
  if (replaces && !S_ISREG(replaced.st_mode)) {
    return core::InvalidArgumentError("safetensors: '{}' is {}, expected a regular file", path_,
                                      S_ISDIR(replaced.st_mode) ? "a directory" : "a special file");
  }
  // The temporary name is short whatever this one is; rename(2) would refuse only after the data.
  if (!replaces && errno == ENAMETOOLONG) {
    return core::ErrnoError(errno, "safetensors: '{}'", path_);
  }
  const std::string_view folder = std::string_view(path_).substr(0, path_.rfind('/') + 1);
  static std::atomic<std::uint64_t> counter{0};
  do {
    // Unlike mkstemp(3), open(2) applies the caller's umask; O_EXCL finds leftovers of a namesake.
    temporary_path_ =
        fmt::format("{}.safetensors-{}-{}.tmp", folder, getpid(), counter.fetch_add(1));
    file_descriptor_ =
        open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  } while (file_descriptor_ < 0 && (errno == EEXIST || errno == EINTR));
  if (file_descriptor_ < 0) return Failed("create");
  exists_ = true;
  // A private checkpoint stays private.
  if (replaces && fchmod(file_descriptor_, replaced.st_mode & 07777) != 0) {
    return Failed("fchmod");
  }
  return core::OkStatus();
}

core::Status ReplacementFile::Append(const void* data, std::size_t size_bytes) {
  const auto* next = static_cast<const std::byte*>(data);
  while (size_bytes > 0) {
    const ssize_t written = write(file_descriptor_, next, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write");
    next += written;
    size_bytes -= static_cast<std::size_t>(written);
  }
  return core::OkStatus();
}

core::Status ReplacementFile::Commit() {
  // Delayed allocation may find the disk full only now; and after a crash `path` must be the old
  // file or the whole new one, never a name without data.
  if (fsync(file_descriptor_) != 0) return Failed("fsync");
  if (close(std::exchange(file_descriptor_, -1)) != 0) return Failed("close");
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) return Failed("rename");
  exists_ = false;
  return core::OkStatus();
}

}  // namespace

core::Status Save(const std::string& path, std::span<const NamedTensor> tensors,
                  const Metadata& metadata) {
  return WithoutBadAlloc([&]() -> core::Status {
    ENGINE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(tensors, metadata));
    ReplacementFile file(path);
    ENGINE_RETURN_IF_ERROR(file.Create());
    ENGINE_RETURN_IF_ERROR(AppendAll(plan, file));
    return file.Commit();
  });
}

core::StatusOr<memory::Buffer> Serialize(std::span<const NamedTensor> tensors,
                                         const Metadata& metadata) {
  return WithoutBadAlloc([&]() -> core::StatusOr<memory::Buffer> {
    ENGINE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(tensors, metadata));
    ENGINE_ASSIGN_OR_RETURN(memory::Buffer file, memory::DefaultCpuAllocator()->Allocate(
                                                     plan.total_bytes, kHeaderAlignment));
    MemorySink sink(file.data());
    ENGINE_RETURN_IF_ERROR(AppendAll(plan, sink));
    return file;
  });
}

}  // namespace engine::safetensors
