# Each dependency is found in this order: a target that already exists, find_package, a download
# when ENGINE_FETCH_DEPS is ON. The versions below are what the download takes; Debian 12's packages
# are the oldest that are tested. Of Abseil the download is newer than that: 20220623 lacks an
# include of <cstdint> and does not compile with GCC 13.
include(FetchContent)

# engine_dependency(<package> TARGET <target> DEBIAN <package> REPOSITORY <git url> TAG <tag>
#                   [PKG_CONFIG <name>] [SETTINGS <var=value>...])
#
# Records which package provides the target's namespace, for the installed package's configuration;
# and for pkg-config and Debian, what they call it. In PKG_CONFIG, {} stands for the target's name
# without its namespace.
function(engine_dependency package)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TARGET;DEBIAN;REPOSITORY;TAG;PKG_CONFIG" "SETTINGS")
  string(REGEX REPLACE "::.*" "" namespace "${ARG_TARGET}")
  set_property(GLOBAL PROPERTY ENGINE_PACKAGE_OF_${namespace} ${package})
  set_property(GLOBAL PROPERTY ENGINE_PKG_CONFIG_OF_${namespace} "${ARG_PKG_CONFIG}")
  set_property(GLOBAL PROPERTY ENGINE_DEBIAN_OF_${namespace} ${ARG_DEBIAN})
  if(TARGET ${ARG_TARGET})
    return()
  endif()
  find_package(${package} QUIET CONFIG GLOBAL)
  if(TARGET ${ARG_TARGET})
    return()
  endif()
  if(NOT ENGINE_FETCH_DEPS)
    message(
      FATAL_ERROR
        "engine_tensor needs ${package} (target ${ARG_TARGET}), which was not found.\n"
        "Install it (Debian, Ubuntu: apt-get install ${ARG_DEBIAN}), or define the target before "
        "adding engine_tensor, or configure with -DENGINE_FETCH_DEPS=ON to download it.")
  endif()
  foreach(setting IN LISTS ARG_SETTINGS)
    string(REGEX MATCH "^([^=]+)=(.*)$" _ "${setting}")
    set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endforeach()
  # So that the settings hold, whether the project declares them by option() or as cache variables.
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  # By the repository's name, as is common, so that declarations are shared. Not by the package's:
  # GTest would define gtest_SOURCE_DIR, which is a variable of that project.
  cmake_path(GET ARG_REPOSITORY STEM content)
  FetchContent_Declare(${content} GIT_REPOSITORY ${ARG_REPOSITORY} GIT_TAG ${ARG_TAG}
                       GIT_SHALLOW ON)
  FetchContent_MakeAvailable(${content})
  # Some projects name their target without the namespace that their package config gives it.
  string(REGEX REPLACE ".*::" "" plain "${ARG_TARGET}")
  if(TARGET ${plain} AND NOT TARGET ${ARG_TARGET})
    add_library(${ARG_TARGET} ALIAS ${plain})
  endif()
  if(NOT TARGET ${ARG_TARGET})
    message(FATAL_ERROR "The downloaded ${package} does not define the target ${ARG_TARGET}.")
  endif()
endfunction()

engine_dependency(
  absl
  TARGET absl::statusor
  DEBIAN libabsl-dev
  PKG_CONFIG absl_{}
  REPOSITORY https://github.com/abseil/abseil-cpp.git
  TAG 20240116.2
  SETTINGS ABSL_PROPAGATE_CXX_STD=ON ABSL_ENABLE_INSTALL=${ENGINE_INSTALL})
engine_dependency(
  fmt
  TARGET fmt::fmt
  DEBIAN libfmt-dev
  PKG_CONFIG fmt
  REPOSITORY https://github.com/fmtlib/fmt.git
  TAG 9.1.0
  SETTINGS FMT_INSTALL=${ENGINE_INSTALL})
engine_dependency(
  hwy
  TARGET hwy::hwy
  DEBIAN libhwy-dev
  PKG_CONFIG libhwy
  REPOSITORY https://github.com/google/highway.git
  TAG 1.0.3
  SETTINGS HWY_ENABLE_TESTS=OFF HWY_ENABLE_EXAMPLES=OFF HWY_ENABLE_CONTRIB=OFF
           HWY_ENABLE_INSTALL=${ENGINE_INSTALL})
engine_dependency(
  nlohmann_json
  TARGET nlohmann_json::nlohmann_json
  DEBIAN nlohmann-json3-dev
  REPOSITORY https://github.com/nlohmann/json.git
  TAG v3.11.2
  SETTINGS JSON_BuildTests=OFF)
if(ENGINE_BUILD_TESTS)
  engine_dependency(
    GTest
    TARGET GTest::gmock_main
    DEBIAN libgmock-dev
    REPOSITORY https://github.com/google/googletest.git
    TAG release-1.12.1
    SETTINGS INSTALL_GTEST=OFF)
endif()
if(ENGINE_BUILD_BENCHMARKS)
  engine_dependency(
    benchmark
    TARGET benchmark::benchmark
    DEBIAN libbenchmark-dev
    REPOSITORY https://github.com/google/benchmark.git
    TAG v1.7.1
    SETTINGS BENCHMARK_ENABLE_TESTING=OFF BENCHMARK_ENABLE_INSTALL=OFF)
endif()
