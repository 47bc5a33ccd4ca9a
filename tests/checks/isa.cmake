# No instruction beyond the baseline outside the kernels' target namespaces: such a function could be the
# copy that the linker keeps for everybody, and would fault on an older CPU. Disassembles the archives.
# GNU's objdump puts a tab before the mnemonic, LLVM's, which CMake takes with Clang, blanks and a tab.
#   cmake -DOBJDUMP=... -DAWK=... -DARCHIVES="a.a;b.a" -P isa.cmake
set(program [[
/^[0-9a-f]+ <.*>:$/ { name = $0 }
/^ +[0-9a-f]+:[ \t]+v[a-z0-9]+[ \t]/ && name !~ /N_(AVX2|AVX3)/ { found[name]++ }
END { for (n in found) { print found[n] " instructions in " n; bad = 1 } exit bad }
]])
foreach(archive IN LISTS ARCHIVES)
  execute_process(
    COMMAND "${OBJDUMP}" -d -C --no-show-raw-insn "${archive}"
    COMMAND "${AWK}" "${program}"
    OUTPUT_VARIABLE found
    RESULTS_VARIABLE results)
  list(GET results 0 disassembled)
  list(GET results 1 verdict)
  if(NOT disassembled EQUAL 0)
    message(FATAL_ERROR "${OBJDUMP} failed on ${archive}.")
  endif()
  if(NOT verdict EQUAL 0)
    message(FATAL_ERROR "AVX outside the dispatched kernels of ${archive}:\n${found}")
  endif()
endforeach()
