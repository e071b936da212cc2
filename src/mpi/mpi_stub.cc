// In place of mpi_comm.cc where MPI was not found.
#include "mpi/mpi_comm.h"

namespace pando {

void register_mpi() {}

}  // namespace pando
