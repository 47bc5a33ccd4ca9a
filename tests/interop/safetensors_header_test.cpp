// The header: what is refused, one case for each rule of docs/design/safetensors.md, and what is
// accepted at the edge of each rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "interop/safetensors.h"
#include "safetensors_test_util.h"
#include "testing/status_matchers.h"

namespace engine::safetensors {
namespace {

using ::engine::testing::IsOk;
using ::engine::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::string_view kEntry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";

// A header with one float32 tensor "a" of 4 bytes, in which one field is replaced or added.
std::string OneTensor(std::string_view dtype, std::string_view shape, std::string_view offsets,
                      std::string_view more = "") {
  return std::string(R"({"a":{"dtype":)")
      .append(dtype)
      .append(R"(,"shape":)")
      .append(shape)
      .append(R"(,"data_offsets":)")
      .append(offsets)
      .append(more)
      .append("}}");
}

struct Refusal {
  std::string name;
  std::string header;
  std::size_t data_bytes;
  std::string message;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class SafetensorsRefusalTest : public ::testing::TestWithParam<Refusal> {};

// Every header below is InvalidArgument, and the message says what is wrong and where.
TEST_P(SafetensorsRefusalTest, IsInvalidArgument) {
  const Refusal& refusal = GetParam();
  const std::string data(refusal.data_bytes, 'x');
  EXPECT_THAT(OpenBytes(FileBytes(refusal.header, data)),
              StatusIs(core::StatusCode::kInvalidArgument, refusal.message.c_str()));
}

std::string NameOf(const ::testing::TestParamInfo<Refusal>& info) { return info.param.name; }

std::string Repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

// A shape of `count` extents and a last one of 1. (Not "[" + ..., of which GCC 12 warns: PR 105651.)
std::string ShapeText(std::string_view extent, int count) {
  return Repeat("[", 1).append(Repeat(extent, count)).append("1]");
}

INSTANTIATE_TEST_SUITE_P(
    Text, SafetensorsRefusalTest,
    ::testing::Values(
        Refusal{"Empty", "", 0, "does not begin with '{'"},
        Refusal{"LeadingSpace", " {}", 0, "does not begin with '{'"},
        Refusal{"ByteOrderMark", "\xEF\xBB\xBF{}", 0, "does not begin with '{'"},
        Refusal{"Array", "[]", 0, "does not begin with '{'"},
        Refusal{"Unclosed", "{", 0, "is not JSON"}, Refusal{"TwoObjects", "{}{}", 0, "is not JSON"},
        Refusal{"TrailingText", "{} x", 0, "is not JSON"},
        Refusal{"TrailingComma", R"({"__metadata__":{"a":"b",}})", 0, "is not JSON"},
        Refusal{"Comment", "{/**/}", 0, "is not JSON"},
        Refusal{"NotANumber", R"({"a":NaN})", 0, "is not JSON"},
        Refusal{"LeadingZero", OneTensor(R"("F32")", "[01]", "[0,4]"), 4, "is not JSON"},
        Refusal{"NumberBeyondDouble", OneTensor(R"("F32")", "[1]", "[0,4]", R"(,"x":1e999)"), 4,
                "is not JSON: number overflow"},
        Refusal{"TrailingNul", std::string("{}\0", 3), 0, "control character 0x00 at byte 2"},
        // The JSON parser takes NUL for the end of its input; what follows must not hide.
        Refusal{"TextBehindNul", std::string("{}\0x", 4), 0, "control character 0x00 at byte 2"},
        Refusal{"VerticalTab", "{\v}", 0, "control character 0x0b at byte 1"},
        Refusal{"LineBreakInString", "{\"__metadata__\":{\"a\nb\":\"c\"}}", 0,
                "control character 0x0a at byte 19"},
        Refusal{"LineBreakBehindEscapedQuote", "{\"__metadata__\":{\"a\\\"\n\":\"c\"}}", 0,
                "control character 0x0a at byte 21"},
        Refusal{"Latin1", "{\"__metadata__\":{\"\xE9\":\"\"}}", 0, "is not UTF-8 at byte 18"},
        Refusal{"OverlongNul", "{\"__metadata__\":{\"\xC0\x80\":\"\"}}", 0, "not UTF-8 at byte 18"},
        Refusal{"EncodedSurrogate", "{\"__metadata__\":{\"\xED\xA0\x80\":\"\"}}", 0,
                "not UTF-8 at byte 18"},
        Refusal{"MalformedUtf8InPadding", "{}\xFF", 0, "not UTF-8 at byte 2"},
        Refusal{"EscapedLoneSurrogate", R"({"__metadata__":{"\ud800":""}})", 0, "is not JSON"},
        Refusal{"UnknownEscape", R"({"__metadata__":{"\x41":""}})", 0, "is not JSON"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Form, SafetensorsRefusalTest,
    ::testing::Values(
        Refusal{"TensorIsNull", R"({"a":null})", 0,
                "the header, key 'a': expected an object with dtype, shape and data_offsets, "
                "found null"},
        Refusal{"TensorIsArray", R"({"a":["F32",[1],[0,4]]})", 4, "found an array"},
        Refusal{"TensorIsString", R"({"a":"F32"})", 4, "found a string"},
        Refusal{"NoDType", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4,
                "tensor 'a': there is no dtype"},
        Refusal{"NoShape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4,
                "tensor 'a': there is no shape"},
        Refusal{"NoOffsets", R"({"a":{"dtype":"F32","shape":[1]}})", 4,
                "tensor 'a': there is no data_offsets"},
        Refusal{"DTypeIsNumber", OneTensor("1", "[1]", "[0,4]"), 4,
                "tensor 'a': expected dtype to be a string, found a number"},
        Refusal{"DTypeIsObject", OneTensor(R"({"F32":null})", "[1]", "[0,4]"), 4,
                "expected dtype to be a string, found an object"},
        Refusal{"ShapeIsNull", OneTensor(R"("F32")", "null", "[0,4]"), 4,
                "expected shape to be an array of integers in [0, 2^63), found null"},
        Refusal{"ShapeIsNumber", OneTensor(R"("F32")", "1", "[0,4]"), 4, "found a number"},
        Refusal{"ShapeIsNested", OneTensor(R"("F32")", "[[1]]", "[0,4]"), 4, "found an array"},
        Refusal{"ExtentIsString", OneTensor(R"("F32")", R"(["1"])", "[0,4]"), 4, "found a string"},
        Refusal{"ExtentIsBool", OneTensor(R"("F32")", "[true]", "[0,4]"), 4, "found a boolean"},
        Refusal{"ExtentIsObject", OneTensor(R"("F32")", "[{}]", "[0,4]"), 4, "found an object"},
        Refusal{"ExtentIsNegative", OneTensor(R"("F32")", "[-1]", "[0,4]"), 4,
                "found a negative number"},
        Refusal{"ExtentIsMinusZero", OneTensor(R"("F32")", "[-0]", "[0,0]"), 0,
                "found a negative number"},
        Refusal{"ExtentIsFraction", OneTensor(R"("F32")", "[1.5]", "[0,4]"), 4,
                "found a number with a fraction"},
        Refusal{"ExtentHasDecimals", OneTensor(R"("F32")", "[1.0]", "[0,4]"), 4, "found a number"},
        Refusal{"ExtentHasExponent", OneTensor(R"("F32")", "[1e0]", "[0,4]"), 4, "found a number"},
        Refusal{"ExtentIs2To63", OneTensor(R"("F32")", "[0,9223372036854775808]", "[0,0]"), 0,
                "found a larger one"},
        Refusal{"ExtentIs2To64", OneTensor(R"("F32")", "[0,18446744073709551616]", "[0,0]"), 0,
                "found a number"},
        Refusal{"OneOffset", OneTensor(R"("F32")", "[1]", "[0]"), 4,
                "expected data_offsets to be two integers in [0, 2^64), found fewer"},
        Refusal{"ThreeOffsets", OneTensor(R"("F32")", "[1]", "[0,4,4]"), 4, "found more"},
        Refusal{"NoOffset", OneTensor(R"("F32")", "[1]", "[]"), 4, "found fewer"},
        Refusal{"OffsetsAreString", OneTensor(R"("F32")", "[1]", R"("0,4")"), 4, "found a string"},
        Refusal{"OffsetIsNegative", OneTensor(R"("F32")", "[1]", "[-4,0]"), 4,
                "found a negative number"},
        Refusal{"OffsetIsFloat", OneTensor(R"("F32")", "[1]", "[0,4.0]"), 4, "found a number"},
        Refusal{"OffsetIs2To64", OneTensor(R"("F32")", "[1]", "[0,18446744073709551616]"), 4,
                "found a number"},
        Refusal{"MetadataIsNull", R"({"__metadata__":null})", 0,
                "expected __metadata__ to be an object of strings, found null"},
        Refusal{"MetadataIsArray", R"({"__metadata__":[]})", 0, "found an array"},
        Refusal{"MetadataIsNumber", R"({"__metadata__":{"a":1}})", 0,
                "__metadata__, key 'a': expected the value to be a string, found a number"},
        Refusal{"MetadataIsNested", R"({"__metadata__":{"a":{}}})", 0, "found an object"},
        Refusal{"MetadataIsList", R"({"__metadata__":{"a":["b"]}})", 0, "found an array"},
        Refusal{"MetadataHasNull", R"({"__metadata__":{"a":null}})", 0, "found null"},
        Refusal{
            "DeepArrays",
            OneTensor(R"("F32")", "[1]", "[0,4]", R"(,"x":)" + Repeat("[", 126) + Repeat("]", 126)),
            4, "nest deeper than 127 levels"},
        Refusal{"DeepObjects", R"({"a":{"x":)" + Repeat(R"({"":)", 100'000), 0,
                "nest deeper than 127 levels"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Duplicates, SafetensorsRefusalTest,
    ::testing::Values(
        Refusal{"Tensor",
                std::string(R"({"a":)").append(kEntry).append(R"(,"a":)").append(kEntry) + "}", 4,
                "the header: duplicate key 'a'"},
        // The same name, spelled with an escape.
        Refusal{"EscapedTensor",
                std::string(R"({"a":)").append(kEntry).append(R"(,"\u0061":)").append(kEntry) + "}",
                4, "the header: duplicate key 'a'"},
        Refusal{"Metadata", R"({"__metadata__":{},"__metadata__":{}})", 0,
                "the header: duplicate key '__metadata__'"},
        Refusal{"MetadataKey", R"({"__metadata__":{"k":"1","j":"","k":"1"}})", 0,
                "__metadata__: duplicate key 'k'"},
        Refusal{"DType", OneTensor(R"("F32")", "[1]", "[0,4]", R"(,"dtype":"F32")"), 4,
                "tensor 'a': duplicate key 'dtype'"},
        Refusal{"Shape", OneTensor(R"("F32")", "[1]", "[0,4]", R"(,"shape":[1])"), 4,
                "tensor 'a': duplicate key 'shape'"},
        Refusal{"Offsets", OneTensor(R"("F32")", "[1]", "[0,4]", R"(,"data_offsets":[0,4])"), 4,
                "tensor 'a': duplicate key 'data_offsets'"},
        Refusal{"IgnoredField", OneTensor(R"("F32")", "[1]", "[0,4]", R"(,"x":1,"x":1)"), 4,
                "tensor 'a': duplicate key 'x'"},
        Refusal{"InsideIgnoredField",
                OneTensor(R"("F32")", "[1]", "[0,4]", R"(,"x":[{"y":{"z":1,"z":2}}])"), 4,
                "tensor 'a': duplicate key 'z'"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Offsets, SafetensorsRefusalTest,
    ::testing::Values(
        Refusal{"NoDataSection", OneTensor(R"("F32")", "[1]", "[0,4]"), 0,
                "tensor 'a': data_offsets [0, 4] are not a range in the 0 bytes of data"},
        Refusal{"EndBehindData", OneTensor(R"("F32")", "[1]", "[0,4]"), 3, "are not a range"},
        Refusal{"BeginBehindEnd", OneTensor(R"("F32")", "[1]", "[4,0]"), 4, "are not a range"},
        Refusal{"EndIsHuge", OneTensor(R"("F32")", "[1]", "[0,18446744073709551615]"), 4,
                "are not a range"},
        // 2^64 - 4 + 8 wraps to 4.
        Refusal{"SpanWraps",
                OneTensor(R"("F32")", "[2]", "[18446744073709551612,18446744073709551615]"), 8,
                "are not a range"},
        Refusal{"Overlap",
                R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                6, "tensor 'b': its data begins at byte 2, expected 4: it overlaps"},
        Refusal{"SameRange",
                R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                4, "tensor 'b': its data begins at byte 0, expected 4: it overlaps"},
        Refusal{"EmptyInsideAnother",
                R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
                4, "tensor 'b': its data begins at byte 2, expected 4: it overlaps"},
        Refusal{"Gap",
                R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]},)"
                R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                9, "tensor 'b': its data begins at byte 5, expected 4: there is a gap"},
        Refusal{"GapAtTheStart", OneTensor(R"("U8")", "[1]", "[1,2]"), 2,
                "tensor 'a': its data begins at byte 1, expected 0: there is a gap"},
        Refusal{"TrailingBytes", OneTensor(R"("F32")", "[1]", "[0,4]"), 5,
                "the tensors cover 4 bytes of data, but there are 5"},
        Refusal{"DataWithoutTensors", "{}", 1, "cover 0 bytes of data, but there are 1"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Sizes, SafetensorsRefusalTest,
    ::testing::Values(
        // P74: the payload is smaller than the shape says.
        Refusal{"PayloadTooSmall", OneTensor(R"("I64")", "[3,100]", "[0,16]"), 16,
                "tensor 'a': data_offsets [0, 16] span 16 bytes, but shape [3, 100] of I64 takes "
                "300 elements of 64 bits"},
        Refusal{"PayloadTooLarge", OneTensor(R"("F32")", "[1]", "[0,8]"), 8, "span 8 bytes"},
        Refusal{"EmptyWithBytes", OneTensor(R"("F32")", "[0]", "[0,4]"), 4, "takes 0 elements"},
        Refusal{"ScalarWithoutBytes", OneTensor(R"("F32")", "[]", "[0,0]"), 0, "shape [] of F32"},
        Refusal{"ProductOverflows", OneTensor(R"("U8")", "[4294967296,2147483648]", "[0,0]"), 0,
                "the product of the non-zero extents of shape [4294967296, 2147483648] overflows"},
        Refusal{"ProductWrapsToSize",
                OneTensor(R"("F32")", "[9223372036854775807,4,4611686018427387905]", "[0,4]"), 4,
                "overflows int64_t"},
        Refusal{"ProductOverflowsBesideZero",
                OneTensor(R"("F32")", "[4611686018427387904,0,4611686018427387904]", "[0,0]"), 0,
                "overflows int64_t"},
        Refusal{"ProductOverflowsInUnknownFormat",
                OneTensor(R"("X9")", "[4611686018427387904,2]", "[0,4]"), 4, "overflows int64_t"},
        // 2^61 elements of 64 bits: neither 2^64 bytes nor 2^67 bits may wrap to 0.
        Refusal{"BytesOverflow", OneTensor(R"("F64")", "[2305843009213693952]", "[0,0]"), 0,
                "takes 2305843009213693952 elements of 64 bits"},
        Refusal{"HalfByte", OneTensor(R"("F4")", "[3]", "[0,2]"), 2, "takes 3 elements of 4 bits"},
        Refusal{"HalfByteTruncated", OneTensor(R"("F4")", "[3]", "[0,1]"), 1, "of 4 bits"},
        Refusal{"SixBits", OneTensor(R"("F6_E2M3")", "[4]", "[0,4]"), 4, "of 6 bits"},
        Refusal{"EightBits", OneTensor(R"("F8_E4M3")", "[4]", "[0,3]"), 3, "of 8 bits"},
        Refusal{"Complex", OneTensor(R"("C64")", "[1]", "[0,4]"), 4, "of 64 bits"},
        // Unknown formats have no size to check, but their ranges are checked.
        Refusal{"UnknownFormatOutOfRange", OneTensor(R"("X9")", "[1]", "[0,5]"), 4,
                "are not a range"},
        Refusal{"UnknownFormatGap", OneTensor(R"("X9")", "[1]", "[1,4]"), 4, "there is a gap"}),
    NameOf);

// What precedes the header.
TEST(SafetensorsLengthTest, IsCheckedBeforeTheHeaderIsRead) {
  EXPECT_THAT(OpenBytes(""), StatusIs(core::StatusCode::kInvalidArgument, "0 bytes, expected"));
  EXPECT_THAT(OpenBytes(std::string(7, '\0')),
              StatusIs(core::StatusCode::kInvalidArgument, "7 bytes, expected at least 8"));
  EXPECT_THAT(OpenBytes(LengthPrefix(0)),
              StatusIs(core::StatusCode::kInvalidArgument, "does not begin with '{'"));
  EXPECT_THAT(OpenBytes(LengthPrefix(3) + "{}"),
              StatusIs(core::StatusCode::kInvalidArgument, "a header of 3 bytes in a file of 10"));
  EXPECT_THAT(
      OpenBytes(LengthPrefix(100'000'000) + "{}"),
      StatusIs(core::StatusCode::kInvalidArgument, "a header of 100000000 bytes in a file"));
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, std::uint64_t{1} << 63, ~std::uint64_t{7}, ~std::uint64_t{0}}) {
    EXPECT_THAT(OpenBytes(LengthPrefix(length) + "{}"),
                StatusIs(core::StatusCode::kInvalidArgument, "expected at most 100000000"))
        << length;
  }
}

// Every truncation of a good file is refused.
TEST(SafetensorsLengthTest, TruncationAtEveryLength) {
  const std::string whole = FileBytes(OneTensor(R"("F32")", "[2]", "[0,8]"), "abcdefgh");
  ENGINE_EXPECT_OK(OpenBytes(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(OpenBytes(std::string_view(whole).substr(0, length)),
                StatusIs(core::StatusCode::kInvalidArgument))
        << length;
  }
}

// Names come from the file: messages shorten them and escape what a terminal would obey.
TEST(SafetensorsMessageTest, HostileNamesAreShownSafely) {
  const std::string name(100'000, 'n');
  const core::StatusOr<File> file = OpenBytes(FileBytes(R"({"\u001b[31m)" + name + R"(":null})"));
  EXPECT_THAT(file, StatusIs(core::StatusCode::kInvalidArgument, "'\\x1b[31mnnn"));
  EXPECT_LT(file.status().message().size(), 300U);
}

TEST(SafetensorsMessageTest, LongShapesAndTokensAreShortened) {
  const core::StatusOr<File> shape =
      OpenBytes(FileBytes(OneTensor(R"("F32")", ShapeText("2,", 60), "[0,4]"), "abcd"));
  EXPECT_THAT(shape, StatusIs(core::StatusCode::kInvalidArgument, "2, ...]"));
  EXPECT_LT(shape.status().message().size(), 300U);
  const core::StatusOr<File> token = OpenBytes(FileBytes("{\"" + std::string(100'000, 'n')));
  EXPECT_THAT(token, StatusIs(core::StatusCode::kInvalidArgument, "is not JSON"));
  EXPECT_LT(token.status().message().size(), 300U);
}

// Accepted, at the edges of the rules above.
TEST(SafetensorsAcceptanceTest, EmptyHeaders) {
  for (const std::string_view header :
       {"{}", "{ }", "{}   ", "{}\n\t\r ", R"({"__metadata__":{}})"}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(header)));
    EXPECT_THAT(file.tensors(), SizeIs(0));
    EXPECT_THAT(file.metadata(), SizeIs(0));
    EXPECT_EQ(file.header_bytes(), header.size());
  }
}

TEST(SafetensorsAcceptanceTest, UnknownFieldsAreIgnored) {
  const std::string header =
      OneTensor(R"("F32")", "[1]", "[0,4]",
                R"(,"x":[{"y":null,"shape":[9]},-1,1.5,true,"s"],"z":{"x":{"x":[]}},"":1e3)");
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(header, "abcd")));
  EXPECT_THAT(file.tensors()[0].dims, ElementsAre(1));
  EXPECT_EQ(file.tensors()[0].end, 4U);
}

TEST(SafetensorsAcceptanceTest, NestingUpToTheLimit) {
  const std::string field = R"(,"x":)" + Repeat("[", 125) + Repeat("]", 125);
  ENGINE_EXPECT_OK(OpenBytes(FileBytes(OneTensor(R"("F32")", "[1]", "[0,4]", field), "abcd")));
}

TEST(SafetensorsAcceptanceTest, WhitespaceAnyFieldOrderAndEscapes) {
  constexpr std::string_view kHeader =
      "{\n\t\"\\u0061\\ud83d\\ude00\\/\" : { \"data_offsets\" : [ 0 , 4 ] ,\r\n"
      "\"shape\":[ ], \"dt\\u0079pe\":\"F32\" } , \"__metadata__\":{\"\":\"\\u0000\"}}";
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(kHeader, "abcd")));
  ASSERT_THAT(file.tensors(), SizeIs(1));
  EXPECT_EQ(file.tensors()[0].name, "a\xF0\x9F\x98\x80/");
  EXPECT_THAT(file.tensors()[0].dims, SizeIs(0));
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("", std::string(1, '\0'))));
}

TEST(SafetensorsAcceptanceTest, TensorsAreListedByOffsetAndMetadataByKey) {
  constexpr std::string_view kHeader =
      R"({"z":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"__metadata__":{"b":"2","a":"1"},)"
      R"("e":{"dtype":"U8","shape":[0],"data_offsets":[4,4]},)"
      R"("d":{"dtype":"U8","shape":[7,0],"data_offsets":[4,4]},)"
      R"("":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(kHeader, "abcdef")));
  std::vector<std::string> names;
  for (const TensorInfo& info : file.tensors()) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("", "d", "e", "z"));
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("a", "1"), Pair("b", "2")));
}

// The largest extent, with nothing to multiply it by.
TEST(SafetensorsAcceptanceTest, HugeEmptyShapes) {
  const std::string header = OneTensor(R"("F64")", "[9223372036854775807,0,1]", "[0,0]");
  ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(header)));
  EXPECT_THAT(file.tensors()[0].dims, ElementsAre(9223372036854775807, 0, 1));
}

