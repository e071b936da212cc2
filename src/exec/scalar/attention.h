// Attention of a step by the tasks of its plan: docs/arithmetic.md, "Attention".
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "contract/model_spec.h"
#include "contract/step_plan.h"
#include "exec/scalar/pages.h"
#include "exec/scalar/rows.h"

namespace pando::exec::scalar {

struct AttentionCall {
  LayerPages pages;
  model::Heads heads;
  float scale;                   // multiplies queries, log2(e) included
  float score_cap;               // log2(e) included; 0: none
  uint32_t window;               // positions; 0: none
  std::span<const float> sinks;  // [heads.n], or empty
  std::span<const uint32_t> positions;
  std::span<const uint32_t> last_seen;  // [n_rows] the last position that a row sees
  std::span<const AttentionTask> tasks;

  // The first position that a row sees.
  uint32_t first_seen(uint32_t row) const {
    const uint32_t end = positions[row] + 1;
    return window == 0 || end <= window ? 0 : end - window;
  }
};

// q: rows that begin with queries, [heads.n, head_dim]. Returns [n_rows, heads.n * head_dim].
Rows attend(const AttentionCall& call, const Rows& q, ThreadPool& pool);

}  // namespace pando::exec::scalar
