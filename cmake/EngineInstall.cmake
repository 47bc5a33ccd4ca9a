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
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# For builds without CMake: everything in one file. A linker looks into archives in the order given,
# so the highest module comes first.
set(libraries "")
foreach(module IN LISTS modules)
  get_target_property(type engine_${module} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(PREPEND libraries "-lengine_${module}")
  endif()
endforeach()
set(requires "")
set(debian_requires "")
foreach(external IN LISTS externals)
  string(REGEX MATCH "^(.*)::(.*)$" _ "${external}")
  set(name "${CMAKE_MATCH_2}")
  get_property(pkg_config GLOBAL PROPERTY ENGINE_PKG_CONFIG_OF_${CMAKE_MATCH_1})
  get_property(debian GLOBAL PROPERTY ENGINE_DEBIAN_OF_${CMAKE_MATCH_1})
  string(REPLACE "{}" "${name}" pkg_config "${pkg_config}")
  list(APPEND requires ${pkg_config})
  list(APPEND debian_requires ${debian})
endforeach()
list(REMOVE_DUPLICATES requires)
list(REMOVE_DUPLICATES debian_requires)
list(JOIN libraries " " libraries)
list(JOIN requires " " requires)
set(pkg_config_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
string(REGEX REPLACE "[^/]+" ".." up "${pkg_config_dir}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/engine_tensor.pc.in"
               "${PROJECT_BINARY_DIR}/install/engine_tensor.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/install/engine_tensor.pc" DESTINATION "${pkg_config_dir}")

# `cpack` writes a Debian package and a tar archive. Dependencies that are built along with us would
# end up inside.
if(PROJECT_IS_TOP_LEVEL AND all_imported)
  list(JOIN debian_requires ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
  set(CPACK_GENERATOR DEB TGZ)
  set(CPACK_SYSTEM_NAME "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
  set(CPACK_DEBIAN_PACKAGE_NAME libengine-tensor-dev)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_PACKAGE_CONTACT "The engine_tensor developers <engine-tensor@localhost>")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES OFF) # of archives strip would leave nothing to link
  include(CPack)
endif()

# Views for debuggers: docs/design/debugging.md.
install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/engine_tensor_gdb.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/engine_tensor/gdb")
install(FILES "${PROJECT_SOURCE_DIR}/tools/natvis/engine_tensor.natvis"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/engine_tensor/natvis")
