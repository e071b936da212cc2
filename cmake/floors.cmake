# One static library per floor of docs/architecture.md, and one of the laboratory. A floor links what stands below it and
# nothing else, so an upward call does not link; tests/floors_test.py checks the includes.

add_library(pando_options INTERFACE)
target_compile_features(pando_options INTERFACE cxx_std_20)
target_include_directories(pando_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# The bits of every result are part of the contract: no contraction, no reassociation.
target_compile_options(pando_options INTERFACE -ffp-contract=off -fno-fast-math -Wall -Wextra
                       -Wno-psabi -Wno-ignored-attributes
                       -Wno-missing-field-initializers  # designated initialisers leave out defaults
                       $<$<BOOL:${PANDO_WERROR}>:-Werror>)
if(PANDO_SANITIZE)
  target_compile_options(pando_options INTERFACE -fsanitize=${PANDO_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all
                         # GCC's own checks see the sanitizers' code and take Boost's optionals for unset.
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(pando_options INTERFACE -fsanitize=${PANDO_SANITIZE})
endif()
# The archives also go into shared libraries. Hidden names keep calls between them as direct as in a
# program; a shared C++ library (BUILD_SHARED_LIBS) needs all of them visible.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT BUILD_SHARED_LIBS)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
endif()

# Either cli/laboratory.cc or its stub is compiled. This is the suffix of the one that is left out.
set(pando_not_laboratory "")
if(PANDO_LAB)
  set(pando_not_laboratory _stub)
endif()

# Models are fetched by libcurl, where it is found (-DPANDO_HUB=OFF: not even then). The same with http.cc and its stub.
set(pando_not_hub http)
set(pando_hub_links "")
if(PANDO_HUB)
  find_package(CURL 7.85)
  if(CURL_FOUND)
    set(pando_not_hub http_stub)
    set(pando_hub_links CURL::libcurl)
  endif()
endif()

# pando_precompiled(NAME OPTION): headers that most sources include, precompiled for one level of optimisation. Where
# each source is compiled by itself (PANDO_UNITY=OFF), nothing is precompiled, so that a missing #include shows;
# nor under ccache, which does not know precompiled headers.
function(pando_precompiled target option)
  if(NOT PANDO_UNITY OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${target}.cc CONTENT "")
  add_library(${target} OBJECT ${PROJECT_BINARY_DIR}/${target}.cc)
  target_link_libraries(${target} PRIVATE pando_options fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_options(${target} PRIVATE ${option})
  target_precompile_headers(${target} PRIVATE <algorithm> <filesystem> <functional> <map> <memory> <optional> <span>
                            <string> <vector> <fmt/format.h> <nlohmann/json.hpp>)
endfunction()

# Sources that run once for a file, a model or a request. -O1 halves the time that they take to compile.
set(pando_plain_sources "/src/(model/families|comm|api|task|ask|capi|bench|serve|hub|mpi|cli)/")
set(pando_plain_option $<$<CONFIG:Release>:-O1>)
pando_precompiled(pando_precompiled "")
pando_precompiled(pando_precompiled_plain "${pando_plain_option}")

# pando_compile(TARGET PLAIN SOURCES...): options and precompiled headers of a target of src/; PLAIN: whether its
# sources are plain.
function(pando_compile target plain)
  set(precompiled pando_precompiled)
  if(plain)
    set(precompiled pando_precompiled_plain)
    target_compile_options(${target} PRIVATE ${pando_plain_option})
  endif()
  if(TARGET ${precompiled} AND NOT target STREQUAL "pando_kernel")
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
  pando_unity(${target} ${ARGN})
endfunction()

# pando_unity(TARGET SOURCES...): compiles about twelve sources as one, which takes a fraction of the time.
# Alone stay: what computes most; sources with options of their own for an instruction set; families, whose
# functions have the same names; sources that name faults, which pando_faulty_objects compiles again to
# replace whole members of the archives; and two that take long by themselves.
function(pando_unity target)
  if(NOT PANDO_UNITY OR target MATCHES "_(kernel|exec)$")
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  # GCC takes what is local to an included source for something in a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  foreach(source ${ARGN})
    file(STRINGS ${source} names_fault REGEX "#include \"base/fault\\.h\"")
    if(names_fault OR source MATCHES "/(lab/kernel/.*|src/model/families/.*|src/serve/(asio|connection))\\.cc$")
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    if(source MATCHES "/lab/kernel/")  # with options of their own for an instruction set
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# pando_floor(NAME LINKS...): src/NAME/**.cc as library pando_NAME. The kernels of the processors, which have options of
# their own, are a library apart from the rest of exec/. The laboratory is not in src/.
set(pando_kernels exec/cpu/kernel)
function(pando_floor name)
  set(folder src/${name})
  if(name STREQUAL "kernel")
    set(folder src/${pando_kernels})
  elseif(name STREQUAL "lab")
    set(folder lab)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/lab/tests/")
  if(name STREQUAL "exec")
    list(FILTER sources EXCLUDE REGEX "/src/${pando_kernels}/")
  endif()
  list(FILTER sources EXCLUDE REGEX "src/cli/(main|spare_memory|laboratory${pando_not_laboratory})\\.cc$")
  list(FILTER sources EXCLUDE REGEX "src/mpi/(${pando_mpi_module})\\.cc$")
  list(FILTER sources EXCLUDE REGEX "src/hub/(${pando_not_hub})\\.cc$")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_(avx[0-9a-z]*|amx)\\.cc$")
  endif()
  set(target pando_${name})
  set(public PUBLIC)
  set(targets ${target})
  if(sources)
    set(plain ${sources})
    list(FILTER plain INCLUDE REGEX ${pando_plain_sources})
    list(REMOVE_ITEM sources ${plain} "")
    if(plain AND sources)  # part of the floor
      add_library(${target}_plain OBJECT ${plain})
      pando_compile(${target}_plain ON ${plain})
      list(APPEND targets ${target}_plain)
      add_library(${target} STATIC ${sources} $<TARGET_OBJECTS:${target}_plain>)
      pando_compile(${target} OFF ${sources})
    elseif(plain)
      add_library(${target} STATIC ${plain})
      pando_compile(${target} ON ${plain})
    else()
      add_library(${target} STATIC ${sources})
      pando_compile(${target} OFF ${sources})
    endif()
    if(NOT name MATCHES "^(serve|hub|bench|lab|mpi|cli)$")
      foreach(part ${targets})
        set_property(GLOBAL APPEND PROPERTY PANDO_LIBRARY_OBJECTS $<TARGET_OBJECTS:${part}>)
      endforeach()
    endif()
  else()  # headers only
    add_library(${target} INTERFACE)
    set(public INTERFACE)
  endif()
  foreach(part ${targets})
    target_link_libraries(${part} ${public} pando_options)
    foreach(link ${ARGN})
      if(TARGET pando_${link})
        target_link_libraries(${part} ${public} pando_${link})
      else()
        target_link_libraries(${part} ${public} ${link})
      endif()
    endforeach()
    if(PANDO_COVERAGE AND public STREQUAL "PUBLIC" AND name MATCHES "^(base|text|cache|plan|engine|api|ask|batch|serve)$")
      target_compile_options(${part} PRIVATE --coverage -fprofile-update=atomic -O1)
      target_link_options(${part} INTERFACE --coverage)
    endif()
  endforeach()
  if(name STREQUAL "api")
    add_dependencies(${target} pando_commit)
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR})
    target_compile_definitions(${target} PRIVATE PANDO_VERSION="${PROJECT_VERSION}")
  endif()
endfunction()

# All floors, bottom to top.
macro(pando_all_floors)
  pando_floor(base fmt::fmt Threads::Threads nlohmann_json::nlohmann_json)
  pando_floor(text base PkgConfig::pcre2 PkgConfig::oniguruma PkgConfig::utf8proc PkgConfig::sentencepiece
              PkgConfig::xxhash nlohmann_json::nlohmann_json)
  pando_engine_floors()
  pando_floor(capi batch nlohmann_json::nlohmann_json)
  pando_server_floor()
  pando_floor(bench api)
  pando_floor(mpi comm ${CMAKE_DL_LIBS})
  if(PANDO_LAB)
    pando_floor(lab serve batch bench)
    target_include_directories(pando_lab PUBLIC ${PROJECT_SOURCE_DIR})
    pando_floor(cli lab bench serve hub mpi CLI11::CLI11 PkgConfig::tomlplusplus)
  else()
    pando_floor(cli bench serve hub mpi CLI11::CLI11 PkgConfig::tomlplusplus)
  endif()
  target_link_libraries(pando_cli PUBLIC pando_batch)  # which is below the public API
  # By itself in the archive, so that a program that has the stub does not link it.
  set_source_files_properties(src/cli/laboratory.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

# The server, with what only it links; no part of the library.
macro(pando_server_floor)
  find_package(Boost 1.81 REQUIRED)  # headers only
  find_package(OpenSSL REQUIRED)
  find_package(SQLite3 3.25 REQUIRED)  # of the first version with window functions
  pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
  pando_floor(serve ask Boost::headers OpenSSL::SSL OpenSSL::Crypto SQLite::SQLite3 PkgConfig::prometheus)
  pando_page(pando_serve)
  pando_floor(hub base OpenSSL::Crypto ${pando_hub_links})
  target_compile_definitions(pando_serve PUBLIC BOOST_ASIO_SEPARATE_COMPILATION
                             BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
                             # by operator new, for which src/cli/spare_memory.cc has more
                             BOOST_ASIO_DISABLE_STD_ALIGNED_ALLOC BOOST_ASIO_DISABLE_BOOST_ALIGN)
  if(PANDO_SANITIZE MATCHES "thread")  # which does not know fences; there are locks besides
    target_compile_definitions(pando_serve PUBLIC BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  # GCC 12 takes the memory of a coroutine for what operator new gave, where it inlines little.
  target_compile_options(pando_serve PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
  if(PANDO_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    get_target_property(sources pando_serve SOURCES)  # clang 14: not with coroutines
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -fno-sanitize=function)
  endif()
endmacro()

# These floors compute.
macro(pando_engine_floors)
  pando_floor(contract base)
  pando_floor(comm base)
  pando_floor(kernel contract)
  pando_floor(exec kernel comm ${CMAKE_DL_LIBS})
  pando_kernel_text(pando_exec)
  pando_floor(model contract nlohmann_json::nlohmann_json)
  pando_floor(cache contract)
  pando_floor(schedule base PkgConfig::xxhash)
  pando_floor(plan cache)
  pando_floor(engine plan schedule text PkgConfig::xxhash)
  pando_floor(api engine model exec)
  pando_floor(task api text)
  pando_floor(ask task text nlohmann_json::nlohmann_json)
  pando_floor(batch ask nlohmann_json::nlohmann_json PkgConfig::zlib PkgConfig::zstd)
endmacro()

# The sources that name a deliberate fault, compiled again with the faults in them. A program that
# links these objects takes them in place of the same members of the floors' archives.
function(pando_faulty_objects)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc ${PROJECT_SOURCE_DIR}/src/*.h)
  set(faulty "")
  foreach(file ${files})
    file(STRINGS ${file} named REGEX "#include \"base/fault\\.h\"")
    if(NOT named)
      continue()
    endif()
    if(file MATCHES "\\.h$")
      message(FATAL_ERROR "${file} includes base/fault.h; name faults in .cc files, which are compiled again")
    endif()
    list(APPEND faulty ${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  add_library(pando_faulty OBJECT EXCLUDE_FROM_ALL ${faulty})
  target_link_libraries(pando_faulty PUBLIC pando_batch)
  target_compile_definitions(pando_faulty PUBLIC PANDO_FAULT_INJECTION)
endfunction()

# Instruction sets are per file: each simd table is one translation unit (src/exec/cpu/kernel/cpu).
# GCC 12 gives false alarms of uninitialised values in its own AVX-512 intrinsics.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  file(GLOB avx512_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${pando_kernels}/cpu/*_avx512.cc
       ${PROJECT_SOURCE_DIR}/lab/kernel/cpu/*_avx512.cc)
  file(GLOB avx2_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${pando_kernels}/cpu/*_avx2.cc
       ${PROJECT_SOURCE_DIR}/lab/kernel/cpu/*_avx2.cc)
  set(avx512_options
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mavx2;-mfma;-mf16c;-mprefer-vector-width=512;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>")
  set_source_files_properties(${avx512_sources} PROPERTIES COMPILE_OPTIONS "${avx512_options}")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${pando_kernels}/cpu/kernels_avx512bf16.cc
    PROPERTIES COMPILE_OPTIONS "${avx512_options};-mavx512bf16")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${pando_kernels}/cpu/kernels_amx.cc
    PROPERTIES COMPILE_OPTIONS "${avx512_options};-mamx-tile;-mamx-int8")
  set(avx2_options "-mavx2;-mfma;-mf16c")
  set_source_files_properties(${avx2_sources} PROPERTIES COMPILE_OPTIONS "${avx2_options}")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${pando_kernels}/cpu/kernels_avxvnni.cc
    PROPERTIES COMPILE_OPTIONS "${avx2_options};-mavxvnni")
  # Only processors without AVX2 compute with it. -O3 takes five times as long to compile.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${pando_kernels}/cpu/kernels_portable.cc PROPERTIES COMPILE_OPTIONS -O1)
endif()
