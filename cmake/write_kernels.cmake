# Writes the kernels of all.h in FOLDER as one text in a C++ source (exec/gpu/kernel_text.h). Each file appears once,
# after the files that it includes.
cmake_policy(VERSION 3.25)
set(seen emulate.h)  # for C++ alone
set(text "")

macro(add_file name)
  list(APPEND seen ${name})
  file(STRINGS ${FOLDER}/${name} includes_${name} REGEX "^#include \"exec/gpu/kernels/")
  foreach(line IN LISTS includes_${name})
    string(REGEX REPLACE ".*/(.*)\"" "\\1" included ${line})
    if(NOT included IN_LIST seen)
      add_file(${included})
    endif()
  endforeach()
  file(READ ${FOLDER}/${name} part)
  string(REGEX REPLACE "(#pragma once|#include \"[^\n]*)\n" "\n" part "${part}")
  string(APPEND text "#line 1 \"${name}\"\n${part}")
endmacro()

add_file(all.h)
if(text MATCHES "[)]PANDO-KERNELS\"")
  message(FATAL_ERROR "a kernel has the characters )PANDO-KERNELS\", which end its text in C++")
endif()
file(WRITE ${OUT} "#include \"exec/gpu/kernel_text.h\"

namespace pando::exec::gpu {

std::string_view kernel_text() {
  return R\"PANDO-KERNELS(${text})PANDO-KERNELS\";
}

}  // namespace pando::exec::gpu
")
