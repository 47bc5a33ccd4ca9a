#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>

#include "core/checked_math.h"
#include "core/text.h"
#include "interop/internal/safetensors_header.h"
#include "interop/internal/safetensors_json.h"
#include "interop/internal/safetensors_text.h"

namespace engine::safetensors::internal {
namespace {

// How many extents of a hostile shape a message repeats.
constexpr std::size_t kMaxQuotedDims = 16;

// A tensor's entry while parsing: half the size of a TensorInfo, without allocations of its own.
// Note [Heap bound] counts on it.
struct Entry {
  Piece name;
  Piece dtype;
  std::uint32_t dims_begin = 0;
  std::uint32_t dims_count = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// A shape of any rank, for messages.
std::string Bracketed(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(dims.size(), kMaxQuotedDims); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  if (dims.size() > kMaxQuotedDims) text += ", ...";
  return text + "]";
}

// Note [Heap bound]
// The header may cost 32 times its bytes. The shortest texts that make the parser keep something:
//   "":"",     6 bytes of metadata: two Pieces while parsing, one pair of strings (64) at the end,
//              and a Piece for the key (duplicates show when the object ends);
//   0,         2 bytes of a shape: an int64_t while parsing and one in the TensorInfo;
//   "":0,      5 bytes of an ignored field: one Piece.
// Vectors that grow hold three times their elements for a moment, so nothing of the final form is
// built before the parser has gone, and then at its exact size: at most 8 + 16/6 + 2*16/6 + 64/6
// per byte. The pool of decoded text never exceeds the header. The parser itself keeps its longest
// token twice, and repeats it a few times in an error. The suite SafetensorsHeapTest measures this.

// Receives the events of nlohmann's SAX parser; every handler returns false to stop it. Methods
// named in lower case are its interface.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::uint64_t data_bytes)
      : data_bytes_(data_bytes), pool_(text.size()) {}

  // The events of the parser.
  bool null() { return Scalar("null"); }
  bool boolean(bool) { return Scalar("a boolean"); }
  bool number_integer(std::int64_t) { return Scalar("a negative number"); }
  bool number_float(double, const std::string&) {
    return Scalar("a number with a fraction or exponent, or of more than 64 bits");
  }
  bool number_unsigned(std::uint64_t value);
  bool string(std::string& value);
  bool binary(nlohmann::json::binary_t&) { return Scalar("binary data"); }
  bool start_object(std::size_t);
  bool key(std::string& value);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error);

  // Why the parser stopped.
  [[nodiscard]] core::Status status() const { return status_; }
  // After the last event: orders the tensors, checks that they cover the data, and builds the
  // result. Consumes the parser's own storage.
  [[nodiscard]] core::StatusOr<Header> Finish();

 private:
  // What the next value is.
  enum class Place {
    kHeader,
    kTensor,
    kMetadata,
    kMetadataValue,
    kDType,
    kShape,
    kExtent,
    kOffsets,
    kOffset,
    kIgnored,
  };

  bool Fail(core::Status status) {
    status_ = std::move(status);
    return false;
  }
  bool Scalar(const char* found);
  bool Unexpected(const char* found);
  bool Enter();
  void EnterField(std::string_view field);
  bool FinishTensor();
  [[nodiscard]] core::Status CheckSize(const Entry& entry) const;
  [[nodiscard]] core::Status CheckCoverage() const;

  [[nodiscard]] std::string_view TextOf(Piece piece) const { return pool_.TextOf(piece); }
  [[nodiscard]] std::span<const std::int64_t> DimsOf(const Entry& entry) const {
    return std::span(dims_).subspan(entry.dims_begin, entry.dims_count);
  }
  // The object a message is about.
  [[nodiscard]] std::string Where() const {
    if (depth_ < 2) return "the header";
    return in_metadata_ ? "__metadata__" : "tensor " + core::Quoted(TextOf(entry_.name));
  }

  std::uint64_t data_bytes_;
  core::Status status_;
  Place place_ = Place::kHeader;
  int depth_ = 0;
  bool in_metadata_ = false;
  std::uint32_t seen_offsets_ = 0;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  Entry entry_;  // the tensor being read

