# pando_kernel_text(TARGET): adds a source with the text of the GPU kernels to TARGET, so that the program holds it.
function(pando_kernel_text target)
  set(folder ${PROJECT_SOURCE_DIR}/src/exec/gpu/kernels)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_kernels.cmake)
  set(source ${PROJECT_BINARY_DIR}/generated/kernel_text.cc)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.h)
  add_custom_command(OUTPUT ${source} COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUT=${source} -P ${script}
                     DEPENDS ${files} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
