# cmake -DNM=<nm> -DARCHIVES=<module>=<archive>;... -DCHECK_ABORT=<bool> -P symbols.cmake
#
# Fails when an archive refers to a symbol that the library promises not to use: standard streams
# and output, process exit, threads, assert; and abort anywhere but in core's check.cpp, where
# ENGINE_CHECK lives. (That <iostream> is initialised is the doing of Abseil's headers, so it is not
# looked for.)
cmake_minimum_required(VERSION 3.24)

# Whole names, as the C++ ABI spells them; the optional _chk is _FORTIFY_SOURCE's.
set(forbidden
    "_ZSt[34]w?(cout|cerr|clog|cin)"
    "stdin|stdout|stderr"
    "(__)?v?printf(_chk)?|puts|putchar|perror"
    "_ZN3fmt.*[0-9]v?print.*" # not is_printable: a length stands before a name
    "exit|_exit|_Exit|quick_exit"
    "__assert_fail"
    "_ZNSt6thread.*|_ZN?St[0-9]+_*future.*|pthread_create|thrd_create")
if(CHECK_ABORT)
  list(APPEND forbidden "abort")
endif()
list(JOIN forbidden "|" forbidden)

# <module>/<object>: <symbols>. What a failed check and a wrong ENGINE_CPU print goes to stderr; the
# assertions are those of the headers of the JSON parser and of absl::Cord.
set(allowed_core/check.cpp.o stderr abort)
set(allowed_strided/target.cpp.o stderr)
set(allowed_governed/failure.cpp.o __assert_fail)
set(allowed_safetensors/safetensors_header.cpp.o __assert_fail)
set(allowed_safetensors/safetensors_index.cpp.o __assert_fail)

set(violations "")
foreach(entry IN LISTS ARCHIVES)
  string(REGEX MATCH "^([^=]+)=(.*)$" _ "${entry}")
  set(module "${CMAKE_MATCH_1}")
  set(archive "${CMAKE_MATCH_2}")
  execute_process(
    COMMAND "${NM}" --undefined-only --format=posix "${archive}"
    OUTPUT_VARIABLE output
    RESULT_VARIABLE result
    ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} ${archive}: ${error}")
  endif()
  # "<archive>[<object>]:" (GNU) or "<object>:" (LLVM) opens the symbols of an object.
  string(REGEX REPLACE "[^\n]*\\[([^\n]*)\\]:\n" "\\1:\n" output "${output}")
  string(REGEX MATCHALL "[^ \n]+:\n|[^ \n]+ U" lines "${output}")
  if(NOT "${lines}" MATCHES " U" OR NOT "${lines}" MATCHES ":\n")
    message(FATAL_ERROR "${archive}: nm lists no undefined symbol; the check would prove nothing.")
  endif()
  set(object "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^(.*):\n$")
      set(object "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^(${forbidden}) U$")
      set(symbol "${CMAKE_MATCH_1}")
      if(NOT symbol IN_LIST "allowed_${module}/${object}")
        list(APPEND violations "${module}: ${object} references ${symbol}")
      endif()
    endif()
  endforeach()
endforeach()

if(violations)
  list(REMOVE_DUPLICATES violations)
  list(JOIN violations "\n" text)
  message(FATAL_ERROR "Forbidden symbols:\n${text}")
endif()
