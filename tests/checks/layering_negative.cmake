# cmake -DSCRIPT=<layering.cmake> -DWORK=<folder> -P layering_negative.cmake
#
# Runs layering.cmake on a small tree that is right, then with one violation at a time: the first
# must pass, every other must be rejected for its own reason.
cmake_minimum_required(VERSION 3.24)

set(table
    [[
set(ENGINE_MODULES "core;base;left;right;top")
set(ENGINE_MODULE_DEPS_core "")
set(ENGINE_MODULE_HEADERS_core "core/status.h")
set(ENGINE_MODULE_EXTERNAL_core "absl::status;fmt::fmt")
set(ENGINE_MODULE_DEPS_base "core")
set(ENGINE_MODULE_HEADERS_base "shared/shape.h")
set(ENGINE_MODULE_DEPS_left "base")
set(ENGINE_MODULE_HEADERS_left "left/left.h")
set(ENGINE_MODULE_PRIVATE_HEADERS_left "left/internal/detail.h;left/internal/kernels-inl.h")
set(ENGINE_MODULE_SOURCES_left "left/left.cpp")
set(ENGINE_MODULE_EXTERNAL_PRIVATE_left "hwy::hwy")
set(ENGINE_MODULE_DEPS_right "base")
set(ENGINE_MODULE_HEADERS_right "right/right.h")
set(ENGINE_MODULE_DEPS_top "left")
set(ENGINE_MODULE_HEADERS_top "shared/top.h")
set(ENGINE_MODULE_SOURCES_top "shared/top.cpp")
]])

# Writes the right tree.
function(write_tree root)
  file(REMOVE_RECURSE "${root}")
  file(WRITE "${root}/layers.cmake" "${table}")
  file(WRITE "${root}/src/CMakeLists.txt" "")
  file(WRITE "${root}/src/testing/anything.h" "#include \"nowhere.h\"\n")
  # A system header may be called like a folder, as <memory> is.
  file(WRITE "${root}/src/core/status.h" "#include <absl/status/status.h>\n"
                                           "#include <fmt/core.h>\n#include <left>\n")
  file(WRITE "${root}/src/shared/shape.h" "#include \"core/status.h\"\n")
  file(WRITE "${root}/src/left/left.h" "#include \"shared/shape.h\"\n")
  file(WRITE "${root}/src/left/internal/detail.h" "#include <sys/mman.h>\n")
  file(WRITE "${root}/src/left/internal/kernels-inl.h" "#include \"hwy/highway.h\"\n")
  file(WRITE "${root}/src/left/left.cpp" "#include \"left/left.h\"\n#include <fmt/format.h>\n"
                                         "#include <hwy/foreach_target.h>\n"
                                         "#  include \"left/internal/detail.h\"\n")
  file(WRITE "${root}/src/right/right.h" "#include \"shared/shape.h\"\n")
  # Two levels below, through `left`; an external that only `core` declares.
  file(WRITE "${root}/src/shared/top.h" "#include \"core/status.h\"\n"
                                        "#include <absl/status/status.h>\n")
  file(WRITE "${root}/src/shared/top.cpp" "#include \"shared/top.h\"\n")
endfunction()

# Runs the check; empty `expected` means that it must pass.
function(run name root expected)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE_ROOT=${root}/src" "-DLAYERS=${root}/layers.cmake" -P
            "${SCRIPT}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(expected STREQUAL "")
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "${name}: a right tree was rejected:\n${output}")
    endif()
  elseif(result EQUAL 0)
    message(FATAL_ERROR "${name}: was not rejected.")
  else()
    # Long messages are wrapped.
    string(REGEX REPLACE "[ \n]+" " " flat "${output}")
    if(NOT flat MATCHES "${expected}")
      message(FATAL_ERROR "${name}: rejected, but not for the expected reason:\n${output}")
    endif()
  endif()
endfunction()

# Adds one line to one file of the right tree and wants the reason.
function(rejects name file line expected)
  set(root "${WORK}/${name}")
  write_tree("${root}")
  file(APPEND "${root}/${file}" "${line}\n")
  run(${name} "${root}" "${expected}")
endfunction()

write_tree("${WORK}/right")
run(right "${WORK}/right" "")

rejects(upward src/left/left.cpp "#include \"shared/top.h\""
        "left.cpp: includes shared/top.h of module top, which left does not depend on")
rejects(sibling src/left/left.h "#include \"right/right.h\"" "module right, which left does not")
rejects(angle_brackets src/left/left.h "#include <right/right.h>" "module right, which left does")
rejects(indented src/left/left.h "  #  include \"right/right.h\"" "module right, which left does")
rejects(same_folder src/shared/shape.h "#include \"shared/top.h\"" "module top, which base does")
rejects(foreign_private src/shared/top.cpp "#include \"left/internal/detail.h\""
        "detail.h, which is private to module left")
rejects(leaked_private src/left/left.h "#include \"left/internal/detail.h\""
        "left.h: is a public header but includes left/internal/detail.h, which is not installed")
rejects(orphan src/left/orphan.cpp "" "left/orphan.cpp: belongs to no module")
rejects(undeclared src/left/left.cpp "#include \"left/unknown.h\"" "which no module declares")
rejects(relative src/left/left.cpp "#include \"internal/detail.h\"" "which no module declares")
rejects(test_support src/left/left.cpp "#include <testing/anything.h>" "which no module declares")
rejects(external_in_public src/left/left.h "#include \"hwy/highway.h\"" "an external that left")
rejects(external_undeclared src/shared/top.cpp "#include <nlohmann/json.hpp>" "external that top")
rejects(external_private_above src/shared/top.cpp "#include \"hwy/highway.h\"" "external that top")
rejects(external_unknown src/left/left.cpp "#include <Eigen/Dense>" "Dense, an external that left")
rejects(platform_folder src/left/left.cpp "#include <linux/mman.h>" "mman.h, an external that left")
rejects(highway_in_header src/left/internal/detail.h "#include <hwy/highway.h>"
        "detail.h: includes hwy/highway.h, but is neither a source nor -inl.h")
rejects(slow_fmt_header src/shared/shape.h "#include <fmt/ranges.h>"
        "shape.h: includes fmt/ranges.h, which is for sources")
rejects(missing layers.cmake "set(ENGINE_MODULE_HEADERS_right \"right/right.h;right/gone.h\")"
        "right/gone.h: declared by right but missing")
rejects(twice layers.cmake "set(ENGINE_MODULE_SOURCES_right \"left/left.cpp\")"
        "left/left.cpp: declared by left and by right")
