# cmake -DSCRIPT=<symbols.cmake> -DNM=<nm> -DARCHIVE=<archive> -P symbols_negative.cmake
#
# Runs symbols.cmake on the archive of symbols_violations.cpp and wants every violation named, also
# when the archive goes by the name of a module of which one object may do more.
cmake_minimum_required(VERSION 3.24)

foreach(module violations core strided safetensors)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" "-DNM=${NM}" "-DARCHIVES=${module}=${ARCHIVE}" -DCHECK_ABORT=ON -P
            "${SCRIPT}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(result EQUAL 0)
    message(FATAL_ERROR "${module}: was not rejected.")
  endif()
  # Long messages are wrapped.
  string(REGEX REPLACE "[ \n]+" " " flat "${output} ")
  foreach(
    symbol
    _ZSt4cout
    _ZSt4cerr
    stdout
    stderr
    puts
    "(__)?printf(_chk)?"
    "_ZN3fmt[^ ]*vprint[^ ]*"
    __assert_fail
    "_ZNSt6thread[^ ]*"
    "_ZN?St[0-9]+_*future[^ ]*"
    exit
    abort)
    if(NOT flat MATCHES "${module}: symbols_violations.cpp.o references ${symbol} ")
      message(FATAL_ERROR "${module}: ${symbol} was not named:\n${output}")
    endif()
  endforeach()
endforeach()
