#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <system_error>

#include "core/check.h"
#include "core/text.h"
#include "interop/internal/npy_header.h"

namespace engine::npy::internal {
namespace {

using core::Quoted;
using tensor::DataType;

// A dtype's letter and size in descr, behind the byte order. bfloat16: as ml_dtypes has it.
struct Format {
  std::string_view name;
  DataType dtype;
};
constexpr std::array<Format, 13> kFormats = {{
    {"b1", DataType::kBool},
    {"i1", DataType::kInt8},
    {"u1", DataType::kUInt8},
    {"i2", DataType::kInt16},
    {"u2", DataType::kUInt16},
    {"i4", DataType::kInt32},
    {"u4", DataType::kUInt32},
    {"i8", DataType::kInt64},
    {"u8", DataType::kUInt64},
    {"f2", DataType::kFloat16},
    {"f4", DataType::kFloat32},
    {"f8", DataType::kFloat64},
    {"V2", DataType::kBFloat16},
}};
static_assert(tensor::internal::ListsEachDTypeOnce(kFormats,
                                                   [](const Format& f) { return f.dtype; }));

// The dtype of a descr: a byte order, a letter, a size in bytes.
std::optional<DataType> FindDType(std::string_view descr) {
  if (descr.empty()) return std::nullopt;
  const auto* const format = std::find_if(
      kFormats.begin(), kFormats.end(), [&](const Format& f) { return f.name == descr.substr(1); });
  if (format == kFormats.end()) return std::nullopt;
  // Little-endian, as every machine we run on; '=' is the writer's own order, which for a file that
  // says so can only be taken for ours. 'V' with '=' would be no dtype of anybody.
  const char order = descr.front();
  const bool any_order = tensor::itemsize(format->dtype) == 1;
  const bool native = order == '<' || (order == '=' && format->dtype != DataType::kBFloat16);
  if (native || (any_order && (order == '|' || order == '>'))) return format->dtype;
  return std::nullopt;
}

// A cursor over the literal. Every error names the byte where it stands.
class Parser {
 public:
  Parser(std::string_view text, Version version) : text_(text), version_(version) {}

  core::StatusOr<Description> Parse();

 private:
  // Which of the three entries has been read.
  enum Key { kDescr, kFortranOrder, kShape, kKeys };
  static constexpr std::array<std::string_view, kKeys> kKeyNames = {"descr", "fortran_order",
                                                                    "shape"};

