# The files that all.h in FOLDER includes, as a C++ source with one text: exec/gpu/kernel_text.h.
cmake_policy(VERSION 3.25)
file(STRINGS ${FOLDER}/all.h lines REGEX "^#include ")
set(text "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".*/(.*)\"" "\\1" name ${line})
  file(READ ${FOLDER}/${name} part)
  string(REGEX REPLACE "(#pragma once|#include \"[^\n]*)\n" "\n" part "${part}")
  string(APPEND text "#line 1 \"${name}\"\n${part}")
endforeach()
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
