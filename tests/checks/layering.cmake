# cmake -DSOURCE_ROOT=<src> -DLAYERS=<layers.cmake> -P layering.cmake
#
# Scans the includes of every file below SOURCE_ROOT against the table of modules that
# engine_add_module() left behind. Reports every violation, then fails.
#   - Each file belongs to exactly one module (in testing/, at most one), and each declared file exists.
#   - A file includes headers of its own module and of those its module reaches through DEPS.
#     Ownership is per module, not per folder: tensor_base and tensor share one.
#   - Private headers are included by their own module only.
#   - What else is included from a folder comes from the externals that the module declares or
#     reaches, or from system_folders; public headers cannot use externals declared private.
#   - Of fmt, public headers include <fmt/core.h>: the others are slow to compile.
#   - Highway's headers are for sources and -inl.h headers, which are compiled once per target.
cmake_minimum_required(VERSION 3.24)
cmake_path(ABSOLUTE_PATH SOURCE_ROOT)
cmake_path(ABSOLUTE_PATH LAYERS)
include("${LAYERS}")

set(violations "")

# Folders of the platform's headers, and of the tools that a build may run under.
set(system_folders sys sanitizer valgrind)

# The folder that an external target's headers live in.
function(external_folders out)
  set(folders "${ARGN}")
  list(TRANSFORM folders REPLACE "::.*" "")
  list(TRANSFORM folders REPLACE "^nlohmann_json$" "nlohmann")
  list(REMOVE_DUPLICATES folders)
  set(${out} "${folders}" PARENT_SCOPE)
endfunction()

# Modules are declared after their dependencies, so one pass closes the relation.
set(third_party "")
foreach(module IN LISTS ENGINE_MODULES)
  set(reach_${module} ${module})
  set(externals "${ENGINE_MODULE_EXTERNAL_${module}}")
  foreach(dep IN LISTS ENGINE_MODULE_DEPS_${module})
    list(APPEND reach_${module} ${reach_${dep}})
    list(APPEND externals ${public_externals_${dep}})
  endforeach()
  list(REMOVE_DUPLICATES reach_${module})
  external_folders(public_externals_${module} ${externals})
  external_folders(private_externals_${module} ${externals}
                   ${ENGINE_MODULE_EXTERNAL_PRIVATE_${module}}
                   ${ENGINE_MODULE_EXTERNAL_BUILD_${module}})
  list(APPEND third_party ${private_externals_${module}})

  foreach(kind HEADERS PRIVATE_HEADERS SOURCES)
    foreach(path IN LISTS ENGINE_MODULE_${kind}_${module})
      if(DEFINED "owner_${path}")
        list(APPEND violations "${path}: declared by ${owner_${path}} and by ${module}")
      endif()
      if(NOT EXISTS "${SOURCE_ROOT}/${path}")
        list(APPEND violations "${path}: declared by ${module} but missing")
      endif()
      set("owner_${path}" ${module})
      set("kind_${path}" ${kind})
    endforeach()
  endforeach()
endforeach()

# Appends to `violations` when `file` may not include `header`.
macro(check_include file header)
  set(module "${owner_${file}}")
  string(REGEX REPLACE "/.*" "" folder "${header}")
  if(DEFINED "owner_${header}")
    set(owner "${owner_${header}}")
    if(NOT owner IN_LIST reach_${module})
      list(APPEND violations
           "${file}: includes ${header} of module ${owner}, which ${module} does not depend on")
    elseif(NOT "${kind_${header}}" STREQUAL "HEADERS" AND NOT owner STREQUAL module)
      list(APPEND violations "${file}: includes ${header}, which is private to module ${owner}")
    elseif("${kind_${file}}" STREQUAL "HEADERS" AND NOT "${kind_${header}}" STREQUAL "HEADERS")
      list(APPEND violations
           "${file}: is a public header but includes ${header}, which is not installed")
    endif()
  elseif(EXISTS "${SOURCE_ROOT}/${header}" AND NOT IS_DIRECTORY "${SOURCE_ROOT}/${header}")
    list(APPEND violations "${file}: includes ${header}, which no module declares")
  elseif("${header}" MATCHES "/"
         AND ("${line}" MATCHES "include[ \t]*<" OR folder IN_LIST third_party))
    if("${kind_${file}}" STREQUAL "HEADERS")
      set(allowed "${public_externals_${module}}")
    else()
      set(allowed "${private_externals_${module}}")
    endif()
    if(NOT folder IN_LIST allowed AND NOT folder IN_LIST system_folders)
      list(APPEND violations
           "${file}: includes ${header}, an external that ${module} does not declare for it")
    elseif(folder STREQUAL "hwy" AND NOT "${file}" MATCHES "\\.cpp$|-inl\\.h$")
      list(APPEND violations "${file}: includes ${header}, but is neither a source nor -inl.h")
    elseif(folder STREQUAL "fmt" AND NOT "${header}" STREQUAL "fmt/core.h"
           AND "${kind_${file}}" STREQUAL "HEADERS")
      list(APPEND violations "${file}: includes ${header}, which is for sources")
    endif()
  elseif("${line}" MATCHES "include[ \t]*\"")
    # In angle brackets a plain name is the standard library's: <memory> is not our folder.
    list(APPEND violations "${file}: includes ${header}, which no module declares")
  endif()
endmacro()

file(GLOB_RECURSE files RELATIVE "${SOURCE_ROOT}" "${SOURCE_ROOT}/*")
list(FILTER files EXCLUDE REGEX "(^|/)CMakeLists\\.txt$|\\.md$")
foreach(file IN LISTS files)
  if(NOT DEFINED "owner_${file}")
    if(file MATCHES "^testing/")
      continue()
    endif()
    list(APPEND violations "${file}: belongs to no module")
    continue()
  endif()
  file(STRINGS "${SOURCE_ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]")
  foreach(line IN LISTS lines)
    if(line MATCHES "include[ \t]*[\"<]([^\">]+)[\">]")
      check_include("${file}" "${CMAKE_MATCH_1}")
    endif()
  endforeach()
endforeach()

list(LENGTH files count)
if(count EQUAL 0)
  message(FATAL_ERROR "${SOURCE_ROOT} holds no file.")
endif()
if(violations)
  list(JOIN violations "\n" text)
  message(FATAL_ERROR "Layering:\n${text}")
endif()
message(STATUS "Layering: ${count} files follow the declared modules.")
