// Envelopes of the upstream implementation, and its verdicts on changed ones.
//
// The bytes are hexadecimal; "*N" stands for N zero bytes. Fields that are not listed have a new
// message's value. The cases keep their upstream numbers; numbers that are missing never were.
#ifndef ENGINE_TESTS_WIRE_DATA_UPSTREAM_ENVELOPES_H_
#define ENGINE_TESTS_WIRE_DATA_UPSTREAM_ENVELOPES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace engine::wire::upstream {

struct Fields {
  std::string_view frame_id = "unknown";
  std::uint32_t seq = 0;
  std::uint32_t reserved = 0;
  std::uint64_t time_meas = 0;
  std::uint64_t time_pub = 0;
  std::uint64_t size = 0;
  std::uint64_t update_time_ns = 0;
  std::uint64_t num_elements = 0;
  std::string_view name = "";
  std::string_view model_id = "";
  std::string_view layout = "";
  std::array<std::uint32_t, 8> shape = {};
  std::array<std::uint32_t, 8> strides = {};
  std::uint32_t channel = 0;
  std::uint32_t freq = 0;
  std::uint32_t batch_size = 0;
  std::uint32_t quant_scale_bits = 0;
  std::int32_t quant_zero_point = 0;
  int dtype = 0;
  int rank = 0;
  int device = 0;
  bool is_owner = false;
  int element_size = 0;
  std::uint32_t reserved_buf = 0;
  std::uint32_t reserved_buf2 = 0;
  std::uint32_t reserved_buf3 = 0;
};

// What upstream's encoder wrote for a message of these fields.
struct WrittenCase {
  const char* name;
  Fields fields;
  std::string_view envelope;
};

// What upstream's decoder made of these bytes.
struct ReadCase {
  const char* name;
  bool check_valid;
  bool accepted;
  std::string_view envelope;
  Fields fields;  // where accepted
};

inline constexpr std::string_view k16TimesFF =
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
inline constexpr std::string_view k32TimesFF =
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
inline constexpr std::uint32_t kOnes = 0xFFFFFFFF;

