// What the other documents name. Clause: links lead somewhere; a path in backticks is one of the tree;
// a test that a document cites as evidence exists.
#include <fnmatch.h>
#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "markdown.h"

namespace engine {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ENGINE_PROJECT_ROOT;

// "a/{b,c}.h" as "a/b.h" and "a/c.h".
std::vector<std::string> Expanded(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  const std::size_t close = pattern.find('}');
  if (open == std::string::npos || close == std::string::npos) return {pattern};
  std::vector<std::string> expanded;
  std::string inner = pattern.substr(open + 1, close - open - 1) + ",";
  for (std::size_t comma; (comma = inner.find(',')) != std::string::npos;
       inner.erase(0, comma + 1)) {
    const std::string one =
        pattern.substr(0, open) + inner.substr(0, comma) + pattern.substr(close + 1);
    for (const std::string& more : Expanded(one)) expanded.push_back(more);
  }
  return expanded;
}

bool ExistsInTree(const std::string& pattern) {
  glob_t found{};
  const bool exists = glob((kRoot / pattern).c_str(), 0, nullptr, &found) == 0;
  globfree(&found);
  return exists;
}

// A path from the root of the tree, perhaps with wildcards. Placeholders are none.
bool IsTreePath(const std::string& piece) {
  static const std::regex kPath(
      R"((src|tests|docs|cmake|tools|fuzz|benchmarks|examples|packaging|\.github|\.ci)/[^<> ]*)");
  return std::regex_match(piece, kPath);
}

// Of every gtest case in the sources: "Suite.Case".
const std::set<std::string>& Tests() {
  static const std::set<std::string> kTests = [] {
    std::set<std::string> names;
    const std::regex declaration(R"((?:^|\n)(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / "tests")) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string text = ReadText(entry.path());
      for (std::sregex_iterator match(text.begin(), text.end(), declaration), end; match != end;
           ++match) {
        names.insert((*match)[1].str() + "." + (*match)[2].str());
      }
    }
    return names;
  }();
  return kTests;
}

bool AnyTestMatches(const std::string& pattern) {
  return std::any_of(Tests().begin(), Tests().end(), [&](const std::string& name) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::vector<std::string> Documents() {
  std::vector<std::string> paths = {"README.md",        "CHANGELOG.md",    "CONTRIBUTING.md",
                                    "SECURITY.md",      "tests/README.md", "packaging/README.md",
                                    "docs/stability.md"};
  for (const char* const folder : {"docs/adr", "docs/design", "docs/guide"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / folder)) {
      paths.push_back(fs::relative(entry.path(), kRoot));
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class DocumentTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string Text() { return ReadText(kRoot / GetParam()); }
};

TEST_P(DocumentTest, LinksLeadSomewhere) {
  for (const std::string& target : LocalLinksOf(Text())) {
    EXPECT_TRUE(fs::exists((kRoot / GetParam()).parent_path() / target)) << target;
  }
}

TEST_P(DocumentTest, PathsExist) {
  for (const std::string& line : LinesOf(ProseOf(Text()))) {
    for (const std::string& piece : InBackticks(line)) {
      if (!IsTreePath(piece)) continue;
      for (const std::string& path : Expanded(piece)) EXPECT_TRUE(ExistsInTree(path)) << path;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DocumentTest, ::testing::ValuesIn(Documents()),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

// In the table "Guarantees": suites, or single cases.
TEST(EvidenceTest, GuaranteesAreTested) {
  int cited = 0;
  for (const std::string& line : LinesOf(ReadText(kRoot / "README.md"))) {
    const std::vector<std::string> cells =
        line.starts_with("|") ? CellsOf(line) : std::vector<std::string>();
    if (cells.size() < 2) continue;
    for (const std::string& piece : InBackticks(cells[1])) {
      static const std::regex kTest(R"([*A-Z]\w*Test(\.\w+)?)");
      if (!std::regex_match(piece, kTest)) continue;
      ++cited;
      EXPECT_TRUE(AnyTestMatches(piece.find('.') == std::string::npos ? piece + ".*" : piece))
          << piece;
    }
  }
  EXPECT_GT(cited, 20);
}

// In the last column of docs/design/faults.md, as ctest knows them: "program.Suite.Case".
TEST(EvidenceTest, FaultsAreTested) {
  int cited = 0;
  for (const std::string& line : LinesOf(ReadText(kRoot / "docs/design/faults.md"))) {
    const std::vector<std::string> cells =
        line.starts_with("|") ? CellsOf(line) : std::vector<std::string>();
    if (cells.size() < 4) continue;
    for (const std::string& piece : InBackticks(cells[3])) {
      const std::size_t dot = piece.find('.');
      if (dot == std::string::npos) continue;
      ++cited;
      EXPECT_TRUE(AnyTestMatches(piece.substr(dot + 1))) << piece;
    }
  }
  EXPECT_GT(cited, 20);
}

}  // namespace
}  // namespace engine