  JsonPool pool_;
  std::vector<std::int64_t> dims_;  // of all tensors
  std::vector<Entry> entries_;
  std::vector<std::pair<Piece, Piece>> metadata_;
};

bool HeaderParser::Unexpected(const char* found) {
  const char* expected = "";
  switch (place_) {
    case Place::kHeader:
      expected = "the header to be an object";
      break;
    case Place::kTensor:
      expected = "an object with dtype, shape and data_offsets";
      break;
    case Place::kMetadata:
      expected = "__metadata__ to be an object of strings";
      break;
    case Place::kMetadataValue:
      expected = "the value to be a string";
      break;
    case Place::kDType:
      expected = "dtype to be a string";
      break;
    case Place::kShape:
    case Place::kExtent:
      expected = "shape to be an array of integers in [0, 2^63)";
      break;
    case Place::kOffsets:
    case Place::kOffset:
      expected = "data_offsets to be two integers in [0, 2^64)";
      break;
    case Place::kIgnored:
      expected = "less nesting";
      break;
  }
  const bool names_key = place_ == Place::kTensor || place_ == Place::kMetadataValue;
  const std::string key =
      names_key ? ", key " + core::Quoted(TextOf(pool_.LastKey())) : std::string();
  return Fail(core::InvalidArgumentError("safetensors: {}{}: expected {}, found {}", Where(), key,
                                         expected, found));
}

bool HeaderParser::Scalar(const char* found) {
  return place_ == Place::kIgnored || Unexpected(found);
}

bool HeaderParser::number_unsigned(std::uint64_t value) {
  if (place_ == Place::kExtent) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Unexpected("a larger one");
    }
    dims_.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  if (place_ == Place::kOffset) {
    if (seen_offsets_ == 2) return Unexpected("more");
    (seen_offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    return true;
  }
  return Scalar("a number");
}

bool HeaderParser::string(std::string& value) {
  if (place_ == Place::kDType) {
    entry_.dtype = pool_.Keep(value);
    return true;
  }
  if (place_ == Place::kMetadataValue) {
    metadata_.emplace_back(pool_.LastKey(), pool_.Keep(value));
    return true;
  }
  return Scalar("a string");
}

bool HeaderParser::Enter() {
  if (++depth_ <= kMaxDepth) return true;
  return Fail(core::InvalidArgumentError(
      "safetensors: {}: objects and arrays nest deeper than {} levels", Where(), kMaxDepth));
}

bool HeaderParser::start_object(std::size_t) {
  switch (place_) {
    case Place::kHeader:
    case Place::kIgnored:
      break;
    case Place::kTensor:
      in_metadata_ = false;
      entry_ = Entry{};
      entry_.name = pool_.LastKey();
      entry_.dims_begin = static_cast<std::uint32_t>(dims_.size());
      has_dtype_ = has_shape_ = has_offsets_ = false;
      break;
    case Place::kMetadata:
      in_metadata_ = true;
      break;
    default:
      return Unexpected("an object");
  }
  pool_.OpenObject();
  return Enter();
}

bool HeaderParser::key(std::string& value) {
  pool_.AddKey(value);
  if (depth_ == 1) {
    place_ = value == kMetadataKey ? Place::kMetadata : Place::kTensor;
  } else if (depth_ == 2 && in_metadata_) {
    place_ = Place::kMetadataValue;
  } else if (depth_ == 2) {
    EnterField(value);
  }
  return true;  // deeper objects belong to an ignored field
}

void HeaderParser::EnterField(std::string_view field) {
  if (field == "dtype") {
    place_ = Place::kDType;
    has_dtype_ = true;
  } else if (field == "shape") {
    place_ = Place::kShape;
    has_shape_ = true;
  } else if (field == "data_offsets") {
    place_ = Place::kOffsets;
    has_offsets_ = true;
  } else {
    place_ = Place::kIgnored;
  }
}

bool HeaderParser::end_object() {
  if (const std::optional<Piece> twice = pool_.CloseObject(); twice.has_value()) {
    return Fail(core::InvalidArgumentError("safetensors: {}: duplicate key {}", Where(),
                                           core::Quoted(TextOf(*twice))));
  }
  const bool was_tensor = depth_ == 2 && !in_metadata_;
  if (was_tensor && !FinishTensor()) return false;
  --depth_;
  return true;
}

bool HeaderParser::start_array(std::size_t) {
  switch (place_) {
    case Place::kShape:
      place_ = Place::kExtent;
      break;
    case Place::kOffsets:
      place_ = Place::kOffset;
      seen_offsets_ = 0;
      break;
    case Place::kIgnored:
      break;
    default:
      return Unexpected("an array");
  }
  return Enter();
}

bool HeaderParser::end_array() {
  --depth_;
  if (place_ == Place::kOffset && seen_offsets_ != 2) return Unexpected("fewer");
  return true;
}

bool HeaderParser::parse_error(std::size_t, const std::string&,
                               const nlohmann::detail::exception& error) {
  return Fail(core::InvalidArgumentError("safetensors: the header is not JSON: {}",
                                         ParserMessage(error.what())));
}

bool HeaderParser::FinishTensor() {
  const char* const missing = !has_dtype_     ? "dtype"
                              : !has_shape_   ? "shape"
                              : !has_offsets_ ? "data_offsets"
                                              : nullptr;
  if (missing != nullptr) {
    return Fail(core::InvalidArgumentError("safetensors: {}: there is no {}", Where(), missing));
  }
  entry_.dims_count = static_cast<std::uint32_t>(dims_.size()) - entry_.dims_begin;
  core::Status status = CheckSize(entry_);
  if (!status.ok()) return Fail(std::move(status));
  entries_.push_back(entry_);
  return true;
}

core::Status HeaderParser::CheckSize(const Entry& entry) const {
  if (entry.begin > entry.end || entry.end > data_bytes_) {
    return core::InvalidArgumentError(
        "safetensors: {}: data_offsets [{}, {}] are not a range in the {} bytes of data", Where(),
        entry.begin, entry.end, data_bytes_);
  }
  // As Shape::FromDims: extents beside a 0 are multiplied too, so that strides exist.
  std::int64_t product = 1;
  bool has_zero = false;
  for (const std::int64_t dim : DimsOf(entry)) {
    has_zero |= dim == 0;
    const std::optional<std::int64_t> next =
        core::CheckedMul(product, std::max<std::int64_t>(dim, 1));
    if (!next.has_value()) {
      return core::InvalidArgumentError(
          "safetensors: {}: the product of the non-zero extents of shape {} overflows int64_t",
          Where(), Bracketed(DimsOf(entry)));
    }
    product = *next;
  }
  const Format* const format = FindFormat(TextOf(entry.dtype));
  if (format == nullptr) return core::OkStatus();  // a width that only its authors know
  const std::optional<std::uint64_t> bits =
      core::CheckedMul(has_zero ? std::uint64_t{0} : static_cast<std::uint64_t>(product),
                       static_cast<std::uint64_t>(format->bits));
  if (!bits.has_value() || *bits % 8 != 0 || *bits / 8 != entry.end - entry.begin) {
    return core::InvalidArgumentError(
        "safetensors: {}: data_offsets [{}, {}] span {} bytes, but shape {} of {} takes {} "
        "elements of {} bits",
        Where(), entry.begin, entry.end, entry.end - entry.begin, Bracketed(DimsOf(entry)),
        format->name, has_zero ? 0 : product, format->bits);
  }
  return core::OkStatus();
}

// The tensors, in the order of their data, must follow each other from the first byte to the last.
core::Status HeaderParser::CheckCoverage() const {
  std::uint64_t covered = 0;
  for (const Entry& entry : entries_) {
    if (entry.begin != covered) {
      return core::InvalidArgumentError(
          "safetensors: tensor {}: its data begins at byte {}, expected {}: {}",
          core::Quoted(TextOf(entry.name)), entry.begin, covered,
          entry.begin < covered ? "it overlaps another tensor" : "there is a gap");
    }
    covered = entry.end;
  }
  if (covered != data_bytes_) {
    return core::InvalidArgumentError(
        "safetensors: the tensors cover {} bytes of data, but there are {}", covered, data_bytes_);
  }
  return core::OkStatus();
}

core::StatusOr<Header> HeaderParser::Finish() {
  pool_.ReleaseKeys();
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    return std::tuple(a.begin, a.end, TextOf(a.name)) < std::tuple(b.begin, b.end, TextOf(b.name));
  });
  ENGINE_RETURN_IF_ERROR(CheckCoverage());
  Header header;
  header.tensors.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const std::string_view dtype_name = TextOf(entry.dtype);
    const Format* const format = FindFormat(dtype_name);
    const std::span<const std::int64_t> dims = DimsOf(entry);
    header.tensors.push_back({.name = std::string(TextOf(entry.name)),
                              .dtype_name = std::string(dtype_name),
                              .dtype = format == nullptr ? std::nullopt : format->dtype,
                              .dims = std::vector<std::int64_t>(dims.begin(), dims.end()),
                              .begin = entry.begin,
                              .end = entry.end});
  }
  std::sort(metadata_.begin(), metadata_.end(),
            [&](const auto& a, const auto& b) { return TextOf(a.first) < TextOf(b.first); });
  header.metadata.reserve(metadata_.size());
  for (const auto& [key, value] : metadata_) {
    header.metadata.emplace_back(TextOf(key), TextOf(value));
  }
  return header;
}

}  // namespace

core::StatusOr<Header> ParseHeader(std::string_view text, std::uint64_t data_bytes) {
  ENGINE_RETURN_IF_ERROR(CheckJsonText("safetensors: the header", text));
  HeaderParser parser(text, data_bytes);
  if (!nlohmann::json::sax_parse(SpacedIterator(text.data()),
                                 SpacedIterator(text.data() + text.size()), &parser)) {
    return parser.status();
  }
  return parser.Finish();
}

}  // namespace engine::safetensors::internal