// clang-format off
inline constexpr WrittenCase kWritten[] = {
    {"01_f32_2x3_owned",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .is_owner = true, .element_size = 4},
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798"},
    {"02_f32_2x3_borrowed",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4},
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000004 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798"},
    {"03_i8_quant_strided",
     {.frame_id = "camera_front_016", .seq = 123456789U, .reserved = 16909060U,
      .time_meas = 1700000000000000001U, .time_pub = 1700000000000000999U, .size = 24U,
      .update_time_ns = 1700000000000000500U, .num_elements = 12U, .name = "act_q",
      .model_id = "resnet50-int8", .layout = "NHWC", .shape = {1U, 2U, 3U, 2U},
      .strides = {24U, 12U, 4U, 2U}, .channel = 7U, .freq = 30U, .batch_size = 4U,
      .quant_scale_bits = 0x3cc08312, .quant_zero_point = -128, .dtype = 2, .rank = 4, .device = 2,
      .is_owner = true, .element_size = 1},
     "9af1b79838901e0063616d6572615f66726f6e745f30313615cd5b070403020101002a36fe9c9717"
     "e7032a36fe9c9717 *8 18 *7 f4012a36fe9c97170c *7 6163745f71 *27 "
     "7265736e657435302d696e7438 *19 4e485743 *12 01000000020000000300000002 *19 "
     "180000000c0000000400000002 *19 "
     "070000001e000000040000001283c03c80ffffff0204020101 *7 "
     "808b96a1acb7c2cdd8e3eef9040f1a25303b46515c67727d9ff1b798"},
    {"04_f64_rank8",
     {.size = 192U, .num_elements = 24U, .name = "r8", .shape = {1U, 2U, 1U, 3U, 1U, 2U, 1U, 2U},
      .strides = {24U, 12U, 12U, 4U, 4U, 2U, 2U, 1U}, .batch_size = 1U, .dtype = 13, .rank = 8,
      .is_owner = true, .element_size = 8},
     "9af1b79838901e00756e6b6e6f776e *41 c0 *15 18 *7 7238 *78 "
     "0100000002000000010000000300000001000000020000000100000002000000180000000c000000"
     "0c0000000400000004000000020000000200000001 *11 01 *11 0d08000108 *13 "
     "f0bfcdccccccccccecbf9a9999999999e9bf666666666666e6bf333333333333e3bf *6 "
     "e0bf989999999999d9bf323333333333d3bf989999999999c9bf989999999999b9bf *8 "
     "a09999999999b93fa09999999999c93f343333333333d33f9c9999999999d93f *6 "
     "e03f343333333333e33f686666666666e63f9a9999999999e93fceccccccccccec3f *6 "
     "f03f9a9999999999f13f343333333333f33fceccccccccccf43f9ff1b798"},
    {"06_empty_default",
     {},
     "9af1b79838901e00756e6b6e6f776e *241 9ff1b798"},
    {"07_cleared",
     {.frame_id = ""},
     "9af1b79838901e *249 9ff1b798"},
    {"08_reserved_set",
     {.reserved = 287454020U, .size = 3U, .num_elements = 3U, .shape = {3U}, .strides = {1U},
      .batch_size = 3U, .dtype = 3, .rank = 1, .is_owner = true, .element_size = 1,
      .reserved_buf = 171U, .reserved_buf2 = 52719U, .reserved_buf3 = 3735928559U},
     "9af1b79838901e00756e6b6e6f776e *13 44332211 *24 03 *15 03 *87 03 *31 01 *39 03 "
     "*11 0301000101abefcdefbeadde0102039ff1b798"},
    {"09_reserved_after_clear",
     {.frame_id = "", .reserved_buf = 171U, .reserved_buf2 = 52719U, .reserved_buf3 = 3735928559U},
     "9af1b79838901e *242 abefcdefbeadde9ff1b798"},
    {"10_zero_dim",
     {.shape = {2U, 0U, 3U}, .strides = {0U, 3U, 1U}, .batch_size = 2U, .dtype = 12, .rank = 3,
      .element_size = 4},
     "9af1b79838901e00756e6b6e6f776e *145 02 *7 03 *27 0300000001 *31 02 *11 "
     "0c03000004 *7 9ff1b798"},
    {"12_unknown_dtype_7_bytes",
     {.size = 7U, .is_owner = true},
     "9af1b79838901e00756e6b6e6f776e *41 07 *190 01 *8 090807060504039ff1b798"},
    {"13_rank9_clamped",
     {.num_elements = 256U, .shape = {2U, 2U, 2U, 2U, 2U, 2U, 2U, 2U},
      .strides = {128U, 64U, 32U, 16U, 8U, 4U, 2U, 1U}, .batch_size = 2U, .dtype = 3, .rank = 8,
      .element_size = 1},
     "9af1b79838901e00756e6b6e6f776e *58 01 *86 "
     "02000000020000000200000002000000020000000200000002000000020000008000000040000000"
     "200000001000000008000000040000000200000001 *11 02 *11 0308000001 *7 9ff1b798"},
    {"15_stride_overflow",
     {.dtype = 3, .element_size = 1},
     "9af1b79838901e00756e6b6e6f776e *229 0300000001 *7 9ff1b798"},
    {"18_set_shape_at",
     {.num_elements = 4U, .shape = {2U, 5U}, .strides = {2U, 1U}, .batch_size = 2U, .dtype = 12,
      .rank = 2, .element_size = 4},
     "9af1b79838901e00756e6b6e6f776e *57 04 *87 0200000005 *27 0200000001 *35 02 *11 "
     "0c02000004 *7 9ff1b798"},
    {"20_dtype_bool",
     {.size = 1U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 1,
      .rank = 1, .is_owner = true, .element_size = 1},
     "9af1b79838901e00756e6b6e6f776e *41 01 *15 01 *87 01 *31 01 *39 01 *11 0101000101 "
     "*7 019ff1b798"},
    {"21_dtype_i8",
     {.size = 1U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 2,
      .rank = 1, .is_owner = true, .element_size = 1},
     "9af1b79838901e00756e6b6e6f776e *41 01 *15 01 *87 01 *31 01 *39 01 *11 0201000101 "
     "*7 fe9ff1b798"},
    {"22_dtype_u8",
     {.size = 1U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 3,
      .rank = 1, .is_owner = true, .element_size = 1},
     "9af1b79838901e00756e6b6e6f776e *41 01 *15 01 *87 01 *31 01 *39 01 *11 0301000101 "
     "*7 fa9ff1b798"},
    {"23_dtype_i16",
     {.size = 2U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 4,
      .rank = 1, .is_owner = true, .element_size = 2},
     "9af1b79838901e00756e6b6e6f776e *41 02 *15 01 *87 01 *31 01 *39 01 *11 0401000102 "
     "*7 2efb9ff1b798"},
    {"24_dtype_u16",
     {.size = 2U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 5,
      .rank = 1, .is_owner = true, .element_size = 2},
     "9af1b79838901e00756e6b6e6f776e *41 02 *15 01 *87 01 *31 01 *39 01 *11 0501000102 "
     "*7 60ea9ff1b798"},
    {"25_dtype_i32",
     {.size = 4U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 6,
      .rank = 1, .is_owner = true, .element_size = 4},
     "9af1b79838901e00756e6b6e6f776e *41 04 *15 01 *87 01 *31 01 *39 01 *11 0601000104 "
     "*7 c01dfeff9ff1b798"},
    {"26_dtype_u32",
     {.size = 4U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 7,
      .rank = 1, .is_owner = true, .element_size = 4},
     "9af1b79838901e00756e6b6e6f776e *41 04 *15 01 *87 01 *31 01 *39 01 *11 0701000104 "
     "*7 146a0ace9ff1b798"},
    {"27_dtype_i64",
     {.size = 8U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 8,
      .rank = 1, .is_owner = true, .element_size = 8},
     "9af1b79838901e00756e6b6e6f776e *41 08 *15 01 *87 01 *31 01 *39 01 *11 0801000108 "
     "*7 ffffffffffffdfff9ff1b798"},
    {"28_dtype_u64",
     {.size = 8U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U, .dtype = 9,
      .rank = 1, .is_owner = true, .element_size = 8},
     "9af1b79838901e00756e6b6e6f776e *41 08 *15 01 *87 01 *31 01 *39 01 *11 0901000108 "
     "*7 ffffffffffffffff9ff1b798"},
    {"29_dtype_f16",
     {.size = 2U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U,
      .dtype = 10, .rank = 1, .is_owner = true, .element_size = 2},
     "9af1b79838901e00756e6b6e6f776e *41 02 *15 01 *87 01 *31 01 *39 01 *11 0a01000102 "
     "*8 3c9ff1b798"},
    {"30_dtype_bf16",
     {.size = 2U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U,
      .dtype = 11, .rank = 1, .is_owner = true, .element_size = 2},
     "9af1b79838901e00756e6b6e6f776e *41 02 *15 01 *87 01 *31 01 *39 01 *11 0b01000102 "
     "*7 803f9ff1b798"},
    {"31_dtype_f32",
     {.size = 4U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U,
      .dtype = 12, .rank = 1, .is_owner = true, .element_size = 4},
     "9af1b79838901e00756e6b6e6f776e *41 04 *15 01 *87 01 *31 01 *39 01 *11 0c01000104 "
     "*9 c03f9ff1b798"},
    {"32_dtype_f64",
     {.size = 8U, .num_elements = 1U, .shape = {1U}, .strides = {1U}, .batch_size = 1U,
      .dtype = 13, .rank = 1, .is_owner = true, .element_size = 8},
     "9af1b79838901e00756e6b6e6f776e *41 08 *15 01 *87 01 *31 01 *39 01 *11 0d01000108 "
     "*13 04409ff1b798"},
};

