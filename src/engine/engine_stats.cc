#include "pando/values/engine_stats.h"

namespace pando {
namespace {

using Stats = EngineStats;

constexpr uint64_t Stats::*kCounts[] = {
    &Stats::arrived_tokens,   &Stats::arrived_shared, &Stats::requests,    &Stats::prompt_tokens,
    &Stats::generated_tokens, &Stats::prefill_rows,   &Stats::decode_rows, &Stats::recomputed_rows,
    &Stats::pad_rows,         &Stats::steps,          &Stats::preemptions, &Stats::evicted_pages,
    &Stats::evicted_places,   &Stats::attention_bytes};
constexpr double Stats::*kSums[] = {
    &Stats::step_s,     &Stats::linear_s,           &Stats::attention_s,  &Stats::row_ops_s,
    &Stats::sampling_s, &Stats::planning_s,         &Stats::linear_flops, &Stats::predicted_s,
    &Stats::timed_s,    &Stats::prediction_error_s, &Stats::budget_s};
// Figures that are states, not counts.
constexpr uint64_t Stats::*kStates[] = {
    &Stats::kv_bytes_peak,  &Stats::open_answers,      &Stats::running_answers, &Stats::open_tokens,
    &Stats::kv_bytes,       &Stats::kv_capacity_bytes, &Stats::places,          &Stats::place_bytes,
    &Stats::kv_ready_bytes, &Stats::tree_nodes,        &Stats::queued_tokens};

}  // namespace

EngineStats EngineStats::since(const EngineStats& before) const {
  EngineStats d = *this;
  for (const auto count : kCounts) d.*count -= before.*count;
  for (const auto sum : kSums) d.*sum -= before.*sum;
  return d;
}

void EngineStats::add(const EngineStats& other) {
  for (const auto count : kCounts) this->*count += other.*count;
  for (const auto sum : kSums) this->*sum += other.*sum;
  for (const auto state : kStates) this->*state += other.*state;
  queued_s += other.queued_s;
}

}  // namespace pando
