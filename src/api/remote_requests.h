// The engines of the other replicas of a run, as rank 0 sees them.
#pragma once

#include <memory>
#include <vector>

#include "api/asked_requests.h"
#include "pando/values/result.h"

namespace pando {

// Opens an engine in each other replica of the engine's ranks, with the same options except for
// threads, which each process has from its start. Returns one object per replica, in order; none if
// there is one replica. The engine is closed with its object. Used by one thread; calls throw
// std::runtime_error if a replica is gone. Errors: of a replica's Engine::open, naming its first
// rank.
Result<std::vector<std::unique_ptr<AskedRequests>>> open_other_replicas(const Engine& engine);

}  // namespace pando
