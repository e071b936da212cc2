// Work in a process of its own, so that nothing of what came before it counts.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/function_ref.h"

namespace pando::lab {

// Forks, does the work there, and returns what it returned. The caller must have no other threads.
// BenchmarkError: the work's, or one that says how the process ended.
nlohmann::json in_own_process(FunctionRef<nlohmann::json()> work);

}  // namespace pando::lab
