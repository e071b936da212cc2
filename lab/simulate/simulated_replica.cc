#include "lab/simulate/simulated_replica.h"

#include <algorithm>

namespace pando::lab {

SimulatedReplica::SimulatedReplica(const Predictor& predictor, const SimulationOptions& options,
                                   size_t n_pieces, uint32_t longest)
    : predictor_(predictor),
      options_(options),
      remaining_(predictor, options.packer.step_budget, longest, options.packer.n_rows),
      cache_(n_pieces),
      n_pieces_(n_pieces) {}

void SimulatedReplica::add(uint32_t index, const RoutedRequest& request, double now) {
  Active active{.index = index, .request = &request};
  const auto n_cached = static_cast<uint32_t>(kPieceTokens * cache_.n_leading(request.pieces));
  active.n_done = std::min(n_cached, request.n_prompt - 1);  // the last row gives the first token
  n_shared_ += active.n_done;
  cache_.touch(request.pieces, now);
  active.scheduled = scheduled_request(now, seconds_left(active), {}, options_.otherwise);
  active_.push_back(active);
  if (step_end_ == kIdle) begin_step(now);
}

std::vector<SimulatedReplica::Event> SimulatedReplica::end_step() {
  const double now = step_end_;
  std::vector<Event> events;
  for (const Advance& advance : step_) {
    Active& active = active_[advance.item];
    active.running = true;
    active.n_done += advance.n_rows;
    if (active.n_done < active.request->n_prompt + active.n_tokens) continue;
    ++active.n_tokens;
    events.push_back(
        {active.index, active.n_tokens == 1, active.n_tokens == active.request->n_answer});
  }
  std::erase_if(active_,
                [](const Active& active) { return active.n_tokens == active.request->n_answer; });
  step_end_ = kIdle;
  if (!active_.empty()) begin_step(now);
  return events;
}

ReplicaReport SimulatedReplica::report(double now) const {
  const StepCosts& costs = predictor_.costs();
  ReplicaReport report{.max_running = static_cast<double>(options_.max_running),
                       .kv_tokens = kPieceTokens * static_cast<double>(n_pieces_)};
  double n_decodes = 0, n_read = 0;
  for (const Active& active : active_) {
    ++(active.running ? report.n_running : report.n_waiting);
    if (active.n_tokens == 0) {
      report.seconds_left += seconds_left(active);
    } else {
      ++n_decodes;
      n_read += active.n_done;
    }
  }
  if (step_end_ != kIdle) report.seconds_left = std::max(report.seconds_left, step_end_ - now);
  const double n_rows = options_.packer.n_rows;
  report.seconds_per_prompt_token = predictor_.seconds({.rows = n_rows}) / n_rows;
  report.seconds_per_prompt_key = costs.key;
  n_decodes = std::max(1.0, n_decodes);
  report.seconds_per_step = predictor_.seconds(
      {.rows = n_decodes, .outputs = n_decodes, .keys = n_read, .reads = n_read});
  return report;
}

double SimulatedReplica::seconds_left(const Active& active) const {
  return remaining_.seconds(active.request->n_prompt,
                            std::min(active.n_done, active.request->n_prompt));
}

WorkView SimulatedReplica::view() {
  WorkView view;
  uint32_t n_running = 0;
  for (Active& active : active_) {
    const uint32_t n_rows = active.request->n_prompt + active.n_tokens - active.n_done;
    const auto index = static_cast<uint32_t>(view.items.size());
    n_running += active.running;
    view.items.push_back({.running = active.running,
                          .decoding = active.n_tokens > 0,
                          .segments = {index},
                          .cached = {index}});
    view.segment_begin.push_back(active.n_done);
    view.segment_rows.push_back(n_rows);
    view.cached_rows.push_back(active.n_done);
    if (active.n_tokens == 0) active.scheduled.left = seconds_left(active);
  }
  view.n_starts = options_.max_running - std::min(options_.max_running, n_running);
  return view;
}

void SimulatedReplica::begin_step(double now) {
  const WorkView work = view();
  std::vector<ScheduledRequest> requests;
  for (const Active& active : active_) requests.push_back(active.scheduled);
  PackedStep packed =
      pack_step({work, requests, now, predictor_, *options_.policy, options_.packer});
  step_ = std::move(packed.advances);
  step_end_ = now + predictor_.seconds(packed.features);
}

}  // namespace pando::lab
