# cmake -DREADME=<file> -DSOURCE=<file> -P check_readme.cmake
#
# Fails unless SOURCE stands verbatim in a C++ block of README.

file(READ "${README}" readme)
file(READ "${SOURCE}" source)
string(FIND "${readme}" "```cpp\n${source}```\n" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${README} does not show ${SOURCE} verbatim.")
endif()
