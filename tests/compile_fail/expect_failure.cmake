# cmake -DBUILD=<folder> -DTARGET=<target> -DCONFIG=<config> -DEXPECT=<regex> -P expect_failure.cmake
#
# Builds the target, wants that to fail, and wants the reason in the output.
cmake_minimum_required(VERSION 3.24)

set(config "")
if(CONFIG)
  set(config --config "${CONFIG}")
endif()
execute_process(
  COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target "${TARGET}" ${config}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${TARGET} compiled; it must not.")
endif()
if(NOT output MATCHES "${EXPECT}")
  message(FATAL_ERROR "${TARGET} failed, but nothing matches '${EXPECT}':\n${output}")
endif()
