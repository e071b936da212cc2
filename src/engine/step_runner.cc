#include "engine/step_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace pando {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// True if the step computes rows for this output.
bool has_rows(const WantedOutput& want) { return std::min(want.begin, want.first_row) < want.end; }

// The node on the path that holds the position: equal answers may have other tips.
const Node* node_at(const Node* tip, uint32_t position) {
  while (tip->start > position) tip = tip->parent;
  return tip;
}

// True if its prompt is computed and it decodes, or waits for its next token.
bool is_answering(const Sequence& sequence) {
  return sequence.running && !sequence.done && !sequence.completion.tokens.empty();
}

// The plan's outputs of which no sequence reads logits.
std::vector<uint32_t> hidden_only(const StepPlan& plan, const SubmittedStep& step) {
  std::vector<bool> is_read(plan.outputs.size(), false);
  auto output = step.output_of.begin();
  for (size_t i = 0; i < step.wanted.size(); ++i) {
    const bool reads = step.sequences[i]->request->request.pooling == Pooling::kNone;
    for (uint32_t at = step.wanted[i].begin; at < step.wanted[i].end; ++at, ++output)
      if (reads) is_read[*output] = true;
  }
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < is_read.size(); ++i)
    if (!is_read[i]) rows.push_back(plan.outputs[i]);
  return rows;
}

}  // namespace

StepRunner::StepRunner(const StepRunnerParts& parts)
    : options_(parts.options),
      executor_(parts.executor),
      residency_(parts.residency),
      depth_(parts.depth),
      least_answers_(parts.least_answers),
      ranks_(parts.ranks),
      timing_(parts.timing),
      stats_(parts.stats),
      planner_(parts.planner),
      fcfs_(static_cast<uint32_t>(parts.options.step_rows), parts.ranks.n_parts),
      batcher_(parts.batcher != nullptr ? *parts.batcher : fcfs_),
      outputs_(parts.executor, parts.pool) {}

std::vector<Share> StepRunner::choose(const Sequences& open) {
  const auto start = std::chrono::steady_clock::now();
  goes_by_time_ = false;
  std::vector<Share> shares;
  if (timing_) {
    shares = choose(open, *timing_, look(open, *timing_));
    goes_by_time_ = !shares.empty() && reserved_all_;
  }
  if (shares.empty()) shares = choose(open, batcher_, look(open, batcher_));
  // Steps in flight will free pages or return tokens.
  if (shares.empty() && n_in_flight() > 0) {
    stats_.planning_s += seconds_since(start);
    return shares;
  }
  if (shares.empty() && residency_.tight()) {  // no running sequence could make room later
    residency_.loosen();
    shares = choose(open, batcher_, look(open, batcher_));
  }
  if (shares.empty()) {
    // The sequence that a policy puts first may lack room that older ones hold. The oldest gets all
    // of it.
    residency_.loosen();
    WorkViewBuilder oldest(residency_);
    oldest.add(*open.front());
    shares = choose(open, batcher_, oldest);
  }
  PANDO_CHECK(!shares.empty());
  stats_.planning_s += seconds_since(start);
  return shares;
}

// Many answers divide among the steps that may be in flight. If all had a part in the same step,
// all would wait for it, and there would be no work for another. A few advance together: each step
// reads all weights, which takes longer than to multiply a few rows by them.
size_t StepRunner::most_answering(const Sequences& open) const {
  if (depth_ == 1) return open.size();
  size_t n = 0;
  bool others_are_in_flight = false;
  for (const auto& sequence : open) {
    if (!is_answering(*sequence)) continue;
    ++n;
    others_are_in_flight |= sequence->awaits_token();
  }
  const size_t share = (n + depth_ - 1) / depth_;
  if (share >= least_answers_) return share;
  return others_are_in_flight ? 0 : n;
}

