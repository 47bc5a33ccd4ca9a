// Clause: docs/design/npy.md, "What is refused", "Writing".
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interop/internal/npy_header.h"
#include "interop/npy.h"
#include "interop_test_util.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace engine::npy {
namespace {

using ::engine::testing::StatusIs;
using interop_testing::BufferOf;
using tensor::DataType;
using tensor::Shape;

core::StatusOr<Header> Read(const std::string& bytes) {
  // An allocation of exactly these bytes, so that sanitizers see its end.
  const auto buffer = BufferOf(bytes);
  return ReadHeader(std::span(static_cast<const std::byte*>(buffer->data()), buffer->size_bytes()));
}

// A whole file of version 1.0.
std::string FileOf(std::string_view header, std::size_t data_bytes = 0) {
  std::string bytes = "\x93NUMPY";
  bytes +=
      {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  bytes += header;
  return bytes + std::string(data_bytes, '\0');
}

// The dictionary with one entry replaced by `entry`.
std::string Dictionary(std::string_view descr, std::string_view order, std::string_view shape) {
  return std::string("{'descr': ").append(descr).append(", 'fortran_order': ").append(order) +
         ", 'shape': " + std::string(shape) + "}";
}

TEST(NpyHeaderTest, EveryField) {
  const std::string file = FileOf(Dictionary("'<i2'", "True", "(2, 3)"), 12);
  ENGINE_ASSERT_OK_AND_ASSIGN(const Header header, Read(file));
  EXPECT_EQ(header.version, Version::k1_0);
  EXPECT_EQ(header.dtype, DataType::kInt16);
  EXPECT_TRUE(header.fortran_order);
  EXPECT_EQ(header.shape, Shape({2, 3}));
  EXPECT_EQ(header.begin, file.size() - 12);
  EXPECT_EQ(header.end, file.size());
}

// What Python reads as the same dictionary.
TEST(NpyHeaderTest, OtherSpellings) {
  for (const char* const text : {
           "{'shape':(2,3),'descr':'<i2','fortran_order':False}",
           "{ \"descr\" : \"<i2\" , \"fortran_order\" : False , \"shape\" : ( 2 , 3 , ) , }\n",
           "  {'descr': '=i2', 'fortran_order': False, 'shape': (2L, 3L)}  \n\n\t ",
           "{'descr':\n'<i2',\r\n'fortran_order':\tFalse,\f'shape':(2,3)}",
       }) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Header header, Read(FileOf(text, 12)));
    EXPECT_EQ(header.dtype, DataType::kInt16) << text;
    EXPECT_FALSE(header.fortran_order) << text;
    EXPECT_EQ(header.shape, Shape({2, 3})) << text;
  }
}

TEST(NpyHeaderTest, ByteOrders) {
  const auto dtype_of = [](const std::string& descr) {
    return Read(FileOf(Dictionary("'" + descr + "'", "False", "()"), 8));
  };
  // One byte has no order.
  for (const char* const descr : {"|u1", "<u1", ">u1", "=u1"}) {
    ENGINE_ASSERT_OK_AND_ASSIGN(const Header header, dtype_of(descr));
    EXPECT_EQ(header.dtype, DataType::kUInt8) << descr;
  }
  ENGINE_ASSERT_OK_AND_ASSIGN(const Header brain, dtype_of("<V2"));
  EXPECT_EQ(brain.dtype, DataType::kBFloat16);
  for (const char* const descr :
       {">f4", "|f4", "f4",      "|V2", "=V2", ">V2", "<V1", "<V4",  "<c8",  "<f16",    "|O",
        "|S4", "<U3", "<M8[ns]", "<m8", "",    "<",   "<f",  "<f44", "<f4 ", "float32", "<F4"}) {
    EXPECT_THAT(dtype_of(descr), StatusIs(core::StatusCode::kUnimplemented, "npy: dtype '"))
        << descr;
  }
}

