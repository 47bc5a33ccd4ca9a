# Every option of the project, in one place. Consumers who add us as a subproject get the library
# alone; developers who configure this folder get tests, examples and installation.
option(ENGINE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ENGINE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(ENGINE_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(ENGINE_BUILD_FUZZERS "Build the libFuzzer targets (Clang only)" OFF)
option(ENGINE_INSTALL "Create the install and export rules" ${PROJECT_IS_TOP_LEVEL})
option(ENGINE_FETCH_DEPS "Download dependencies that are not found" OFF)
option(ENGINE_WERROR "Treat warnings in our own code as errors" OFF)

# A debugging aid: fresh storage without a value reads as signalling NaNs. AUTO means in the build
# type Debug; ON and OFF hold in every build type, whatever NDEBUG and the sanitizers. Private to
# the library.
set(ENGINE_FILL_UNINITIALIZED_SNAN "AUTO" CACHE STRING
    "Fill uninitialised floating storage with signalling NaNs: AUTO (in Debug), ON or OFF")
set_property(CACHE ENGINE_FILL_UNINITIALIZED_SNAN PROPERTY STRINGS AUTO ON OFF)
# 1 or 0, as a generator expression.
if(ENGINE_FILL_UNINITIALIZED_SNAN STREQUAL "AUTO")
  set(ENGINE_SNAN_FILL "$<CONFIG:Debug>")
elseif(ENGINE_FILL_UNINITIALIZED_SNAN MATCHES "^(ON|OFF)$")
  set(ENGINE_SNAN_FILL "$<BOOL:${ENGINE_FILL_UNINITIALIZED_SNAN}>")
else()
  message(FATAL_ERROR "ENGINE_FILL_UNINITIALIZED_SNAN is '${ENGINE_FILL_UNINITIALIZED_SNAN}', "
                      "expected AUTO, ON or OFF.")
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Applies the project's private compile settings to one of its own targets. Nothing here reaches a
# consumer: every property is PRIVATE.
function(engine_private_options target)
  # The prefix map keeps the build machine's paths out of the messages of ENGINE_CHECK.
  # Kernels are included once per CPU target by a header of Highway's. For Clang they would be part of
  # a system header there: without warnings, and not counted as covered.
  target_compile_options(
    ${target}
    PRIVATE -Wall -Wextra $<$<BOOL:${ENGINE_WERROR}>:-Werror>
            "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/="
            $<$<CXX_COMPILER_ID:Clang,AppleClang>:--no-system-header-prefix=hwy/foreach_target.h>)
  set_target_properties(
    ${target}
    PROPERTIES CXX_STANDARD 20
               CXX_STANDARD_REQUIRED ON
               CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
endfunction()
