// Defaults and checks of what a caller asks for.
#pragma once

#include "base/dtype.h"
#include "kernel/kernels.h"
#include "model/config.h"
#include "pando/engine.h"

namespace pando {

inline constexpr int kMostChoices = 4096;  // SamplingOptions::n

DType kv_dtype(KvType type);

// Replaces zeros by defaults. kInvalidArgument for what cannot work, kUnsupported for a model whose
// own context is too long.
Status fill_in(EngineOptions& options, const model::ModelConfig& config);

// kInvalidArgument or kTooLong for a request of tokens that can never be answered.
Status check_request(const Request& request, const model::ModelConfig& config,
                     const EngineOptions& options);

// The table for "portable", "avx2", "avx512", or the best one for "". kInvalidArgument for one that
// is not there, and where PANDO_ISA names none.
Result<const kernel::Kernels*> kernels_by_name(std::string_view name);

// Replaces 0 by one thread for each processor this process may use; kInvalidArgument for a number
// that cannot be.
Status fill_in_threads(int& threads);

}  // namespace pando
