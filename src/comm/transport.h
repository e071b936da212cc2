// Finds the other ranks of a run. A library without MPI has no transport.
#pragma once

#include <memory>

#include "comm/comm.h"
#include "pando/values/result.h"

namespace pando {

// Joins the ranks that were started with this process.
using OpenTransport = Result<std::unique_ptr<Comm>> (*)();

// To be called before any other thread runs.
void register_transport(OpenTransport open);
// kUnsupported if no transport is registered.
Result<std::unique_ptr<Comm>> open_transport();

}  // namespace pando
