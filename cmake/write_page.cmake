# The files of a folder as a C++ source with their names, hashes and texts: serve/page.h.
cmake_policy(VERSION 3.25)
file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT names)
set(rows "")
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} text)
  file(SHA256 ${FOLDER}/${name} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  if(text MATCHES "[)]PANDO-PAGE\"")
    message(FATAL_ERROR "${name} has the characters )PANDO-PAGE\", which end its text in C++")
  endif()
  string(APPEND rows "    {\"${name}\", \"\\\"${hash}\\\"\", R\"PANDO-PAGE(${text})PANDO-PAGE\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"serve/page.h\"

namespace pando::serve {
namespace {

constexpr PageFile kPageFiles[] = {
${rows}};

}  // namespace

std::span<const PageFile> page_files() { return kPageFiles; }

}  // namespace pando::serve
")
