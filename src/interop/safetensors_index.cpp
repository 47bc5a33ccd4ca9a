#include "interop/internal/safetensors_index.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"
#include "interop/internal/safetensors_json.h"

namespace engine::safetensors::internal {
namespace {

using core::Quoted;

// Receives the events of nlohmann's SAX parser; every handler returns false to stop it. Methods
// named in lower case are its interface.
//
// Heap: as Note [Heap bound] in safetensors_header.cpp. The shortest text that makes it keep
// something is "":"a", with 7 bytes: two Pieces while reading, whose vector holds three times that
// for a moment, and a Piece for the key; an Entry (40 bytes) at the end, and a string (32) for
// each distinct file.
class IndexParser {
 public:
  explicit IndexParser(std::string_view text) : pool_(text.size()) {}

  // The events of the parser.
  bool null() { return Scalar("null"); }
  bool boolean(bool) { return Scalar("a boolean"); }
  bool number_integer(std::int64_t) { return Scalar("a negative number"); }
  bool number_float(double, const std::string&) { return Scalar("a number"); }
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
  // After the last event. Consumes the parser's own storage.
  [[nodiscard]] core::StatusOr<Index> Finish();

 private:
  // Of an object's members at depth 1: where they are, and so what they must be.
  enum class Place { kOther, kWeightMap, kMetadata };

  bool Fail(core::Status status) {
    status_ = std::move(status);
    return false;
  }
  [[nodiscard]] bool in_weight_map() const { return place_ == Place::kWeightMap; }
  bool Scalar(const char* found);
  bool Enter();

  [[nodiscard]] std::string_view TextOf(Piece piece) const { return pool_.TextOf(piece); }

  core::Status status_;
  JsonPool pool_;
  Place place_ = Place::kOther;
  int depth_ = 0;
  bool names_total_size_ = false;
  bool has_weight_map_ = false;
  std::optional<std::uint64_t> total_size_;
  std::vector<std::pair<Piece, Piece>> weights_;  // tensor, file
};

bool IndexParser::Scalar(const char* found) {
  if (!in_weight_map()) return true;
  return Fail(core::InvalidArgumentError(
      "safetensors: the index: expected weight_map to be an object of strings, found {}", found));
}

bool IndexParser::Enter() {
  if (++depth_ <= kMaxDepth) return true;
  return Fail(core::InvalidArgumentError(
      "safetensors: the index: objects and arrays nest deeper than {} levels", kMaxDepth));
}

bool IndexParser::number_unsigned(std::uint64_t value) {
  if (place_ == Place::kMetadata && depth_ == 2 && names_total_size_) total_size_ = value;
  return Scalar("a number");
}

bool IndexParser::string(std::string& value) {
  if (!in_weight_map()) return true;
  if (depth_ != 2) return Scalar("a string");
  if (!IsPlainName(value)) {
    return Fail(core::InvalidArgumentError(
        "safetensors: the index: tensor {} is in {}, which is not the name of a file beside it",
        Quoted(TextOf(pool_.LastKey())), Quoted(value)));
  }
  weights_.emplace_back(pool_.LastKey(), pool_.Keep(value));
  return true;
}

bool IndexParser::start_object(std::size_t) {
  if (depth_ >= 2 && !Scalar("an object")) return false;
  pool_.OpenObject();
  return Enter();
}

bool IndexParser::key(std::string& value) {
  pool_.AddKey(value);
  if (depth_ == 1) {
    place_ = value == "weight_map" ? Place::kWeightMap
             : value == "metadata" ? Place::kMetadata
                                   : Place::kOther;
    has_weight_map_ |= in_weight_map();
    names_total_size_ = false;  // that of another member
  } else if (depth_ == 2) {
    names_total_size_ = value == "total_size";
  }
  return true;
}

bool IndexParser::end_object() {
  if (const std::optional<Piece> twice = pool_.CloseObject(); twice.has_value()) {
    return Fail(core::InvalidArgumentError("safetensors: the index: duplicate key {}",
                                           Quoted(TextOf(*twice))));
  }
  if (--depth_ == 1) place_ = Place::kOther;
  return true;
}

bool IndexParser::start_array(std::size_t) { return Scalar("an array") && Enter(); }

bool IndexParser::end_array() {
  --depth_;
  return true;
}

bool IndexParser::parse_error(std::size_t, const std::string&,
                              const nlohmann::detail::exception& error) {
  return Fail(core::InvalidArgumentError("safetensors: the index is not JSON: {}",
                                         ParserMessage(error.what())));
}

core::StatusOr<Index> IndexParser::Finish() {
  if (!has_weight_map_) {
    return core::InvalidArgumentError("safetensors: the index has no weight_map");
  }
  pool_.ReleaseKeys();
  // By file, to number the files...
  std::sort(weights_.begin(), weights_.end(),
            [&](const auto& a, const auto& b) { return TextOf(a.second) < TextOf(b.second); });
  std::size_t files = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    files += i == 0 || TextOf(weights_[i].second) != TextOf(weights_[i - 1].second) ? 1 : 0;
  }
  Index index;
  index.total_size = total_size_;
  index.shards.reserve(files);
  index.tensors.reserve(weights_.size());
  for (const auto& [name, file] : weights_) {
    if (index.shards.empty() || index.shards.back() != TextOf(file)) {
      index.shards.emplace_back(TextOf(file));
    }
    index.tensors.push_back(
        {std::string(TextOf(name)), static_cast<std::uint32_t>(index.shards.size() - 1)});
  }
  // ...and by name, to find them.
  std::sort(index.tensors.begin(), index.tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return index;
}

}  // namespace

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         core::FindControl(name) == std::string_view::npos;
}

core::StatusOr<Index> ParseIndex(std::string_view text) {
  if (text.size() > kMaxHeaderBytes) {
    return core::InvalidArgumentError("safetensors: an index of {} bytes, expected at most {}",
                                      text.size(), kMaxHeaderBytes);
  }
  ENGINE_RETURN_IF_ERROR(CheckJsonText("safetensors: the index", text));
  IndexParser parser(text);
  if (!nlohmann::json::sax_parse(SpacedIterator(text.data()),
                                 SpacedIterator(text.data() + text.size()), &parser)) {
    return parser.status();
  }
  return parser.Finish();
}

}  // namespace engine::safetensors::internal
