// Attention of the reference forward pass: docs/arithmetic.md read aloud.
#pragma once

#include <vector>

#include "reference/reference_forward.h"

namespace pando::reference {

// Attention of every token of one sequence over the last `window` tokens up to itself, or over all
// for 0. Of models whose rows see both ways: over the tokens that are less than `window` away on
// either side, or over the whole sequence.
// sinks: [heads.n], or empty.
// q: [n_tokens, heads.n, D]; k, v: [n_tokens, heads.n_kv, D]; returns [n_tokens, heads.n, D].
std::vector<float> attend(const model::ModelConfig& config, const model::Heads& heads,
                          const Options& options, const std::vector<float>& q,
                          const std::vector<float>& k, const std::vector<float>& v,
                          const std::vector<float>& sinks, int n_tokens, int window);

}  // namespace pando::reference
