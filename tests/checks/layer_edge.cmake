# cmake -DPROJECT=<layer_edge> -DWORK=<folder> -DGENERATOR=<name> -DMODULE_PATH=<cmake>
#       -DCXX=<compiler> -P layer_edge.cmake
#
# Configures a project of three modules whose last edge points down (fine), sideways, up, or
# nowhere (each stops configure with its reason).
cmake_minimum_required(VERSION 3.24)

function(configure name layer dep expected)
  file(REMOVE_RECURSE "${WORK}/${name}")
  execute_process(
    COMMAND
      "${CMAKE_COMMAND}" -S "${PROJECT}" -B "${WORK}/${name}" -G "${GENERATOR}"
      "-DMODULE_PATH=${MODULE_PATH}" "-DCMAKE_CXX_COMPILER=${CXX}" -DPROBE_LAYER=${layer}
      -DPROBE_DEP=${dep}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " flat "${output}")
  if(expected STREQUAL "" AND NOT result EQUAL 0)
    message(FATAL_ERROR "${name}: a downward edge was rejected:\n${output}")
  elseif(NOT expected STREQUAL "" AND (result EQUAL 0 OR NOT flat MATCHES "${expected}"))
    message(FATAL_ERROR "${name}: expected configure to fail with '${expected}':\n${output}")
  endif()
endfunction()

configure(down 2 middle "")
configure(level 1 middle "layer 1 may not depend on 'middle' of layer 1")
configure(up 0 middle "layer 0 may not depend on 'middle' of layer 1")
configure(unknown 2 nothing "dependency 'nothing' is not a module declared before it")