TEST(NpyHeaderTest, StructuredDTypesAreUnimplemented) {
  EXPECT_THAT(Read(FileOf(Dictionary("[('x', '<f4')]", "False", "()"), 4)),
              StatusIs(core::StatusCode::kUnimplemented, "a structured dtype"));
}

// Not the form of the format; nothing is taken for something else.
TEST(NpyHeaderTest, MalformedDictionaries) {
  for (const char* const text : {
           "",
           " ",
           "{",
           "}",
           "{}",
           "{,}",
           "['descr']",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ()",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ()}}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ()}\v",
           "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4',, 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4', 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'extra': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4, 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4\", 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f\\x34', 'fortran_order': False, 'shape': ()}",
           "{'descr': <f4, 'fortran_order': False, 'shape': ()}",
           "{'descr': None, 'fortran_order': False, 'shape': ()}",
           "{descr: '<f4', 'fortran_order': False, 'shape': ()}",
           "{'descr' '<f4', 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': false, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': []}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1}",
       }) {
    EXPECT_THAT(Read(FileOf(text, 64)), StatusIs(core::StatusCode::kInvalidArgument, "npy: "))
        << text;
  }
}

// P25, P26, P27, P28: products and signs, in every position.
TEST(NpyHeaderTest, Extents) {
  const auto read = [](const char* shape) {
    return Read(FileOf(Dictionary("'<f4'", "False", shape), 64));
  };
  for (const char* const shape : {"(-1,)",
                                  "(0, -1)",
                                  "(-2, -3)",
                                  "(+1,)",
                                  "(1.0,)",
                                  "(1e0,)",
                                  "(0x1,)",
                                  "(01,)",
                                  "(00,)",
                                  "(1_0,)",
                                  "(True,)",
                                  "('1',)",
                                  "(1LL,)",
                                  "(9223372036854775808,)",
                                  "(99999999999999999999999999999999,)",
                                  "(2, 2, 1, 2305843009213693952)",
                                  "(2, 2, 0, 9223372036854775806)",
                                  "(9223372036854775806, 0, 2, 2)",
                                  "(4611686018427387904,)",
                                  "(1, 1, 1, 1, 1, 1, 1, 1, 1)",
                                  "(17,)",
                                  "(4, 5)"}) {
    EXPECT_THAT(read(shape), StatusIs(core::StatusCode::kInvalidArgument)) << shape;
  }
  for (const char* const shape :
       {"()", "(0,)", "(16,)", "(0, 9223372036854775807)", "(1, 1, 1, 1, 1, 1, 1, 16)", "(2, 8)"}) {
    ENGINE_EXPECT_OK(read(shape)) << shape;
  }
}

// Python 3 never wrote the suffix, so version 3.0 does not have it.
TEST(NpyHeaderTest, LongSuffixIsOfPython2) {
  std::string file = FileOf(Dictionary("'<f4'", "False", "(1L,)"), 4);
  ENGINE_EXPECT_OK(Read(file));
  file[6] = '\3';
  file.insert(10, 2, '\0');
  EXPECT_THAT(Read(file), StatusIs(core::StatusCode::kInvalidArgument, "expected ',' or ')'"));
}

TEST(NpyHeaderTest, Prefix) {
  const std::string good = FileOf(Dictionary("'<f4'", "False", "()"), 4);
  ENGINE_ASSERT_OK(Read(good));
  // Every shorter file.
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(Read(good.substr(0, size)), StatusIs(core::StatusCode::kInvalidArgument)) << size;
  }
  const auto with_byte = [&](std::size_t at, char value) {
    std::string file = good;
    file[at] = value;
    return Read(file);
  };
  EXPECT_THAT(with_byte(0, '\x92'), StatusIs(core::StatusCode::kInvalidArgument, "the magic"));
  EXPECT_THAT(with_byte(6, '\0'), StatusIs(core::StatusCode::kInvalidArgument, "version 0.0"));
  EXPECT_THAT(with_byte(6, '\4'), StatusIs(core::StatusCode::kInvalidArgument, "version 4.0"));
  EXPECT_THAT(with_byte(7, '\1'), StatusIs(core::StatusCode::kInvalidArgument, "version 1.1"));
}

