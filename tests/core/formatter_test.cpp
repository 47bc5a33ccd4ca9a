#include "core/formatter.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace engine::core {

struct Name {
  std::string_view text;
};
struct Ratio {
  float value;
};

}  // namespace engine::core

template <>
struct fmt::formatter<engine::core::Name> : engine::core::TextFormatter {
  template <typename FormatContext>
  auto format(engine::core::Name name, FormatContext& context) const {
    return Write(name.text, context);
  }
};
template <>
struct fmt::formatter<engine::core::Ratio> : engine::core::FloatFormatter {
  template <typename FormatContext>
  auto format(engine::core::Ratio ratio, FormatContext& context) const {
    return Write(ratio.value, context);
  }
};

namespace engine::core {
namespace {

// This file sees <fmt/core.h> alone, as a file with nothing but our headers does. (Since fmt 11
// that header is the whole library.)
#if defined(FMT_FORMAT_H_) && FMT_VERSION < 110000 && !defined(FMT_HEADER_ONLY)
#error "core/formatter.h includes <fmt/format.h>"
#endif

TEST(FormatterTest, TextTakesTheSpecsOfStrings) {
  const Name name{"abc"};
  EXPECT_EQ(fmt::format("{}", name), "abc");
  EXPECT_EQ(fmt::format("[{:>5}]", name), "[  abc]");
  EXPECT_EQ(fmt::format("[{:*^6}]", name), "[*abc**]");
  EXPECT_EQ(fmt::format("[{:.2}]", name), "[ab]");
  EXPECT_EQ(fmt::format("[{:{}}] {}", name, 4, 7), "[abc ] 7");
  EXPECT_EQ(fmt::format("[{1:{0}}]", 4, name), "[abc ]");
}

TEST(FormatterTest, FloatTakesTheSpecsOfFloats) {
  const Ratio ratio{0.1F};
  EXPECT_EQ(fmt::format("{}", ratio), "0.1");
  EXPECT_EQ(fmt::format("{:+.3e}", ratio), "+1.000e-01");
  EXPECT_EQ(fmt::format("[{:{}.{}f}]", ratio, 7, 2), "[   0.10]");
}

// The outputs of <fmt/core.h>; the tests of dtypes, devices and halves have the others.
TEST(FormatterTest, BuffersStringsAndArrays) {
  const Name name{"abc"};
  std::string text = "<";
  fmt::format_to(std::back_inserter(text), "{}{:>4}", name, name);
  EXPECT_EQ(text, "<abc abc");
  char buffer[3] = "xy";
  const auto result = fmt::format_to_n(buffer, 2, "{}", name);
  EXPECT_EQ(result.size, 3U);
  EXPECT_STREQ(buffer, "ab");
  EXPECT_EQ(fmt::formatted_size("{:9}", name), 9U);
}

#ifdef __cpp_exceptions

TEST(FormatterTest, SpecsThatDoNotFitAreRefused) {
  const Name name{"abc"};
  EXPECT_THROW(static_cast<void>(fmt::vformat("{:d}", fmt::make_format_args(name))),
               std::runtime_error);
  EXPECT_THROW(static_cast<void>(fmt::vformat("{:{}}", fmt::make_format_args(name, name))),
               std::runtime_error);
}

#endif  // __cpp_exceptions

}  // namespace
}  // namespace engine::core
