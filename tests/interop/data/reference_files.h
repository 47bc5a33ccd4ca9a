// Files made by the reference implementation (Python package safetensors 0.8.0), as C++ literals.
//
// Each is the result of safetensors.serialize(tensors, metadata), where a tensor is a TensorSpec of
// dtype name, shape and little-endian bytes; the comments give shape and values. The
// first line of each literal is the header's length, then the header, one tensor a line, then the
// data, 16 bytes a line.
#ifndef ENGINE_TESTS_INTEROP_DATA_REFERENCE_FILES_H_
#define ENGINE_TESTS_INTEROP_DATA_REFERENCE_FILES_H_

#include <string_view>

namespace engine::safetensors::reference {

// Shape [3] each. Floating: 1.5, -2, 0.25. Signed: -1, 2, the minimum. Unsigned: 1, 2, the maximum.
// Bool: true, false, true. No metadata.
inline constexpr std::string_view kAllDTypes(
    "\xf8\x02\x00\x00\x00\x00\x00\x00"
    "{\"u64\":{\"dtype\":\"U64\",\"shape\":[3],\"data_offsets\":[0,24]},"
    "\"i64\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[24,48]},"
    "\"f64\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[48,72]},"
    "\"f32\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[72,84]},"
    "\"u32\":{\"dtype\":\"U32\",\"shape\":[3],\"data_offsets\":[84,96]},"
    "\"i32\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[96,108]},"
    "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[108,114]},"
    "\"f16\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[114,120]},"
    "\"u16\":{\"dtype\":\"U16\",\"shape\":[3],\"data_offsets\":[120,126]},"
    "\"i16\":{\"dtype\":\"I16\",\"shape\":[3],\"data_offsets\":[126,132]},"
    "\"i8\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[132,135]},"
    "\"u8\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[135,138]},"
    "\"bool\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[138,141]}}    "
    "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80"
    "\x00\x00\x00\x00\x00\x00\xf8\x3f\x00\x00\x00\x00\x00\x00\x00\xc0"
    "\x00\x00\x00\x00\x00\x00\xd0\x3f\x00\x00\xc0\x3f\x00\x00\x00\xc0"
    "\x00\x00\x80>\x01\x00\x00\x00\x02\x00\x00\x00\xff\xff\xff\xff"
    "\xff\xff\xff\xff\x02\x00\x00\x00\x00\x00\x00\x80\xc0\x3f\x00\xc0"
    "\x80>\x00>\x00\xc0\x00\x34\x01\x00\x02\x00\xff\xff\xff\xff"
    "\x02\x00\x00\x80\xff\x02\x80\x01\x02\xff\x01\x00\x01",
    909);

// float32: "scalar" [] = 7, "empty" [0, 3], "matrix" [2, 3] = 0..5, a name of three scripts [1] =
// -1, and a name of a quote, a backslash, a line break and U+0001 [1] = 9. One metadata entry.
inline constexpr std::string_view kShapes(
    "h\x01\x00\x00\x00\x00\x00\x00"
    "{\"__metadata__\":{\"for\xce\xb1mat\":\"p\\t\\\"t\\\\ \\u001f\x7f/\"},"
    "\"empty\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[0,0]},"
    "\"matrix\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"q\\\"\\\\\\n\\u0001\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[24,28]},"
    "\"scalar\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[28,32]},"
    "\"\xe5\xb1\xa4.\xc3\xa9\xf0\x9f\x98\x80\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":["
    "32,36]}} "
    "\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00@\x00\x00@@"
    "\x00\x00\x80@\x00\x00\xa0@\x00\x00\x10\x41\x00\x00\xe0@"
    "\x00\x00\x80\xbf",
    404);

// No tensors, one metadata entry.
inline constexpr std::string_view kNoTensors(
    " \x00\x00\x00\x00\x00\x00\x00"
    "{\"__metadata__\":{\"format\":\"np\"}}",
    40);

// No tensors and no metadata.
inline constexpr std::string_view kEmptyFile(
    "\x08\x00\x00\x00\x00\x00\x00\x00"
    "{}      ",
    16);

}  // namespace engine::safetensors::reference

#endif  // ENGINE_TESTS_INTEROP_DATA_REFERENCE_FILES_H_
