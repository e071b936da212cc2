#include "pando/engine_stats.h"

namespace pando {
namespace {

using S = EngineStats;

constexpr uint64_t S::*kCounts[] = {&S::arrived_tokens, &S::arrived_shared,   &S::requests,
                                    &S::prompt_tokens,  &S::generated_tokens, &S::prefill_rows,
                                    &S::decode_rows,    &S::recomputed_rows,  &S::pad_rows,
                                    &S::steps,          &S::preemptions,      &S::evicted_pages,
                                    &S::evicted_places};
constexpr double S::*kSums[] = {
    &S::step_s,     &S::linear_s,           &S::attention_s,  &S::row_ops_s,
    &S::sampling_s, &S::planning_s,         &S::linear_flops, &S::predicted_s,
    &S::timed_s,    &S::prediction_error_s, &S::budget_s};
// What is not counted.
constexpr uint64_t S::*kStates[] = {&S::kv_bytes_peak, &S::open_answers, &S::running_answers,
                                    &S::open_tokens,   &S::kv_bytes,     &S::kv_capacity_bytes,
                                    &S::places,        &S::place_bytes,  &S::kv_ready_bytes,
                                    &S::tree_nodes};

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
