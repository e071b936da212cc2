# Ranks are started by MPI, where it is found (-DPANDO_MPI=OFF: not even then). Only the module pando-mpi.so links it.
# The program loads the module when several processes are asked for, so it starts on machines without MPI too.
set(pando_mpi_module "mpi_comm|heart")

# The module, beside the program.
function(pando_add_mpi_module)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    return()
  endif()
  add_library(pando_mpi_module MODULE src/mpi/mpi_comm.cc src/mpi/heart.cc)
  target_compile_options(pando_mpi_module PRIVATE ${pando_plain_option})
  target_link_libraries(pando_mpi_module PRIVATE pando_options fmt::fmt MPI::MPI_CXX Threads::Threads)
  set_target_properties(pando_mpi_module PROPERTIES PREFIX "" OUTPUT_NAME pando-mpi
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_dependencies(pando pando_mpi_module)
endfunction()
