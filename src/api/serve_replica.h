// The first rank of a replica but the first one.
#pragma once

#include <memory>

#include "comm/comm.h"
#include "pando/model.h"

namespace pando {

// Answers the requests of rank 0 (remote_requests.h) until it calls dismiss_replicas. model: of
// this replica, or the error of loading it. threads: of its engines. Throws std::runtime_error if
// rank 0 is gone.
void serve_replica(Comm& comm, const Result<std::shared_ptr<const Model>>& model, int threads);
// Called on rank 0. ranks_each: ranks of a replica.
void dismiss_replicas(Comm& comm, int ranks_each);

}  // namespace pando
