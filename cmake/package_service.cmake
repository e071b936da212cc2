# Adds the service and its options to the Debian package; cpack runs this after installing the rest.
set(deploy ${CMAKE_CURRENT_LIST_DIR}/../deploy)
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
file(INSTALL ${deploy}/pando.service DESTINATION ${root}/usr/lib/systemd/system)
file(INSTALL ${deploy}/pando.toml DESTINATION ${root}/etc)
