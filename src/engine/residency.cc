#include "engine/residency.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/fault.h"
#include "engine/work_view.h"

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

void Residency::enter(Sequence& sequence, uint64_t isolation_key, std::span<const Token> prompt,
                      uint32_t n_public) {
  sequence.tip = cache_.acquire(isolation_key, prompt, n_public);
}

void Residency::leave(Sequence& sequence, bool keep) {
  // A waiting sequence frees no pages when it leaves.
  if (sequence.running || &sequence == did_not_fit_) tight_ = false;
  if (&sequence == did_not_fit_) did_not_fit_ = nullptr;
  if (sequence.tip == nullptr) return;  // nothing yet, or nothing any more
  let_go(sequence, keep);
  if (sequence.running) cache_.unlock(sequence.tip);
  sequence.running = false;
  if (keep) {
    cache_.release(sequence.tip);
  } else {
    cache_.release_and_drop(sequence.tip);
  }
  sequence.tip = nullptr;
}

// The sequence gives up the place and the window that it goes on from.
void Residency::let_go(Sequence& sequence, bool keep) {
  places_.let_go(sequence, keep);
  windows_.let_go(sequence);
}

uint32_t Residency::first_row(const Sequence& sequence) const {
  if (!cache_.windows().any()) return places_.first_row(sequence);
  const uint32_t n_cached = path_count(sequence.tip, &Node::n_submitted);
  return windows_.first_row(sequence.tip, std::min(n_cached, sequence.next_wanted()));
}

uint32_t Residency::n_again(const Sequence& sequence) const {
  const uint32_t n_cached = path_count(sequence.tip, &Node::n_submitted);
  return n_cached - std::min(n_cached, first_row(sequence));
}

uint32_t Residency::n_ready(const Sequence& sequence) const {
  const uint32_t n_cached = path_count(sequence.tip, &Node::n_submitted);
  return cache_.may_recompute() ? std::min(n_cached, first_row(sequence)) : n_cached;
}

size_t Residency::most_generating() const {
  const Places& places = cache_.places();
  return places.any() ? std::max<size_t>(places.n_slots() / 3, 1)
                      : std::numeric_limits<size_t>::max();
}

bool Residency::reserve(Share& share, std::span<const Share> step, const Sequences& open) {
  Sequence& sequence = *share.sequence;
  if (reserve_room(share, step, open)) return true;
  tight_ = true;
  did_not_fit_ = sequence.running ? nullptr : &sequence;
  return false;
}

bool Residency::reserve_room(Share& share, std::span<const Share> step, const Sequences& open) {
  Sequence& sequence = *share.sequence;
  const bool was_running = sequence.running;
  if (!was_running) {
    cache_.lock(sequence.tip);
    sequence.running = true;
  }
  places_.hold_start(sequence);
  const Share chosen = share;
  hold_and_cut(chosen, share);
  for (;;) {
    const Lack lack = take_room(share);
    if (lack == Lack::kNothing) return true;
    if (!preempt_for(sequence, lack, step, open)) break;
  }
  // Alone with its path: only duplicated page beginnings can be in the way.
  if (step.empty() && !cache_.any_in_flight()) {
    if (cache_.windows().any() && &sequence == open.front().get()) {
      // With nothing beside the path, no page of it is copied, and none that it holds is there
      // twice. Then the least memory is enough.
      windows_.let_go(sequence);
      cache_.evict_all();
    }
    cache_.compact(sequence.tip);
    hold_and_cut(chosen, share);
    if (take_room(share) == Lack::kNothing) return true;
  }
  if (!was_running) {
    let_go(sequence, /*keep=*/true);
    cache_.unlock(sequence.tip);
    sequence.running = false;
  }
  return false;
}

// Since the step was chosen, cached rows may have been evicted before the path was locked, and a
// place or a window before it was held.
void Residency::hold_and_cut(const Share& chosen, Share& share) {
  Sequence& sequence = *chosen.sequence;
  const uint32_t from = first_row(sequence);
  windows_.hold_start(sequence, from);
  const uint32_t n_all_again = n_again(sequence);
  uint32_t n_chosen = chosen.n_again + chosen.n_rows;
  if (cache_.windows().any()) n_chosen = std::min(n_chosen, windows_.most_rows(from));
  share.n_again = std::min(cache_.may_recompute() ? n_chosen : chosen.n_again, n_all_again);
  if (cache_.may_recompute())
    share.n_rows =
        share.n_again < n_all_again ? 0 : std::min(chosen.n_rows, n_chosen - share.n_again);
  share.all_again = share.n_again == n_all_again;
}

