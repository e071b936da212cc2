# A wheel holds these (pyproject.toml): the Python package is python/pando; here the program, the C
# library and their files join it. PANDO_BUILT: the directory of a finished build whose files are
# taken; otherwise those of this build.
set(pando_built ${PROJECT_BINARY_DIR})
if(PANDO_BUILT)
  set(pando_built ${PANDO_BUILT})
  add_custom_target(installable)
endif()
set(data ${SKBUILD_DATA_DIR}/share)  # goes to share/ of the virtual environment

file(REAL_PATH ${pando_built}/libpando-c.so library)  # a wheel has no links
install(PROGRAMS ${pando_built}/pando DESTINATION pando/bin)
install(PROGRAMS ${pando_built}/pando-mpi.so DESTINATION pando/bin OPTIONAL)
install(PROGRAMS ${library} DESTINATION pando RENAME libpando-c.so)
install(FILES include/pando.h DESTINATION pando/include)
install(DIRECTORY models/demo DESTINATION pando/models)
install(DIRECTORY ${pando_built}/share/licenses DESTINATION pando OPTIONAL)
install(PROGRAMS python/program/pando DESTINATION ${SKBUILD_SCRIPTS_DIR})
install(FILES ${pando_built}/share/pando.1 DESTINATION ${data}/man/man1)
pando_install_completions(${pando_built}/share ${data})
