# cmake -DNM=<nm> -DARCHIVES=<module>=<archive>;... -DCHECK_ABORT=<bool> -P symbols.cmake
#
# Fails when an archive refers to a symbol that the library promises not to use: standard streams
# and output, process exit, threads; and abort anywhere but in core, where ENGINE_CHECK lives. (That
# <iostream> is initialised is the doing of Abseil's headers, so it is not looked for.)
cmake_minimum_required(VERSION 3.24)

# Exact symbol names; streams in the C++ ABI's spelling.
set(forbidden
    _ZSt4cout _ZSt4cerr _ZSt4clog _ZSt3cin
    printf vprintf puts putchar stdout
    exit _exit quick_exit
    pthread_create)

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
  string(REGEX MATCHALL "[^ \n]+ U" lines "${output}")
  if(NOT lines)
    message(FATAL_ERROR "${archive}: nm lists no undefined symbol; the check would prove nothing.")
  endif()
  list(TRANSFORM lines REPLACE " U$" "")
  list(REMOVE_DUPLICATES lines)
  list(SORT lines)
  set(names ${forbidden})
  if(CHECK_ABORT AND NOT module STREQUAL "core")
    list(APPEND names abort)
  endif()
  foreach(symbol IN LISTS lines)
    if(symbol IN_LIST names)
      list(APPEND violations "${module} references ${symbol}")
    endif()
  endforeach()
endforeach()

if(violations)
  list(JOIN violations "\n" text)
  message(FATAL_ERROR "Forbidden symbols:\n${text}")
endif()
