// The first rank of a replica but the first one.
#pragma once

#include <memory>

#include "comm/comm.h"
#include "pando/model.h"

namespace pando {

// Answers the requests of rank 0 (remote_requests.h) until it says dismiss_replicas. `model`: of
// this replica, or why there is none. threads: of its engines. Throws std::runtime_error if rank 0
// is gone.
void serve_replica(Comm& comm, const Result<std::shared_ptr<const Model>>& model, int threads);
// On rank 0; ranks_each: of a replica.
void dismiss_replicas(Comm& comm, int ranks_each);

}  // namespace pando
