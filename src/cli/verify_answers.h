// Asking a part of the questions again.
#pragma once

#include <map>
#include <memory>

#include "cli/run_options.h"

namespace pando::cli {

using Hashes = std::map<AnswerKey, uint64_t>;  // of the logits

// Says whether verifying may want an answer's hash; `so_far` are those that are kept already.
bool wants_hash(const RunOptions& options, const AnswerKey& key, const Hashes& so_far);

// `first` is the run that gave the hashes, in which n_asked questions were answered. Asks the
// sample one question at a time, in an engine that shares nothing. The exit code: `code` where all
// bits are equal.
int verify_answers(const RunOptions& options, const std::shared_ptr<const Model>& model,
                   Hashes& hashes, uint64_t n_asked, const BatchSummary& first, int code);

}  // namespace pando::cli
