// What docs/guide shows is what the tests beside this file run. Clause: every C++ block of a guide is
// a snippet of its test, in the same order, and every snippet is shown; every block of output, and in
// tables every expression in the column "engine_tensor", stands in the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "markdown.h"

namespace engine {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

// Joins lines without the indentation that all of them share.
std::string Dedented(const std::vector<std::string>& lines) {
  std::size_t common = std::string::npos;
  for (const std::string& line : lines) {
    if (!line.empty()) common = std::min(common, line.find_first_not_of(' '));
  }
  std::string text;
  for (const std::string& line : lines) text += (line.empty() ? line : line.substr(common)) + "\n";
  return text;
}

// The fenced blocks of a Markdown text that are marked with `language`.
std::vector<std::string> BlocksOf(const std::string& markdown, std::string_view language) {
  std::vector<std::string> blocks;
  std::vector<std::string> block;
  std::string fence;
  for (const std::string& line : LinesOf(markdown)) {
    if (!line.starts_with("```")) {
      block.push_back(line);
    } else if (fence.empty()) {
      fence = line;
      block.clear();
    } else {
      if (fence.substr(3) == language) blocks.push_back(Dedented(block));
      fence.clear();
    }
  }
  EXPECT_TRUE(fence.empty()) << "a block without an end";
  return blocks;
}

// What stands between `// [snippet]` and `// [/snippet]`.
std::vector<std::string> SnippetsOf(const std::string& source) {
  std::vector<std::string> snippets;
  std::vector<std::string> snippet;
  bool inside = false;
  for (const std::string& line : LinesOf(source)) {
    if (line.ends_with("// [snippet]")) {
      EXPECT_FALSE(inside) << "a snippet within a snippet";
      inside = true;
      snippet.clear();
    } else if (line.ends_with("// [/snippet]")) {
      EXPECT_TRUE(inside) << "the end of no snippet";
      inside = false;
      snippets.push_back(Dedented(snippet));
    } else {
      snippet.push_back(line);
    }
  }
  EXPECT_FALSE(inside) << "a snippet without an end";
  return snippets;
}

std::string WithoutSpace(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) kept += c;
  }
  return kept;
}

// The code in backticks within the columns of tables that are headed "engine_tensor".
std::vector<std::string> TableCodeOf(const std::string& markdown) {
  std::vector<std::string> code;
  std::size_t column = std::string::npos;
  for (const std::string& line : LinesOf(markdown)) {
    if (!line.starts_with("|")) {
      column = std::string::npos;
      continue;
    }
    const std::vector<std::string> cells = CellsOf(line);
    if (column == std::string::npos) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (WithoutSpace(cells[i]) == "engine_tensor") column = i;
      }
      continue;
    }
    if (column >= cells.size()) continue;
    for (std::string& part : InBackticks(cells[column])) code.push_back(std::move(part));
  }
  return code;
}

// The names of the guides; the index holds no code.
std::vector<std::string> Guides() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(ENGINE_GUIDE_TEXT)) {
    if (entry.path().extension() == ".md" && entry.path().stem() != "README") {
      names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class GuideTextTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string Text() { return ReadText(fs::path(ENGINE_GUIDE_TEXT) / (GetParam() + ".md")); }
  static std::string Code() {
    std::string name = GetParam();
    std::replace(name.begin(), name.end(), '-', '_');
    return ReadText(fs::path(ENGINE_GUIDE_CODE) / (name + "_test.cpp"));
  }
};

TEST_P(GuideTextTest, EveryBlockIsASnippetThatRuns) {
  const std::vector<std::string> blocks = BlocksOf(Text(), "cpp");
  const std::vector<std::string> snippets = SnippetsOf(Code());
  EXPECT_FALSE(blocks.empty());
  for (std::size_t i = 0; i < std::min(blocks.size(), snippets.size()); ++i) {
    EXPECT_EQ(blocks[i], snippets[i]) << "block " << i;
  }
  EXPECT_EQ(blocks.size(), snippets.size());
}

TEST_P(GuideTextTest, OutputIsWhatTheTestExpects) {
  const std::string code = Code();
  for (const std::string& block : BlocksOf(Text(), "text")) {
    EXPECT_THAT(code, HasSubstr(block.substr(0, block.size() - 1)));
  }
}

TEST_P(GuideTextTest, CodeInTablesStandsInTheTest) {
  const std::string code = WithoutSpace(Code());
  for (const std::string& expression : TableCodeOf(Text())) {
    EXPECT_NE(code.find(WithoutSpace(expression)), std::string::npos) << expression;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GuideTextTest, ::testing::ValuesIn(Guides()),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace engine
