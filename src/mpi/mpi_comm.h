// The module pando-mpi.so, the only part of Pando that links an MPI library.
#pragma once

#include "comm/comm.h"

namespace pando {

// Joins the ranks; the caller owns the result. Null: `refusal` says why, for good.
using OpenMpi = Comm*(const char** refusal);
inline constexpr const char* kOpenMpiName = "pando_open_mpi";

}  // namespace pando
