# What others link: pando::pando, all floors below cli in one library. Static, or with
# BUILD_SHARED_LIBS shared.
get_property(pando_objects GLOBAL PROPERTY PANDO_LIBRARY_OBJECTS)
set(pando_dependencies fmt::fmt Threads::Threads PkgConfig::pcre2 PkgConfig::utf8proc
    PkgConfig::sentencepiece PkgConfig::xxhash)

add_library(pando_library ${pando_objects})
add_library(pando::pando ALIAS pando_library)
set_target_properties(pando_library PROPERTIES OUTPUT_NAME pando EXPORT_NAME pando
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      LINKER_LANGUAGE CXX)
target_compile_features(pando_library PUBLIC cxx_std_20)
target_include_directories(pando_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:include>)
target_link_libraries(pando_library PRIVATE ${pando_dependencies})
