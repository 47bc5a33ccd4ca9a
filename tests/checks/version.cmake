# cmake -DVERSION=<version of the project> -DSOURCE=<folder> -P version.cmake
#
# Whatever else states the version states the same.
cmake_minimum_required(VERSION 3.24)

file(READ "${SOURCE}/packaging/vcpkg/engine-tensor/vcpkg.json" port)
string(JSON port_version GET "${port}" version)
if(NOT port_version STREQUAL VERSION)
  message(FATAL_ERROR "The vcpkg port is of version ${port_version}, the project ${VERSION}.")
endif()

file(READ "${SOURCE}/CHANGELOG.md" changelog)
string(FIND "${changelog}" "## [${VERSION}]" position)
if(position EQUAL -1)
  message(FATAL_ERROR "CHANGELOG.md has no entry for ${VERSION}.")
endif()
