# cmake -DGDB=<gdb> -DPROGRAM=<file> -DSCRIPT=<file> -DFOLDER=<folder> -P transcript.cmake
#
# Puts the program and, as <program>-gdb.py, the printers into a folder that gdb trusts; what gdb
# then prints must be transcript.txt, and DebugString must answer.
cmake_minimum_required(VERSION 3.24)

file(REMOVE_RECURSE "${FOLDER}")
file(COPY_FILE "${PROGRAM}" "${FOLDER}.program")
file(MAKE_DIRECTORY "${FOLDER}")
file(RENAME "${FOLDER}.program" "${FOLDER}/subject")
file(COPY_FILE "${SCRIPT}" "${FOLDER}/subject-gdb.py")

set(variables contiguous strided offset cube hypercube lengthy seventh third half brain flags scalar
              empty undefined read_only cuda shape number nans crowd)
set(prints "")
foreach(argument tensor_argument brain_argument half_argument)
  list(APPEND prints -ex "print ${argument}")
endforeach()
list(APPEND prints -ex "echo arguments\\n" -ex "info args" -ex "up-silently")
foreach(variable IN LISTS variables)
  list(APPEND prints -ex "print ${variable}")
endforeach()
execute_process(
  COMMAND "${GDB}" -batch -nx -iex "set auto-load safe-path ${FOLDER}" -iex "set confirm off" -ex
          "break Stop" -ex "run" -ex "up" ${prints} -ex "echo call\\n" -ex
          "printf \"%s\\n\", engine::tensor::DebugString(strided)" "${FOLDER}/subject"
  OUTPUT_VARIABLE output
  ERROR_VARIABLE errors
  RESULT_VARIABLE result)
# Where tracing is forbidden (some containers) there is nothing to test.
if("${output}${errors}" MATCHES "(ptrace|Cannot (trace|create) [^\n]*|Operation not permitted)")
  if(NOT "$ENV{ENGINE_REQUIRE_GDB}" STREQUAL "")
    message(FATAL_ERROR "gdb cannot run programs here: ${CMAKE_MATCH_0}")
  endif()
  message("!!! SKIPPED: gdb cannot run programs here: ${CMAKE_MATCH_0}")
  return()
endif()
file(READ "${CMAKE_CURRENT_LIST_DIR}/transcript.txt" expected)
string(APPEND expected "call\nTensor(shape=[3, 2], dtype=float32, device=cpu)\n"
       "[[0, 3],\n [1, 4],\n [2, 5]]\n")
string(FIND "${output}" "$1 = " begin)
string(SUBSTRING "${output}" ${begin} -1 actual)
# Of references, where gdb shows it.
string(REGEX REPLACE "@0x[0-9a-f]+" "@ADDRESS" actual "${actual}")
if(begin EQUAL -1 OR NOT actual STREQUAL expected)
  file(WRITE "${FOLDER}/actual.txt" "${actual}")
  file(WRITE "${FOLDER}/expected.txt" "${expected}")
  message(FATAL_ERROR "gdb printed:\n${output}\n${errors}\nexpected:\n${expected}")
endif()
