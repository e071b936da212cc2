#include "pando/engine_stats.h"

namespace pando {

EngineStats EngineStats::since(const EngineStats& before) const {
  EngineStats d = *this;
  d.arrived_tokens -= before.arrived_tokens;
  d.arrived_shared -= before.arrived_shared;
  d.requests -= before.requests;
  d.prompt_tokens -= before.prompt_tokens;
  d.generated_tokens -= before.generated_tokens;
  d.prefill_rows -= before.prefill_rows;
  d.decode_rows -= before.decode_rows;
  d.recomputed_rows -= before.recomputed_rows;
  d.pad_rows -= before.pad_rows;
  d.steps -= before.steps;
  d.preemptions -= before.preemptions;
  d.evicted_pages -= before.evicted_pages;
  d.evicted_places -= before.evicted_places;
  d.step_s -= before.step_s;
  d.linear_s -= before.linear_s;
  d.attention_s -= before.attention_s;
  d.row_ops_s -= before.row_ops_s;
  d.sampling_s -= before.sampling_s;
  d.planning_s -= before.planning_s;
  d.attention_bytes -= before.attention_bytes;
  d.linear_flops -= before.linear_flops;
  d.predicted_s -= before.predicted_s;
  d.timed_s -= before.timed_s;
  d.prediction_error_s -= before.prediction_error_s;
  d.budget_s -= before.budget_s;
  return d;
}

}  // namespace pando
