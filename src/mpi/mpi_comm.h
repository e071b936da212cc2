// Ranks that MPI has started: mpirun, or Slurm's srun.
#pragma once

namespace pando {

// Makes MPI the transport (comm/transport.h), if the program was built with it. Ranks then join
// when the transport is opened, once. A program that was started by itself is rank 0 of 1.
void register_mpi();

}  // namespace pando
