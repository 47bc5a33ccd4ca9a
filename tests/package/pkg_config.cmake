# cmake -DPKG_CONFIG=<program> -DCXX=<compiler> -DFLAGS=<list> -DPREFIX=<folder> -DSOURCE=<file>
#       -DPROGRAM=<file> -P pkg_config.cmake
#
# Compiles, links and runs a program with nothing but what pkg-config says of the installed package.
cmake_minimum_required(VERSION 3.24)

file(GLOB_RECURSE package "${PREFIX}/*/engine_tensor.pc")
cmake_path(GET package PARENT_PATH folder)
set(ENV{PKG_CONFIG_PATH} "${folder}")
execute_process(
  COMMAND "${PKG_CONFIG}" --cflags --libs engine_tensor
  OUTPUT_VARIABLE arguments
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(arguments UNIX_COMMAND "${arguments}")
execute_process(COMMAND "${CXX}" -std=c++20 ${FLAGS} "${SOURCE}" -o "${PROGRAM}" ${arguments}
                        COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PROGRAM}" COMMAND_ERROR_IS_FATAL ANY)
