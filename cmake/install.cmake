# cmake --install: program, library, headers, demo model; found by find_package(pando) and
# pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(pando_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pando)

if(SKBUILD)  # the wheel of pyproject.toml
  install(TARGETS pando_c LIBRARY DESTINATION pando COMPONENT python)
  install(DIRECTORY models/demo DESTINATION pando/models COMPONENT python)
  return()
endif()

# All that an installation takes; the tests are not among it.
add_custom_target(installable DEPENDS pando pando_library pando_c)

install(TARGETS pando)
install(TARGETS pando_library pando_c EXPORT pando-targets)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY models/demo DESTINATION ${CMAKE_INSTALL_DATADIR}/pando/models)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.yaml" PATTERN "demo" EXCLUDE PATTERN "figures" EXCLUDE)

# What the program says of itself: a manual page and completion.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/share/pando.1 ${PROJECT_BINARY_DIR}/share/pando
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/cli_docs.py $<TARGET_FILE:pando>
            ${PROJECT_BINARY_DIR}/share/pando.1 --man
    COMMAND $<TARGET_FILE:pando> completion bash > ${PROJECT_BINARY_DIR}/share/pando
    DEPENDS pando ${PROJECT_SOURCE_DIR}/tools/cli_docs.py VERBATIM)
  add_custom_target(pando_says ALL DEPENDS ${PROJECT_BINARY_DIR}/share/pando.1)
  add_dependencies(installable pando_says)
  install(FILES ${PROJECT_BINARY_DIR}/share/pando.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/share/pando
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

install(EXPORT pando-targets NAMESPACE pando:: DESTINATION ${pando_config_dir})
configure_package_config_file(cmake/pando-config.cmake.in ${PROJECT_BINARY_DIR}/pando-config.cmake
                              INSTALL_DESTINATION ${pando_config_dir}
                              PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pando-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pando-config.cmake
              ${PROJECT_BINARY_DIR}/pando-config-version.cmake
              DESTINATION ${pando_config_dir})

# A static library says all that it needs to whoever links it.
set(pando_requires_field Requires)
if(BUILD_SHARED_LIBS)
  set(pando_requires_field Requires.private)
endif()
file(RELATIVE_PATH pando_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(package pando pando-c)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
