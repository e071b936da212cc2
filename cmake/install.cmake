# cmake --install: program, library, headers, demo model; found by find_package(pando) and
# pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(pando_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pando)

install(TARGETS pando)
if(TARGET pando_mpi_module)
  install(TARGETS pando_mpi_module DESTINATION lib/pando)  # ../lib/pando of the program
endif()
install(TARGETS pando_library pando_c EXPORT pando-targets)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY models/demo DESTINATION ${CMAKE_INSTALL_DATADIR}/pando/models)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.yaml" PATTERN "demo" EXCLUDE PATTERN "figures" EXCLUDE)

if(TARGET pando_says)
  install(FILES ${PROJECT_BINARY_DIR}/share/pando.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  pando_install_completions(${PROJECT_BINARY_DIR}/share ${CMAKE_INSTALL_DATADIR})
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