// The reference's reader caps the text too; the length is hostile, and 32 bits wide from 2.0 on.
TEST(NpyHeaderTest, LengthIsCapped) {
  std::string text = Dictionary("'<f4'", "False", "()");
  text.resize(kMaxHeaderBytes, ' ');
  ENGINE_EXPECT_OK(Read(FileOf(text, 4)));
  std::string file = FileOf(text + ' ', 4);
  file[6] = '\2';
  file.replace(8, 2, std::string("\0\0\1\0", 4));
  EXPECT_THAT(Read(file), StatusIs(core::StatusCode::kInvalidArgument, "a header of 65536 bytes"));
  file.replace(8, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_THAT(Read(file),
              StatusIs(core::StatusCode::kInvalidArgument, "a header of 4294967295 bytes"));
}

TEST(NpyHeaderTest, MessagesQuoteWhatIsHostile) {
  EXPECT_THAT(Read(FileOf("{'\x1b[2J': 1}")),
              StatusIs(core::StatusCode::kInvalidArgument, "unknown key '\\x1b[2J'"));
  EXPECT_THAT(Read(FileOf(Dictionary("'<f4'", "maybe", "()"))),
              StatusIs(core::StatusCode::kInvalidArgument,
                       "at byte 34 of the header: expected True or False"));
}

// The elements begin at a multiple of 64 whatever the shape. (The room for an axis to grow to 21 digits
// shows at boundaries only: PadsAWholeBlockAtABoundary.)
TEST(NpyPrefixTest, AlignsTheElements) {
  for (const Version version : {Version::k1_0, Version::k2_0, Version::k3_0}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{INT64_MAX, 0}, Shape{2, 3},
                               Shape{1, 1, 1, 1, 1, 1, 1, 1}, Shape{12345678, 1, 123456789}}) {
      for (const bool fortran : {false, true}) {
        const std::string prefix =
            internal::FormatPrefix({DataType::kInt8, fortran, shape}, version);
        EXPECT_EQ(prefix.size() % 64, 0U);
        EXPECT_EQ(prefix.back(), '\n');
        std::string file = prefix;
        const auto data_bytes = shape.numel();
        if (data_bytes < 1000) file.append(static_cast<std::size_t>(data_bytes), '\0');
        if (data_bytes >= 1000) continue;
        ENGINE_ASSERT_OK_AND_ASSIGN(const Header header, Read(file));
        EXPECT_EQ(header.version, version);
        EXPECT_EQ(header.shape, shape);
        EXPECT_EQ(header.fortran_order, fortran);
        EXPECT_EQ(header.begin, prefix.size());
      }
    }
  }
}

// NumPy pads by 1 to 64 bytes, not by 0 to 63: where the text ends at a boundary, a whole block more.
TEST(NpyPrefixTest, PadsAWholeBlockAtABoundary) {
  const Shape shape = {0, 1'000'000'000'000'000'000, 1, 1, 1, 1, 1, 1};
  const auto bytes = [&](Version version) {
    return internal::FormatPrefix({DataType::kFloat32, false, shape}, version).size();
  };
  EXPECT_EQ(bytes(Version::k1_0), 128U);
  EXPECT_EQ(bytes(Version::k2_0), 192U);
}

class NpyHeaderDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(NpyHeaderDeathTest, VersionThatIsNone) {
  EXPECT_DEATH(static_cast<void>(
                   internal::FormatPrefix({DataType::kInt8, false, {}}, static_cast<Version>(4))),
               "4 is not a Version");
}

}  // namespace
}  // namespace engine::npy