inline constexpr ReadCase kRead[] = {
    {"r00_good", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r01_bad_begin", false, false,
     "65f1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {}},
    {"r02_bad_end", false, false,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b767",
     {}},
    {"r03_ver_0", false, false,
     "9af1b79800000000756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {}},
    {"r04_ver_1999999", false, false,
     "9af1b7987f841e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {}},
    {"r05_ver_2000000", true, true,
     "9af1b79880841e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r07_ver_3000000", false, false,
     "9af1b798c0c62d00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {}},
    {"r08_ver_2010008", true, true,
     "9af1b79898ab1e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r10_truncated_one", false, false,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b7",
     {}},
    {"r11_min_minus_one", false, false,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10",
     {}},
    {"r12_payload_one_longer", true, false,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f9021550779ff1b798",
     {}},
    {"r14_size_plus_1", true, false,
     "9af1b79838901e00756e6b6e6f776e *41 19 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {}},
    {"r15_size_huge", true, false,
     "9af1b79838901e00756e6b6e6f776e *41 ffffffffffffffff *8 06 *87 0200000003 *27 "
     "0300000001 *35 02 *11 0c02000104 *10 "
     "3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {}},
    {"r16_trailing_byte", false, false,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b79800",
     {}},
    {"r20_rank_200", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0cc8000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 8, .element_size = 4}},
    {"r21_element_size_77", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c0200014d *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r22_dtype_200", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 c802000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 200, .rank = 2}},
    {"r24_num_elements_wrong", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 e703 *86 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 999U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r25_shape_wrong", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 e803000003 *27 0300000001 *35 "
     "02 *11 0c02000104 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {1000U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r28_owner_byte_0", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "02 *11 0c02000004 *10 3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r29_ptr_garbage", true, true,
     "9af1b79838901e00756e6b6e6f776e *33 efbeaddeefbeadde18 *15 06 *87 0200000003 *27 "
     "0300000001 *35 02 *11 0c02000104 *10 "
     "3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .dtype = 12, .rank = 2, .element_size = 4}},
    {"r30_quant_nan", true, true,
     "9af1b79838901e00756e6b6e6f776e *41 18 *15 06 *87 0200000003 *27 0300000001 *35 "
     "020000000100c07f000000000c02000104 *10 "
     "3f0000a0bf0000004000006040000098c0f90215509ff1b798",
     {.size = 24U, .num_elements = 6U, .shape = {2U, 3U}, .strides = {3U, 1U}, .batch_size = 2U,
      .quant_scale_bits = 0x7fc00001, .dtype = 12, .rank = 2, .element_size = 4}},
    {"r32_all_ff_struct", true, true,
     "9af1b79838901e00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffff18 *7 "
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "ffffffffffffffffffffffffffffffffffffffffffffff01ffffffffffffffff0000003f0000a0bf"
     "0000004000006040000098c0f90215509ff1b798",
     {.frame_id = k16TimesFF, .seq = kOnes, .reserved = kOnes, .time_meas = 18446744073709551615U,
      .time_pub = 18446744073709551615U, .size = 24U, .update_time_ns = 18446744073709551615U,
      .num_elements = 18446744073709551615U, .name = k32TimesFF, .model_id = k32TimesFF,
      .layout = k16TimesFF, .shape = {kOnes, kOnes, kOnes, kOnes, kOnes, kOnes, kOnes, kOnes},
      .strides = {kOnes, kOnes, kOnes, kOnes, kOnes, kOnes, kOnes, kOnes}, .channel = kOnes,
      .freq = kOnes, .batch_size = kOnes, .quant_scale_bits = 0xffffffff, .quant_zero_point = -1,
      .dtype = 255, .rank = 8, .device = 255, .reserved_buf = 255U, .reserved_buf2 = 65535U,
      .reserved_buf3 = 4294967295U}},
    {"r33_zero_bytes", false, false,
     "",
     {}},
};
// clang-format on

}  // namespace engine::wire::upstream

#endif  // ENGINE_TESTS_WIRE_DATA_UPSTREAM_ENVELOPES_H_
