// Which sequences a step advances, and the pages for it.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "engine/engine_loop.h"

namespace pando {
namespace {

// The next n_rows tokens of a path that no step has issued yet.
std::vector<Extent> next_extents(Node* tip, uint32_t n_rows) {
  std::vector<Node*> open;  // from the tip up
  for (Node* node = tip; !node->is_root() && node->n_issued < node->size(); node = node->parent)
    open.push_back(node);
  std::vector<Extent> extents;
  for (size_t i = open.size(); i-- > 0 && n_rows > 0;) {
    const uint32_t n = std::min(n_rows, open[i]->size() - open[i]->n_issued);
    extents.push_back({open[i], n});
    n_rows -= n;
  }
  return extents;
}

}  // namespace

// Running sequences, and those that wait as far as the step's budget can reach.
WorkViewBuilder EngineLoop::work_view() const {
  WorkViewBuilder builder;
  const Batching batching = planner_->batching();
  const uint64_t n_rows = batching.whole_prompts() ? batching.n_rows : options_.engine.step_rows;
  int n_slots = options_.engine.max_running;
  for (const auto& sequence : sequences_) n_slots -= sequence->running;
  builder.set_starts(static_cast<uint32_t>(n_slots));
  if (batching.is_static()) {
    const bool idle = n_slots == options_.engine.max_running;
    n_slots = idle ? static_cast<int>(batch_size()) : 0;
  }
  for (const auto& sequence : sequences_) {
    if (!sequence->running) {
      const bool budget_spent =
          builder.n_rows() >= n_rows && batching.order == Batching::Order::kArrival;
      if (memory_tight_ || n_slots == 0) continue;
      if (budget_spent && !builder.goes_along(*sequence)) continue;
      if (batching.order == Batching::Order::kArrival) --n_slots;
    }
    builder.add(*sequence);
  }
  return builder;
}

// How many of those that wait the planner starts together.
size_t EngineLoop::batch_size() const {
  std::vector<WaitingPrompt> waiting;
  for (const auto& sequence : sequences_)
    if (waiting.size() < static_cast<size_t>(options_.engine.max_running))
      waiting.push_back({computed_prompt(sequence->request->request),
                         static_cast<uint32_t>(longest(sequence->request->request)),
                         sequence->request->request.isolation_key});
  return planner_->batch_of(waiting, options_.page_len);
}

// All of them, since any may go first; whether it may start is for the packer.
WorkViewBuilder EngineLoop::timed_work_view() const {
  WorkViewBuilder builder;
  int n_slots = options_.engine.max_running;
  for (const auto& sequence : sequences_) {
    n_slots -= sequence->running;
    builder.add(*sequence);
    builder.add_times(*sequence);
    timing_->update(sequence->job, sequence->tip->end(),
                    path_count(sequence->tip, &Node::n_committed));
  }
  builder.set_starts(memory_tight_ ? 0 : static_cast<uint32_t>(n_slots));
  return builder;
}

std::vector<EngineLoop::Share> EngineLoop::reserve_timed_step() {
  const WorkViewBuilder work = timed_work_view();
  std::vector<Job> jobs;
  for (uint32_t item = 0; item < work.view().items.size(); ++item)
    jobs.push_back(work.sequence(item).job);
  PackedStep step = timing_->pack(work.view(), jobs);
  std::vector<Share> shares = reserve_all(work, step.advances);
  if (!shares.empty() && shares.size() == step.advances.size()) packed_ = std::move(step);
  return shares;
}

std::vector<EngineLoop::Share> EngineLoop::reserve_oldest() {
  memory_tight_ = false;
  WorkViewBuilder work;
  work.add(*sequences_.front());
  return reserve_step(work);
}

std::vector<EngineLoop::Share> EngineLoop::reserve_step(const WorkViewBuilder& work) {
  const Batching batching = planner_->batching();
  const std::vector<Advance> advances =
      batching.whole_prompts()
          ? schedule_whole(work.view(), batching)
          : schedule_fcfs(work.view(), static_cast<uint32_t>(options_.engine.step_rows));
  return reserve_all(work, advances);
}

std::vector<EngineLoop::Share> EngineLoop::reserve_all(const WorkViewBuilder& work,
                                                       std::span<const Advance> advances) {
  std::vector<Share> shares;
  for (const Advance& advance : advances) {
    Sequence& sequence = work.sequence(advance.item);
    if (!sequence.running && memory_tight_) continue;
    if (!reserve(sequence, advance.n_rows, shares)) {
      memory_tight_ = true;
      did_not_fit_ = sequence.running ? nullptr : &sequence;
      continue;
    }
    // What was cached when the step was scheduled may have been evicted since, until the lock.
    const Share share{&sequence, std::min(advance.n_again, n_cached_outputs(sequence))};
    const WantedOutput want = wanted_output(share);
    if (advance.n_rows > 0 || want.begin < want.end) shares.push_back(share);
    (work.view().items[advance.item].decoding ? stats_.decode_rows : stats_.prefill_rows) +=
        advance.n_rows;
  }
  return shares;
}

// Locks the path and takes pages for its next rows; younger sequences make room where they must.
bool EngineLoop::reserve(Sequence& sequence, uint32_t n_rows, std::span<const Share> shares) {
  const bool was_running = sequence.running;
  if (!was_running) {
    cache_.lock(sequence.tip);
    sequence.running = true;
  }
  const std::vector<Extent> extents = next_extents(sequence.tip, n_rows);
  for (;;) {
    if (cache_.reserve(extents)) return true;
    if (!preempt_for(sequence, shares)) break;
  }
  if (shares.empty()) {  // alone with its path: only duplicated page beginnings can be in the way
    cache_.compact(sequence.tip);
    if (cache_.reserve(extents)) return true;
  }
  if (!was_running) {
    cache_.unlock(sequence.tip);
    sequence.running = false;
  }
  return false;
}

// Takes the keys and values of one running sequence that is younger than this one and has no part
// in the step. Its tokens stay; it goes on later.
bool EngineLoop::preempt_for(const Sequence& sequence, std::span<const Share> shares) {
  std::vector<Sequence*> candidates;               // youngest first
  std::unordered_map<const Node*, uint32_t> n_on;  // how many of them run on a node
  for (size_t i = sequences_.size(); i-- > 0 && sequences_[i]->order > sequence.order;) {
    Sequence* other = sequences_[i].get();
    if (!other->running || std::ranges::count(shares, other, &Share::sequence) > 0) continue;
    candidates.push_back(other);
    for (const Node* node = other->tip; !node->is_root(); node = node->parent) ++n_on[node];
  }
  // If somebody else runs on all of it, its going makes no room.
  std::erase_if(candidates,
                [&](const Sequence* other) { return other->tip->n_locks > n_on.at(other->tip); });
  const auto victim = std::ranges::min_element(
      candidates, {}, [&](const Sequence* other) { return cost_of_preempting(*other); });
  if (victim == candidates.end()) return false;
  cache_.unlock((*victim)->tip);
  (*victim)->running = false;
  memory_tight_ = true;  // it would take from others what was taken from it
  did_not_fit_ = nullptr;
  ++stats_.preemptions;
  return true;
}

// Seconds, or rows where time is not predicted, that it takes from others later, for each token of
// room that it makes now; infinite where others must go as well before it makes any.
double EngineLoop::cost_of_preempting(const Sequence& sequence) const {
  const uint32_t n_cached = path_count(sequence.tip, &Node::n_committed);
  uint32_t n_shared = sequence.tip->end();
  for (const Node* node = sequence.tip; !node->is_root() && node->n_locks == 1; node = node->parent)
    n_shared = node->start;
  if (n_shared >= n_cached) return std::numeric_limits<double>::infinity();
  return timing_ ? timing_->seconds(n_cached, n_shared) / (n_cached - n_shared) : 1;
}

}  // namespace pando
