# Others link these. pando::pando is the C++ library, all floors below cli in one; static, or with
# BUILD_SHARED_LIBS shared. pando::c is the shared library of pando.h, which shows nothing else.
get_property(pando_objects GLOBAL PROPERTY PANDO_LIBRARY_OBJECTS)
set(pando_dependencies fmt::fmt Threads::Threads PkgConfig::pcre2 PkgConfig::oniguruma
    PkgConfig::utf8proc PkgConfig::sentencepiece PkgConfig::xxhash PkgConfig::zlib PkgConfig::zstd)

add_library(pando_library ${pando_objects})
add_library(pando::pando ALIAS pando_library)
set_target_properties(pando_library PROPERTIES OUTPUT_NAME pando EXPORT_NAME pando
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      LINKER_LANGUAGE CXX)
target_compile_features(pando_library PUBLIC cxx_std_20)
target_include_directories(pando_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:include>)
target_link_libraries(pando_library PRIVATE ${pando_dependencies})

add_library(pando_c SHARED ${pando_objects})
add_library(pando::c ALIAS pando_c)
set_target_properties(pando_c PROPERTIES OUTPUT_NAME pando-c EXPORT_NAME c LINKER_LANGUAGE CXX
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/pando-c.map)
if(NOT SKBUILD)  # a wheel has no links
  set_target_properties(pando_c PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endif()
target_include_directories(pando_c INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                             $<INSTALL_INTERFACE:include>)
target_link_libraries(pando_c PRIVATE ${pando_dependencies})
target_link_options(pando_c PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/pando-c.map)
if(PANDO_SANITIZE)
  target_link_options(pando_library PUBLIC -fsanitize=${PANDO_SANITIZE})
  target_link_options(pando_c PUBLIC -fsanitize=${PANDO_SANITIZE})
endif()
if(PANDO_COVERAGE)
  target_link_options(pando_library PUBLIC --coverage)
  target_link_options(pando_c PUBLIC --coverage)
endif()
