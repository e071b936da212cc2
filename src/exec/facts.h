// The facts of executors that run one step at a time in memory of these sizes.
#pragma once

#include "contract/executor.h"
#include "contract/model_spec.h"
#include "exec/cpu/kv_sizes.h"

namespace pando::exec {

ExecutorFacts facts_of(const model::ModelSpec& spec, const ExecutorOptions& options,
                       const KvSizes& sizes);

}  // namespace pando::exec
