# The program says this of itself: a manual page, and completion for three shells.

# pando_add_says(): makes them in share/ of the build.
function(pando_add_says)
  find_package(Python3 COMPONENTS Interpreter)
  if(NOT Python3_FOUND OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(share ${PROJECT_BINARY_DIR}/share)
  add_custom_command(
    OUTPUT ${share}/pando.1 ${share}/pando ${share}/_pando ${share}/pando.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${share}
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/cli_docs.py $<TARGET_FILE:pando> ${share}/pando.1 --man
    COMMAND $<TARGET_FILE:pando> completion bash > ${share}/pando
    COMMAND $<TARGET_FILE:pando> completion zsh > ${share}/_pando
    COMMAND $<TARGET_FILE:pando> completion fish > ${share}/pando.fish
    DEPENDS pando ${PROJECT_SOURCE_DIR}/tools/cli_docs.py VERBATIM)
  add_custom_target(pando_says ALL DEPENDS ${share}/pando.1)
endfunction()

# pando_install_completions(FROM TO): each where its shell looks.
function(pando_install_completions from to)
  install(FILES ${from}/pando DESTINATION ${to}/bash-completion/completions)
  install(FILES ${from}/_pando DESTINATION ${to}/zsh/site-functions)
  install(FILES ${from}/pando.fish DESTINATION ${to}/fish/vendor_completions.d)
endfunction()
