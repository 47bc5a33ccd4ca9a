# Refuses the platforms the library does not support, with the reason.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "engine_tensor supports Linux only (found ${CMAKE_SYSTEM_NAME}).")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|aarch64|arm64)$")
  message(FATAL_ERROR "engine_tensor supports x86-64 and aarch64 only "
                      "(found ${CMAKE_SYSTEM_PROCESSOR}).")
endif()
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  message(FATAL_ERROR "engine_tensor needs 64-bit pointers (found ${CMAKE_SIZEOF_VOID_P} bytes).")
endif()
if(CMAKE_CXX_BYTE_ORDER AND NOT CMAKE_CXX_BYTE_ORDER STREQUAL "LITTLE_ENDIAN")
  message(FATAL_ERROR "engine_tensor supports little-endian targets only.")
endif()
