# The CMake package `engine_tensor`: every module is a target engine::<module> and a component.
#
# Written twice from one template: into the build folder, so that a build tree can be used without
# installing it, and, with ENGINE_INSTALL, as install rules.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(modules GLOBAL PROPERTY ENGINE_MODULES)
set(targets "${modules}")
list(TRANSFORM targets PREPEND "engine_")

# What the exported targets name: public externals, and what the static archives link to.
set(externals "")
foreach(module IN LISTS modules)
  foreach(kind EXTERNAL EXTERNAL_PRIVATE)
    get_property(names GLOBAL PROPERTY ENGINE_MODULE_${kind}_${module})
    list(APPEND externals ${names})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES externals)

set(ENGINE_PACKAGE_DEPENDENCIES "")
set(all_imported TRUE)
foreach(external IN LISTS externals)
  string(REGEX REPLACE "::.*" "" namespace "${external}")
  get_property(package GLOBAL PROPERTY ENGINE_PACKAGE_OF_${namespace})
  if("${package}" STREQUAL "")
    message(FATAL_ERROR "No engine_dependency() provides ${external}.")
  endif()
  list(APPEND ENGINE_PACKAGE_DEPENDENCIES ${package})
  get_target_property(imported ${external} IMPORTED)
  if(NOT imported)
    set(all_imported FALSE)
  endif()
endforeach()
list(REMOVE_DUPLICATES ENGINE_PACKAGE_DEPENDENCIES)
set(ENGINE_PACKAGE_COMPONENTS "${modules}")
# For the tests of the package.
set_property(GLOBAL PROPERTY ENGINE_DEPENDENCIES_IMPORTED ${all_imported})

set(template "${PROJECT_SOURCE_DIR}/cmake/engine_tensorConfig.cmake.in")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/engine_tensorConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)

# An export file can name imported targets; dependencies that are built along with us are in no
# build-tree export.
if(all_imported)
  configure_package_config_file("${template}" "${PROJECT_BINARY_DIR}/engine_tensorConfig.cmake"
                                INSTALL_DESTINATION "${PROJECT_BINARY_DIR}"
                                INSTALL_PREFIX "${PROJECT_BINARY_DIR}")
  export(
    TARGETS ${targets}
    NAMESPACE engine::
    FILE "${PROJECT_BINARY_DIR}/engine_tensorTargets.cmake")
endif()

if(NOT ENGINE_INSTALL)
  return()
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/engine_tensor")
# The include root is include/engine, so that `#include "tensor/shape.h"` reads the same in both
# trees.
install(
  TARGETS ${targets}
  EXPORT engine_tensor
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/engine"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/engine")
install(
  EXPORT engine_tensor
  NAMESPACE engine::
  FILE engine_tensorTargets.cmake
  DESTINATION "${package_dir}")
configure_package_config_file(
  "${template}" "${PROJECT_BINARY_DIR}/install/engine_tensorConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/install/engine_tensorConfig.cmake"
              "${PROJECT_BINARY_DIR}/engine_tensorConfigVersion.cmake" DESTINATION "${package_dir}")

# Views for debuggers: docs/design/debugging.md.
install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/engine_tensor_gdb.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/engine_tensor/gdb")
install(FILES "${PROJECT_SOURCE_DIR}/tools/natvis/engine_tensor.natvis"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/engine_tensor/natvis")