// Running sequences, and those that wait as far as the batcher wants to see them.
WorkViewBuilder StepRunner::look(const Sequences& open, Batcher& batcher) {
  const auto n_most = static_cast<size_t>(options_.max_running);
  const auto n_running = static_cast<size_t>(
      std::ranges::count_if(open, [](const auto& sequence) { return sequence->running; }));
  const Sight sight = batcher.sight({.n_running = n_running, .waiting = [&] {
                                       std::vector<WaitingPrompt> waiting;
                                       for (const auto& sequence : open)
                                         if (!sequence->running && waiting.size() < n_most)
                                           waiting.push_back(sequence->as_waiting());
                                       return waiting;
                                     }});
  WorkViewBuilder builder(residency_);
  builder.set_ranks(ranks_, n_in_flight());
  const size_t n_starts = residency_.tight() ? 0 : n_most - n_running;
  const auto generates = [](const auto& sequence) { return sequence->max_tokens > 1; };
  const auto n_generating = static_cast<size_t>(std::ranges::count_if(
      open, [&](const auto& sequence) { return sequence->running && generates(sequence); }));
  const size_t most_generating = residency_.most_generating();
  size_t n_generators = most_generating - std::min(most_generating, n_generating);  // may start
  builder.set_starts(
      static_cast<uint32_t>(sight.any_order ? std::min(n_starts, n_generators) : n_starts));
  size_t n_answering = most_answering(open);
  std::unordered_set<const Node*> answering;
  size_t n_left = std::min(sight.any_order ? open.size() : n_starts, sight.n_waiting);
  if (sight.any_order) builder.reserve(open.size());
  for (const auto& sequence : open) {
    if (sequence->done || sequence->awaits_token()) continue;
    if (depth_ > 1 && is_answering(*sequence) && !answering.contains(sequence->tip)) {
      if (n_answering == 0) continue;
      --n_answering;
      answering.insert(sequence->tip);  // equal answers read the same row
    }
    if (!sequence->running) {
      if (n_left == 0) continue;
      if (builder.n_rows() >= sight.n_rows && !builder.goes_along(*sequence)) continue;
      if (!sight.any_order) {
        if (generates(sequence) && n_generators == 0) continue;
        n_generators -= generates(sequence) ? 1 : 0;
        --n_left;
      }
    }
    builder.add(*sequence);
    if (!sight.times) continue;
    PANDO_CHECK(timing_ != nullptr);  // only timing_ sets `times` in its sight
    builder.add_times(*sequence);
    timing_->update(sequence->scheduled, sequence->tip->end(), residency_.n_ready(*sequence));
  }
  return builder;
}

std::vector<Share> StepRunner::choose(const Sequences& open, Batcher& batcher,
                                      const WorkViewBuilder& work) {
  std::vector<ScheduledRequest> requests;
  if (&batcher == timing_)
    for (uint32_t item = 0; item < work.view().items.size(); ++item)
      requests.push_back(work.sequence(item).scheduled);
  const std::vector<Advance> advances = batcher.choose(work.view(), requests);
  std::vector<Share> shares;
  for (const Advance& advance : advances) {
    Sequence& sequence = work.sequence(advance.item);
    if (!sequence.running && residency_.tight()) continue;
    Share share{&sequence, advance.n_rows, advance.n_again, /*all_again=*/true,
                work.view().items[advance.item].decoding};
    if (!residency_.reserve(share, shares, open)) continue;
    if (share.n_rows > 0 || has_rows(wanted_output(share))) shares.push_back(share);
  }
  reserved_all_ = shares.size() == advances.size();
  return shares;
}

// The rows of this step whose logits the sequence wants.
WantedOutput StepRunner::wanted_output(const Share& share) const {
  const Sequence& sequence = *share.sequence;
  const uint32_t first_row = residency_.first_row(sequence);
  // If the step has no room for all rows to compute again, the next step begins with the rest.
  const uint32_t end =
      share.all_again ? path_count(sequence.tip, &Node::n_issued) : first_row + share.n_again;
  return {sequence.tip, std::min(sequence.next_wanted(), end), end,
          sequence.request->request.isolation_key, first_row};
}

