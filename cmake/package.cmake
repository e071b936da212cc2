# cpack -G DEB: one package with the service, whose Depends dpkg-shlibdeps finds.
set(CPACK_PACKAGE_NAME pando)
set(CPACK_PACKAGE_CONTACT "The Pando developers <pando@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "large language models over shared context, exactly")
set(CPACK_PACKAGE_DESCRIPTION "Answers many questions about one text, or many samples of one prompt, on CPUs: what
prompts share is computed once, without changing a bit of any answer. The program, the libraries for C++ and
C, and a demo model.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")  # for hubs over https
# A program that links the static library needs these.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "pkg-config, libfmt-dev, libpcre2-dev, libonig-dev, libutf8proc-dev, libsentencepiece-dev, libxxhash-dev, zlib1g-dev, libzstd-dev")
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_tree.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "")
foreach(file conffiles postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/debian/${file})
endforeach()
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # the target `installable` is what it needs
include(CPack)