// Takes all or nothing. Returns the resource that is short.
Residency::Lack Residency::take_room(const Share& share) {
  Sequence& sequence = *share.sequence;
  const uint32_t to = share.all_again ? path_count(sequence.tip, &Node::n_issued) + share.n_rows
                                      : first_row(sequence) + share.n_again;
  if (!places_.reserve(sequence, to)) return Lack::kSlots;
  bool has_windows = false;
  const auto take_back = [&] {
    if (has_windows) windows_.take_back(sequence);
    places_.take_back();
  };
  try {
    has_windows = windows_.reserve(sequence, to);
    if (has_windows && cache_.reserve(next_extents(sequence.tip, share.n_rows))) {
      windows_.hold_reserved(sequence);
      return Lack::kNothing;
    }
  } catch (...) {
    take_back();
    throw;
  }
  take_back();
  return Lack::kPages;
}

void Residency::submit() {
  windows_.submit();  // its writes belong to the step
  cache_.submit();
  places_.submit();
}

void Residency::abort() {
  places_.abort();
  windows_.abort();
  cache_.abort();
}

void Residency::abort_all(const Sequences& open) {
  places_.abort();
  windows_.abort();
  const auto is_lost = [&](const PathPage& held) {
    return cache_.windows().is_in_flight(held.page);
  };
  for (const auto& sequence : open) {
    if (sequence->place != nullptr && cache_.places().is_in_flight(*sequence->place))
      places_.let_go(*sequence, /*keep=*/false);
    if (std::ranges::any_of(sequence->window.pages, is_lost)) windows_.let_go(*sequence);
  }
  cache_.abort_all();
}

// Stops one running sequence that is younger than this one and has no part in the step or in one in
// flight, so that its pages and the slot of its place can be taken. Its tokens stay; it goes on
// later.
bool Residency::preempt_for(const Sequence& sequence, Lack lack, std::span<const Share> step,
                            const Sequences& open) {
  std::vector<Sequence*> candidates;                // youngest first
  std::unordered_map<const Node*, uint32_t> n_on;   // how many of them run on a node
  std::unordered_map<const Place*, uint32_t> n_at;  // how many of them go on from a place
  for (size_t i = open.size(); i-- > 0 && open[i]->order > sequence.order;) {
    Sequence* other = open[i].get();
    if (!other->running || other->n_in_flight > 0) continue;
    if (std::ranges::count(step, other, &Share::sequence) > 0) continue;
    candidates.push_back(other);
    for (const Node* node = other->tip; !node->is_root(); node = node->parent) ++n_on[node];
    ++n_at[other->place];
  }
  // Stopping a sequence frees no pages if others that stay run on all of its path, or if none of
  // them is where room is short, and no slot if others go on from its place. The pages of its
  // window may still be freed.
  std::erase_if(candidates, [&](const Sequence* other) {
    if (lack == Lack::kPages)
      return (other->tip->n_locks > n_on.at(other->tip) && other->window.pages.empty()) ||
             !cache_.has_pages_where_short(other->tip);
    return other->place == nullptr || other->place->n_holders > n_at.at(other->place);
  });
  const auto victim = std::ranges::min_element(
      candidates, {}, [&](const Sequence* other) { return cost_of_preempting(*other); });
  if (victim == candidates.end()) return false;
  let_go(**victim, /*keep=*/true);
  cache_.unlock((*victim)->tip);
  (*victim)->running = false;
  if (fault_on(Fault::kForcedLost)) (*victim)->forced = {};
  tight_ = true;  // it would take from others what was taken from it
  did_not_fit_ = nullptr;
  ++n_preemptions_;
  return true;
}

// Seconds, or rows where time is not predicted, that it takes from others later, for each token of
// room that it makes now; infinite where others must go as well before it makes any.
double Residency::cost_of_preempting(const Sequence& sequence) const {
  const uint32_t n_cached = path_count(sequence.tip, &Node::n_committed);
  uint32_t n_shared = sequence.tip->end();
  for (const Node* node = sequence.tip; !node->is_root() && node->n_locks == 1; node = node->parent)
    n_shared = node->start;
  if (n_shared >= n_cached) return std::numeric_limits<double>::infinity();
  return timing_ ? timing_->seconds(n_cached, n_shared) / (n_cached - n_shared) : 1;
}

}  // namespace pando
