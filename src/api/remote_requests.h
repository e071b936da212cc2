// The engines of the other replicas of a run, as rank 0 sees them.
#pragma once

#include <memory>
#include <vector>

#include "api/asked_requests.h"
#include "pando/values/result.h"

namespace pando {

// Opens an engine in each other replica of the engine's ranks, with its options but for the number
// of threads, which each process was started with. One for each of these replicas, in order; none
// where there is one replica. An engine is closed with what is returned for it. Used by one thread;
// calls throw std::runtime_error where a replica is gone. Errors: of a replica's Engine::open,
// naming its first rank.
Result<std::vector<std::unique_ptr<AskedRequests>>> open_other_replicas(const Engine& engine);

}  // namespace pando
