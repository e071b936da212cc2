# The commit that is built, or PANDO_COMMIT of the environment where git knows of none; -dirty where a file that the program is made of differs from it.
cmake_policy(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=10
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git --no-optional-locks -C ${SOURCE} status --porcelain --
                        src include cmake CMakeLists.txt CMakePresets.json
                OUTPUT_VARIABLE changes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit AND DEFINED ENV{PANDO_COMMIT})  # a copy of the files alone, as in a container
  set(commit $ENV{PANDO_COMMIT})
elseif(NOT commit)
  set(commit "unknown")
elseif(changes)
  string(APPEND commit "-dirty")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define PANDO_COMMIT \"@commit@\"\n" @ONLY)