  [[nodiscard]] core::Status Expected(std::string_view what) const {
    return core::InvalidArgumentError("npy: at byte {} of the header: expected {}", position_,
                                      what);
  }
  // What Python takes for whitespace within brackets.
  void SkipSpace() {
    while (position_ < text_.size() &&
           std::string_view(" \t\n\r\f").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }
  // Consumes `token` after whitespace.
  [[nodiscard]] bool Take(std::string_view token) {
    SkipSpace();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  [[nodiscard]] bool Sees(char c) {
    SkipSpace();
    return position_ < text_.size() && text_[position_] == c;
  }

  core::Status ParseEntry();
  core::Status ParseDescr();
  core::Status ParseFortranOrder();
  core::Status ParseShape();
  core::StatusOr<std::string_view> ParseString(std::string_view what);
  core::StatusOr<std::int64_t> ParseExtent();

  std::string_view text_;
  Version version_;
  std::size_t position_ = 0;
  std::array<bool, kKeys> seen_{};
  std::string_view descr_;
  Description result_;
};

core::StatusOr<Description> Parser::Parse() {
  if (!Take("{")) return Expected("'{'");
  bool comma = true;
  while (!Take("}")) {
    if (!comma) return Expected("',' or '}'");
    ENGINE_RETURN_IF_ERROR(ParseEntry());
    comma = Take(",");
  }
  SkipSpace();
  if (position_ < text_.size()) return Expected("whitespace only after '}'");
  for (std::size_t i = 0; i < kKeys; ++i) {
    if (!seen_[i]) {
      return core::InvalidArgumentError("npy: the header lacks '{}'", kKeyNames[i]);
    }
  }
  // Last, so that Unimplemented is said of well-formed headers only.
  const std::optional<DataType> dtype = FindDType(descr_);
  if (!dtype.has_value()) {
    return core::UnimplementedError("npy: dtype {}, for which there is no tensor", Quoted(descr_));
  }
  result_.dtype = *dtype;
  return result_;
}

core::Status Parser::ParseEntry() {
  ENGINE_ASSIGN_OR_RETURN(const std::string_view name, ParseString("a key"));
  const auto* const found = std::find(kKeyNames.begin(), kKeyNames.end(), name);
  if (found == kKeyNames.end()) {
    return core::InvalidArgumentError("npy: the header has an unknown key {}", Quoted(name));
  }
  const auto key = static_cast<Key>(found - kKeyNames.begin());
  if (std::exchange(seen_[key], true)) {
    return core::InvalidArgumentError("npy: the header has '{}' twice", name);
  }
  if (!Take(":")) return Expected("':'");
  switch (key) {
    case kDescr:
      return ParseDescr();
    case kFortranOrder:
      return ParseFortranOrder();
    case kShape:
    case kKeys:
      break;
  }
  return ParseShape();
}

core::Status Parser::ParseDescr() {
  if (Sees('[') || Sees('(') || Sees('{')) {
    return core::UnimplementedError("npy: a structured dtype, for which there is no tensor");
  }
  ENGINE_ASSIGN_OR_RETURN(descr_, ParseString("a dtype"));
  return core::OkStatus();
}

core::Status Parser::ParseFortranOrder() {
  result_.fortran_order = Take("True");
  if (!result_.fortran_order && !Take("False")) return Expected("True or False");
  return core::OkStatus();
}

core::Status Parser::ParseShape() {
  if (!Take("(")) return Expected("'('");
  std::array<std::int64_t, tensor::kMaxRank> dims{};
  std::size_t rank = 0;
  bool comma = true;
  while (!Take(")")) {
    if (!comma) return Expected("',' or ')'");
    ENGINE_ASSIGN_OR_RETURN(const std::int64_t extent, ParseExtent());
    if (rank == dims.size()) {
      return core::InvalidArgumentError("npy: the shape has more than {} axes", tensor::kMaxRank);
    }
    dims[rank++] = extent;
    comma = Take(",");
  }
  // (3) is a number in parentheses; the tuple is (3,).
  if (rank == 1 && !comma) return Expected("a tuple: ',' before ')'");
  ENGINE_ASSIGN_OR_RETURN(result_.shape, tensor::Shape::FromDims(std::span(dims).first(rank)));
  return core::OkStatus();
}

// A quoted string without escapes: neither the keys nor any dtype of ours has one.
core::StatusOr<std::string_view> Parser::ParseString(std::string_view what) {
  SkipSpace();
  const char quote = position_ < text_.size() ? text_[position_] : '\0';
  if (quote != '\'' && quote != '"') return Expected(what);
  const std::size_t begin = position_ + 1;
  const char stops[] = {quote, '\\', '\n', '\0'};
  const std::size_t end = text_.find_first_of(std::string_view(stops, sizeof(stops)), begin);
  if (end == std::string_view::npos || text_[end] != quote) {
    position_ = std::min(end, text_.size());
    return Expected("the end of a string without escapes");
  }
  position_ = end + 1;
  return text_.substr(begin, end - begin);
}

core::StatusOr<std::int64_t> Parser::ParseExtent() {
  SkipSpace();
  const char* const begin = text_.data() + position_;
  const char* const end = text_.data() + text_.size();
  if (begin == end || *begin < '0' || *begin > '9') return Expected("an extent of at least 0");
  std::int64_t extent = 0;
  const std::from_chars_result parsed = std::from_chars(begin, end, extent);
  if (parsed.ec != std::errc()) {
    return core::InvalidArgumentError("npy: an extent at byte {} of the header exceeds int64",
                                      position_);
  }
  if (*begin == '0' && parsed.ptr - begin > 1) return Expected("an extent without leading zeros");
  position_ += static_cast<std::size_t>(parsed.ptr - begin);
  // Python 2 wrote its long integers so.
  if (version_ != Version::k3_0 && parsed.ptr != end && *parsed.ptr == 'L') ++position_;
  return extent;
}

// NumPy leaves room for the digits of the axis along which a file may grow...
constexpr std::size_t kGrowthDigits = 21;
// ...and begins the elements at a multiple of this.
constexpr std::size_t kAlignment = 64;

// A byte order, a letter, a size.
std::string DescrOf(DataType dtype) {
  const auto* const format = std::find_if(kFormats.begin(), kFormats.end(),
                                          [&](const Format& f) { return f.dtype == dtype; });
  ENGINE_CHECK(format != kFormats.end(), "npy: {} is reserved", dtype);
  return fmt::format("{}{}", tensor::itemsize(dtype) == 1 ? '|' : '<', format->name);
}

}  // namespace

core::StatusOr<Description> ParseDescription(std::string_view text, Version version) {
  return Parser(text, version).Parse();
}

std::string FormatPrefix(const Description& description, Version version) {
  const auto major = static_cast<unsigned char>(version);
  ENGINE_CHECK(major >= 1 && major <= 3, "npy: {} is not a Version", major);
  const tensor::Shape& shape = description.shape;
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}",
                  DescrOf(description.dtype), description.fortran_order ? "True" : "False",
                  fmt::join(shape.dims(), ", "), shape.rank() == 1 ? "," : "");
  if (shape.rank() > 0) {
    const int growing = description.fortran_order ? shape.rank() - 1 : 0;
    text.append(kGrowthDigits - fmt::formatted_size("{}", shape.dim(growing)), ' ');
  }
  const std::size_t before = kMagic.size() + kVersionBytes + LengthBytes(version);
  // Never none: NumPy adds a whole block where the text ends at a boundary.
  text.append(kAlignment - (before + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string prefix(kMagic);
  prefix += static_cast<char>(major);
  prefix += '\0';
  for (std::size_t i = 0; i < LengthBytes(version); ++i) {
    prefix += static_cast<char>(static_cast<unsigned char>(text.size() >> (8 * i)));
  }
  return prefix + text;
}

}  // namespace engine::npy::internal
