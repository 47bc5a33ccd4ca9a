// interop/internal/safetensors_json.h: JSON from untrusted files, for nlohmann's SAX parser, and the
// little of it that is written.
#ifndef ENGINE_INTEROP_INTERNAL_SAFETENSORS_JSON_H_
#define ENGINE_INTEROP_INTERNAL_SAFETENSORS_JSON_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace engine::safetensors::internal {

// How deep objects and arrays may nest: the reference's JSON reader stops at the same depth.
inline constexpr int kMaxDepth = 127;

// Feeds the text to the parser with every control character as a space. Callers have made sure
// that controls are whitespace between tokens. The parser repeats its last token in an error's
// text, up to eight bytes for each control character; spaces stay single bytes.
class SpacedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit SpacedIterator(const char* position) : position_(position) {}
  char operator*() const {
    return static_cast<unsigned char>(*position_) < 0x20 ? ' ' : *position_;
  }
  SpacedIterator& operator++() {
    ++position_;
    return *this;
  }
  SpacedIterator operator++(int) { return SpacedIterator(position_++); }
  bool operator==(const SpacedIterator&) const = default;

 private:
  const char* position_;
};

// A piece of a JsonPool. Texts are shorter than 4 GiB.
struct Piece {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

// What a parser keeps while it reads: decoded texts, and the keys of the objects that are open, so
// that one which appears twice shows.
//   Throws   std::bad_alloc, where something is added.
class JsonPool {
 public:
  // For a text of that size: decoding never makes it longer.
  explicit JsonPool(std::size_t text_bytes) { pool_.reserve(text_bytes); }

  Piece Keep(std::string_view text) {
    const Piece piece{static_cast<std::uint32_t>(pool_.size()),
                      static_cast<std::uint32_t>(text.size())};
    pool_ += text;
    return piece;
  }
  // Valid until the next text is kept.
  [[nodiscard]] std::string_view TextOf(Piece piece) const {
    return std::string_view(pool_).substr(piece.begin, piece.size);
  }

  void OpenObject() { first_key_.push_back(static_cast<std::uint32_t>(keys_.size())); }
  void AddKey(std::string_view text) { keys_.push_back(Keep(text)); }
  // Of an open object that has one.
  [[nodiscard]] Piece LastKey() const { return keys_.back(); }
  // Drops the keys of the innermost open object, unless one of them appears twice: that is returned.
  [[nodiscard]] std::optional<Piece> CloseObject();
  // When all objects are closed: gives back the memory that keys took.
  void ReleaseKeys() { keys_ = std::vector<Piece>(); }  // `= {}` would keep it

 private:
  std::string pool_;
  std::vector<Piece> keys_;               // of all open objects
  std::vector<std::uint32_t> first_key_;  // of each open object, in keys_
};

// Rejects what no JSON parser needs to see: text that is not an object, malformed UTF-8, and controls
// that are not whitespace between tokens (NUL, which the parser takes for the end of the text, among
// them). `what` begins messages: "safetensors: the header".
[[nodiscard]] core::Status CheckJsonText(const char* what, std::string_view text);

// The text of a parser's error without its prefix and its copy of the last token, which is hostile.
[[nodiscard]] std::string_view ParserMessage(std::string_view what);

// Appends a JSON string as serde_json prints it, so that equal content gives equal bytes.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace engine::safetensors::internal

#endif  // ENGINE_INTEROP_INTERNAL_SAFETENSORS_JSON_H_
