// Files made by NumPy 2.4 (bfloat16: ml_dtypes 0.6), as C++ literals.
//
// Each is what numpy.lib.format.write_array writes; the comments give shape and values. The first line of a
// literal is magic, version and the header's length, then the header, then the elements, 16 bytes a line.
#ifndef ENGINE_TESTS_INTEROP_DATA_NPY_REFERENCE_FILES_H_
#define ENGINE_TESTS_INTEROP_DATA_NPY_REFERENCE_FILES_H_

#include <string_view>

namespace engine::npy::reference {

// [3] = 1.5, -2, 0.25
inline constexpr std::string_view kFloat32(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x00\x00\xc0?\x00\x00\x00\xc0\x00\x00\x80>",
    140);

// [3] = 1.5, -2, 0.25
inline constexpr std::string_view kFloat16(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x00>\x00\xc0\x00\x34",
    134);

// [3] = 1.5, -2, 0.25
inline constexpr std::string_view kFloat64(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x00\x00\x00\x00\x00\x00\xf8?\x00\x00\x00\x00\x00\x00\x00\xc0"
    "\x00\x00\x00\x00\x00\x00\xd0?",
    152);

// [3] = 1.5, -2, 0.25
inline constexpr std::string_view kBFloat16(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\xc0?\x00\xc0\x80>",
    134);

// [3] = -1, 2, -128
inline constexpr std::string_view kInt8(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\xff\x02\x80",
    131);

// [3] = -1, 2, -32768
inline constexpr std::string_view kInt16(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\xff\xff\x02\x00\x00\x80",
    134);

// [3] = -1, 2, -2147483648
inline constexpr std::string_view kInt32(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\xff\xff\xff\xff\x02\x00\x00\x00\x00\x00\x00\x80",
    140);

// [3] = -1, 2, -9223372036854775808
inline constexpr std::string_view kInt64(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x80",
    152);

// [3] = 1, 2, 255
inline constexpr std::string_view kUInt8(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x01\x02\xff",
    131);

// [3] = 1, 2, 65535
inline constexpr std::string_view kUInt16(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x01\x00\x02\x00\xff\xff",
    134);

// [3] = 1, 2, 4294967295
inline constexpr std::string_view kUInt32(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x01\x00\x00\x00\x02\x00\x00\x00\xff\xff\xff\xff",
    140);

// [3] = 1, 2, 18446744073709551615
inline constexpr std::string_view kUInt64(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"
    "\xff\xff\xff\xff\xff\xff\xff\xff",
    152);

// [3] = true, false, true
inline constexpr std::string_view kBool(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }             "
    "                                               \n"
    "\x01\x00\x01",
    131);

// [] = 7, int32
inline constexpr std::string_view kScalar(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<i4', 'fortran_order': False, 'shape': (), }               "
    "                                               \n"
    "\x07\x00\x00\x00",
    132);

// [0, 3], float32
inline constexpr std::string_view kEmpty(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }           "
    "                                               \n",
    128);

// [2, 3] = 0..5, int32, in Fortran order
inline constexpr std::string_view kFortran(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }            "
    "                                               \n"
    "\x00\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00"
    "\x02\x00\x00\x00\x05\x00\x00\x00",
    152);

// [2, 3, 2] = 0..11, uint8, in Fortran order
inline constexpr std::string_view kFortran3(
    "\x93NUMPY\x01\x00v\x00"
    "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }         "
    "                                               \n"
    "\x00\x06\x02\x08\x04\n\x01\x07\x03\x09\x05\x0b",
    140);

// [2] = 258, 3, int16, version 2.0
inline constexpr std::string_view kVersion2(
    "\x93NUMPY\x02\x00t\x00\x00\x00"
    "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }             "
    "                                             \n"
    "\x02\x01\x03\x00",
    132);

// [2] = 258, 3, int16, version 3.0
inline constexpr std::string_view kVersion3(
    "\x93NUMPY\x03\x00t\x00\x00\x00"
    "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }             "
    "                                             \n"
    "\x02\x01\x03\x00",
    132);

}  // namespace engine::npy::reference

#endif  // ENGINE_TESTS_INTEROP_DATA_NPY_REFERENCE_FILES_H_
