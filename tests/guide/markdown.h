// What the tests of the documents read Markdown with.
#ifndef ENGINE_TESTS_GUIDE_MARKDOWN_H_
#define ENGINE_TESTS_GUIDE_MARKDOWN_H_

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace engine {

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The text without its fenced blocks.
inline std::string ProseOf(const std::string& markdown) {
  std::string prose;
  bool inside = false;
  for (const std::string& line : LinesOf(markdown)) {
    if (line.starts_with("```")) {
      inside = !inside;
    } else if (!inside) {
      prose += line + "\n";
    }
  }
  return prose;
}

// The cells of a table's row.
inline std::vector<std::string> CellsOf(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(cell);
  return cells;
}

// The pieces of a line that stand in backticks.
inline std::vector<std::string> InBackticks(const std::string& line) {
  std::vector<std::string> pieces;
  std::istringstream stream(line);
  bool inside = false;
  for (std::string piece; std::getline(stream, piece, '`'); inside = !inside) {
    if (inside) pieces.push_back(piece);
  }
  return pieces;
}

// The targets of links to files, without their anchors.
inline std::vector<std::string> LocalLinksOf(const std::string& markdown) {
  std::vector<std::string> targets;
  const std::string text = ProseOf(markdown);
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
    const std::size_t end = text.find_first_of(")#", at + 2);
    const std::string target = text.substr(at + 2, end - at - 2);
    if (!target.empty() && target.find("://") == std::string::npos) targets.push_back(target);
  }
  return targets;
}

}  // namespace engine

#endif  // ENGINE_TESTS_GUIDE_MARKDOWN_H_
