# cmake -DSOURCE=<folder> -DWORK=<folder> -DGENERATOR=<name> -DOPTIONS=<list> -P conan_sources.cmake
#
# What the Conan recipe exports is enough to configure the library, and holds every file that is
# installed: the recipe builds from these files alone.
cmake_minimum_required(VERSION 3.24)

file(READ "${SOURCE}/packaging/conan/conanfile.py" recipe)
if(NOT recipe MATCHES "for pattern in \\(([^)]*)\\):")
  message(FATAL_ERROR "The recipe lists no patterns of files to export.")
endif()
string(REGEX MATCHALL "\"[^\"]+\"" patterns "${CMAKE_MATCH_1}")
file(REMOVE_RECURSE "${WORK}")
foreach(pattern IN LISTS patterns)
  string(REPLACE "\"" "" pattern "${pattern}")
  file(GLOB_RECURSE files RELATIVE "${SOURCE}" "${SOURCE}/${pattern}")
  if(NOT files)
    message(FATAL_ERROR "No file matches '${pattern}'.")
  endif()
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH folder)
    file(COPY "${SOURCE}/${file}" DESTINATION "${WORK}/source/${folder}")
  endforeach()
endforeach()

execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${WORK}/source" -B "${WORK}/build" -G "${GENERATOR}" ${OPTIONS}
          -DENGINE_BUILD_TESTS=OFF -DENGINE_BUILD_EXAMPLES=OFF
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

file(GLOB_RECURSE scripts "${WORK}/build/cmake_install.cmake")
set(count 0)
foreach(script IN LISTS scripts)
  file(READ "${script}" text)
  string(REGEX MATCHALL "\"${WORK}/source/[^\"]+\"" installed "${text}")
  foreach(file IN LISTS installed)
    string(REPLACE "\"" "" file "${file}")
    math(EXPR count "${count} + 1")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "${file} would be installed, but is not exported.")
    endif()
  endforeach()
endforeach()
if(count LESS 50)
  message(FATAL_ERROR "Only ${count} files would be installed.")
endif()
