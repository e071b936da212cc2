// Ranks that MPI has started: mpirun, or Slurm's srun.
#pragma once

namespace pando {

// Makes MPI the transport (comm/transport.h). Ranks then join when the transport is opened, once. A
// program that was started by itself is rank 0 of 1. MPI is loaded at that time: the module
// pando-mpi.so beside the program, or in ../lib/pando, and the MPI library that it links.
void register_mpi();

}  // namespace pando
