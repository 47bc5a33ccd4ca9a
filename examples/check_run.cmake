# cmake -DEXIT=<code> -DSTDOUT=<regex> -DSTDERR=<regex> -P check_run.cmake -- <program> <argument>...
#
# See engine_add_example_test in CMakeLists.txt.

set(command "")
set(seen_separator OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(seen_separator)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(seen_separator ON)
  endif()
endforeach()

execute_process(
  COMMAND ${command}
  RESULT_VARIABLE exit
  OUTPUT_VARIABLE stdout
  ERROR_VARIABLE stderr)
message("${stdout}${stderr}")

if(NOT exit STREQUAL EXIT)
  message(FATAL_ERROR "The exit code is ${exit}, expected ${EXIT}.")
endif()
if(NOT STDOUT STREQUAL "" AND NOT stdout MATCHES "${STDOUT}")
  message(FATAL_ERROR "stdout does not match '${STDOUT}'.")
endif()
if(STDERR STREQUAL "")
  if(NOT stderr STREQUAL "")
    message(FATAL_ERROR "stderr is not empty.")
  endif()
else()
  if(NOT stderr MATCHES "^[^\n]+\n$")
    message(FATAL_ERROR "stderr is not exactly one line.")
  endif()
  if(NOT stderr MATCHES "${STDERR}")
    message(FATAL_ERROR "stderr does not match '${STDERR}'.")
  endif()
endif()