void StepRunner::submit(std::vector<Share> shares, std::chrono::steady_clock::time_point begin) {
  const auto start = std::chrono::steady_clock::now();
  SubmittedStep step{.begin = begin};
  for (const Share& share : shares) {
    const WantedOutput want = wanted_output(share);
    if (!has_rows(want)) continue;
    step.wanted.push_back(want);
    step.sequences.push_back(share.sequence);
  }
  PlannedStep planned = planner_.plan(residency_.cache(), step.wanted);
  const StepRows rows = rows_of(planned, shares);
  step.shares = std::move(shares);
  step.output_of = std::move(planned.output_of);
  step.n_outputs = static_cast<uint32_t>(planned.plan.outputs.size());
  planned.plan.hidden_only = hidden_only(planned.plan, step);
  if (goes_by_time_) step.timed = timing_->chosen();
  in_flight_.push_back(std::move(step));
  stats_.planning_s += seconds_since(start);
  try {
    executor_.submit(std::move(planned.plan));
  } catch (...) {
    in_flight_.pop_back();
    throw;
  }
  count(rows);
  residency_.submit();
  const SubmittedStep& submitted = in_flight_.back();
  for (const Share& share : submitted.shares) ++share.sequence->n_in_flight;
  for (size_t i = 0; i < submitted.wanted.size(); ++i)
    submitted.sequences[i]->n_asked += submitted.wanted[i].end - submitted.wanted[i].begin;
}

SubmittedStep StepRunner::next() {
  SubmittedStep step = std::move(in_flight_.front());
  in_flight_.pop_front();
  for (const Share& share : step.shares) --share.sequence->n_in_flight;
  for (size_t i = 0; i < step.wanted.size(); ++i)
    step.sequences[i]->n_asked -= step.wanted[i].end - step.wanted[i].begin;
  return step;
}

void StepRunner::finish(const SubmittedStep& step, const Sequences& open, const Take& take) {
  try {
    executor_.finish();
  } catch (...) {
    abort_all(open);
    throw;
  }
  residency_.commit();
  std::vector<std::vector<ReadRow>> read =
      outputs_.read(step.output_of, step.n_outputs, step.wanted, step.sequences);
  for (size_t i = 0; i < step.sequences.size(); ++i)
    for (ReadRow& row : read[i]) take(*step.sequences[i], std::move(row));
}

StepRunner::StepRows StepRunner::rows_of(const PlannedStep& step,
                                         std::span<const Share> shares) const {
  uint64_t n_decode = 0;
  std::set<std::pair<const Node*, uint32_t>> cached_answers;  // next rows that are cached
  for (const Share& share : shares) {
    const Sequence& sequence = *share.sequence;
    if (share.decoding || sequence.forced.n_on_path > 0) n_decode += share.n_rows;
    if (share.n_again > 0 && share.all_again && !sequence.completion.tokens.empty() &&
        sequence.next_wanted() < path_count(sequence.tip, &Node::n_submitted))
      cached_answers.emplace(node_at(sequence.tip, sequence.next_wanted()), sequence.next_wanted());
  }
  n_decode += cached_answers.size();
  const uint64_t n_rows = step.plan.n_rows() - step.n_pads;
  PANDO_CHECK(n_rows >= n_decode && step.n_recomputed >= cached_answers.size());
  return {.decode = n_decode,
          .prefill = n_rows - n_decode,
          .recomputed = step.n_recomputed + residency_.cache().tree().n_issued_again(),
          .pad = step.n_pads};
}

void StepRunner::count(const StepRows& rows) {
  stats_.decode_rows += rows.decode;
  stats_.prefill_rows += rows.prefill;
  stats_.recomputed_rows += rows.recomputed;
  stats_.pad_rows += rows.pad;
  stats_.kv_bytes_peak = std::max<uint64_t>(stats_.kv_bytes_peak, kv_bytes());
}

size_t StepRunner::kv_bytes() const {
  const ExecutorFacts& facts = executor_.facts();
  const KvCache& cache = residency_.cache();
  return executor_.kv_bytes(residency_.pages().n_used()) +
         cache.windows().pool().n_used() * facts.window_page_bytes +
         cache.places().n_used() * facts.slot_bytes;
}

void StepRunner::abort() { residency_.abort(); }

void StepRunner::abort_all(const Sequences& open) {
  while (n_in_flight() > 0) next();
  residency_.abort_all(open);
}

void StepRunner::observe(const SubmittedStep& step) {
  if (!step.timed) return;
  const double seconds = seconds_since(step.begin);
  const double predicted = timing_->predicted_seconds(*step.timed);
  stats_.predicted_s += predicted;
  stats_.timed_s += seconds;
  stats_.prediction_error_s += std::abs(predicted - seconds);
  if (std::isfinite(step.timed->limit)) stats_.budget_s += step.timed->limit;
  timing_->observe(*step.timed, seconds);
}

}  // namespace pando
