# Every option of the project, in one place. Consumers who add us as a subproject get the library
# alone; developers who configure this folder get tests, examples and installation.
option(ENGINE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ENGINE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(ENGINE_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(ENGINE_BUILD_FUZZERS "Build the libFuzzer targets (Clang only)" OFF)
option(ENGINE_INSTALL "Create the install and export rules" ${PROJECT_IS_TOP_LEVEL})
option(ENGINE_FETCH_DEPS "Download dependencies that are not found" OFF)
option(ENGINE_WERROR "Treat warnings in our own code as errors" OFF)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Applies the project's private compile settings to one of its own targets. Nothing here reaches a
# consumer: every property is PRIVATE.
function(engine_private_options target)
  # The prefix map keeps the build machine's paths out of the messages of ENGINE_CHECK.
  target_compile_options(
    ${target}
    PRIVATE -Wall -Wextra $<$<BOOL:${ENGINE_WERROR}>:-Werror>
            "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
  set_target_properties(
    ${target}
    PROPERTIES CXX_STANDARD 20
               CXX_STANDARD_REQUIRED ON
               CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
endfunction()