struct OtherFormat {
  std::string_view name;
  std::size_t bytes_of_8;
};

// Formats without a dtype: those the reference has published are checked for size, others only for
// range; all are listed.
TEST(SafetensorsAcceptanceTest, FormatsWithoutADTypeAreListed) {
  for (const OtherFormat& format :
       {OtherFormat{"F4", 4}, OtherFormat{"F6_E2M3", 6}, OtherFormat{"F6_E3M2", 6},
        OtherFormat{"F8_E4M3", 8}, OtherFormat{"F8_E5M2", 8}, OtherFormat{"F8_E8M0", 8},
        OtherFormat{"F8_E4M3FNUZ", 8}, OtherFormat{"F8_E5M2FNUZ", 8}, OtherFormat{"C64", 64},
        OtherFormat{"C128", 3}, OtherFormat{"f32", 5}, OtherFormat{"", 0}}) {
    const std::string header = OneTensor('"' + std::string(format.name) + '"', "[8]",
                                         "[0," + std::to_string(format.bytes_of_8) + "]");
    ENGINE_ASSERT_OK_AND_ASSIGN(const File file,
                                OpenBytes(FileBytes(header, std::string(format.bytes_of_8, 'x'))));
    EXPECT_EQ(file.tensors()[0].dtype_name, format.name);
    EXPECT_FALSE(file.tensors()[0].dtype.has_value());
    EXPECT_THAT(file.Get("a"), StatusIs(core::StatusCode::kUnimplemented,
                                        AllOf(HasSubstr("tensor 'a'"), HasSubstr("no dtype"))));
  }
}

// Any rank opens and lists; what a Shape holds can be fetched.
TEST(SafetensorsAcceptanceTest, RankAboveTheLimitIsListed) {
  for (const int rank : {8, 9, 1000}) {
    const std::string header = OneTensor(R"("F32")", ShapeText("1,", rank - 1), "[0,4]");
    ENGINE_ASSERT_OK_AND_ASSIGN(const File file, OpenBytes(FileBytes(header, "abcd")));
    EXPECT_THAT(file.tensors()[0].dims, SizeIs(rank));
    if (rank == 8) {
      EXPECT_THAT(file.Get("a"), IsOk());
    } else {
      EXPECT_THAT(file.Get("a"),
                  StatusIs(core::StatusCode::kInvalidArgument, "expected at most 8"));
    }
  }
}

}  // namespace
}  // namespace engine::safetensors
