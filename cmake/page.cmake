# pando_page(TARGET): the files of src/serve/page become a source of TARGET, so that the program has them in itself.
function(pando_page target)
  set(folder ${PROJECT_SOURCE_DIR}/src/serve/page)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_page.cmake)
  set(source ${PROJECT_BINARY_DIR}/generated/page_files.cc)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*)
  add_custom_command(OUTPUT ${source} COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUT=${source} -P ${script}
                     DEPENDS ${files} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
