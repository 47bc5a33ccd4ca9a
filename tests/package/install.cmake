# cmake -DBUILD=<folder> -DSOURCE=<folder> -DPREFIX=<folder> -DCONFIG=<config> -P install.cmake
#
# Installs into an empty prefix and reads what came out: archives under our names, public headers
# under include/engine, views for debuggers, a pkg-config file, the licence, and exported targets that
# carry none of our compile flags and no path of this machine.
cmake_minimum_required(VERSION 3.24)

file(REMOVE_RECURSE "${PREFIX}")
set(config "")
if(CONFIG)
  set(config --config "${CONFIG}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${PREFIX}" ${config}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

include("${BUILD}/layers.cmake")
foreach(module IN LISTS ENGINE_MODULES)
  foreach(header IN LISTS ENGINE_MODULE_HEADERS_${module})
    if(NOT EXISTS "${PREFIX}/include/engine/${header}")
      message(FATAL_ERROR "${header} of ${module} was not installed.")
    endif()
    list(APPEND expected "include/engine/${header}")
  endforeach()
endforeach()

foreach(tool gdb/engine_tensor_gdb.py natvis/engine_tensor.natvis)
  if(NOT EXISTS "${PREFIX}/share/engine_tensor/${tool}")
    message(FATAL_ERROR "${tool} was not installed.")
  endif()
  list(APPEND tools "share/engine_tensor/${tool}")
endforeach()

file(GLOB_RECURSE installed RELATIVE "${PREFIX}" "${PREFIX}/*")
foreach(file IN LISTS installed)
  if(file MATCHES "^include/")
    if(NOT file IN_LIST expected)
      message(FATAL_ERROR "${file} was installed, but is no public header.")
    endif()
  elseif(NOT file IN_LIST tools AND
         NOT file MATCHES "/libengine_[a-z_]+\\.a$|/cmake/engine_tensor/[^/]+\\.cmake$" AND
         NOT file MATCHES "/pkgconfig/engine_tensor\\.pc$|^share/doc/engine_tensor/LICENSE$")
    message(FATAL_ERROR "${file} was installed.")
  endif()
endforeach()

file(GLOB_RECURSE package_files "${PREFIX}/*.cmake" "${PREFIX}/*.pc")
foreach(file IN LISTS package_files)
  file(READ "${file}" text)
  foreach(path "${SOURCE}" "${BUILD}" "${PREFIX}")
    # Whole, not as a part of a longer path or name.
    string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" quoted "${path}")
    if(text MATCHES "(^|[^A-Za-z0-9_./-]|-[IL])${quoted}([^A-Za-z0-9_.-]|$)")
      message(FATAL_ERROR "${file} names ${path}.")
    endif()
  endforeach()
  if(file MATCHES "\\.pc$")
    continue() # whose -l and -I are its purpose
  endif()
  if(text MATCHES "INTERFACE_(COMPILE_OPTIONS|LINK_OPTIONS|COMPILE_DEFINITIONS)|[\" ;]-[WfmO]")
    message(FATAL_ERROR "${file} hands '${CMAKE_MATCH_0}' to consumers.")
  endif()
endforeach()
