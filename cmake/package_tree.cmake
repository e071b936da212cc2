# Completes the tree of the Debian package, which cpack has installed: the service and its options, and completion where
# Debian's zsh looks.
set(deploy ${CMAKE_CURRENT_LIST_DIR}/../deploy)
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
file(COPY ${deploy}/pando.service DESTINATION ${root}/usr/lib/systemd/system)
file(COPY ${deploy}/pando.toml DESTINATION ${root}/etc)
file(RENAME ${root}/usr/share/zsh/site-functions ${root}/usr/share/zsh/vendor-completions)
