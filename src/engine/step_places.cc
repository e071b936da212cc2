#include "engine/step_places.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/fault.h"
#include "engine/partings.h"
#include "engine/work_view.h"

namespace pando {
namespace {

// A place before the last token of a prompt serves requests with the same prompt, or a longer one.
// It is worth a slot if it saves this many rows.
constexpr uint32_t kWorthAPlace = 256;

// The last node that both paths have; a root where they have none.
const Node* common_node(const Node* a, const Node* b) {
  while (a != b) {
    if (a->is_root() || (!b->is_root() && b->start > a->start))
      b = b->parent;
    else if (b->is_root() || a->start > b->start)
      a = a->parent;
    else
      a = a->parent, b = b->parent;
    if (a->is_root() && b->is_root()) return a;
  }
  return a;
}

}  // namespace

uint32_t StepPlaces::first_row(const Sequence& sequence) const {
  if (!places_.any()) return sequence.next_wanted();
  const uint32_t n_cached = path_count(sequence.tip, &Node::n_submitted);
  const Place* place = places_.nearest(sequence.tip, std::min(n_cached, sequence.next_wanted()));
  return place == nullptr ? 0 : place->position;
}

void StepPlaces::hold_start(Sequence& sequence) {
  if (!places_.any()) return;
  const uint32_t from = first_row(sequence);
  Place* place = from == 0 ? nullptr : places_.find(sequence.tip, from);
  if (place == sequence.place) return;
  if (place != nullptr) places_.hold(*place);
  if (sequence.place != nullptr) places_.release(*sequence.place);
  sequence.place = place;
}

bool StepPlaces::reserve(Sequence& sequence, uint32_t to) {
  if (!places_.any()) return true;
  const uint32_t from = sequence.place == nullptr ? 0 : sequence.place->position;
  shares_.push_back({&sequence, from, to, nullptr, places_.n_added(), held_.size()});
  Share& share = shares_.back();
  if (share.from < to) {
    const bool goes_on =
        to < sequence.tip->end() || sequence.completion.tokens.size() + 1 < sequence.max_tokens;
    if (goes_on) share.end = places_.add(sequence.tip, to);
    if (share.end != nullptr) places_.hold(*share.end);
    if ((goes_on && share.end == nullptr) || !add_shared_ends(share)) {
      take_back();
      return false;
    }
    if (shares_tokens_) add_for_others(share);
  }
  return true;
}

void StepPlaces::add_for_others(const Share& share) {
  const Sequence& sequence = *share.sequence;
  add_partings(share);
  for (uint32_t position = (share.from / every_ + 1) * every_; position <= share.to;
       position += every_)
    add_kept(sequence.tip, position);
  const uint32_t last = static_cast<uint32_t>(sequence.prompt().size()) - 1;
  if (last <= share.from || last > share.to) return;
  const Place* before = places_.last(sequence.tip, last);
  if (last - (before == nullptr ? 0 : before->position) >= kWorthAPlace)
    add_kept(sequence.tip, last);
}

// Adds places where two sequences of this step both read the state at the end of a common node, as
// each computes rows in another child of it. False if no slot is left.
bool StepPlaces::add_shared_ends(const Share& share) {
  if (share.from >= share.sequence->tip->start) return true;  // all rows are in one node
  for (const Share& other : std::span(shares_).first(shares_.size() - 1)) {
    const Node* node = common_node(share.sequence->tip, other.sequence->tip);
    const uint32_t end = node->is_root() ? 0 : node->end();
    if (end <= share.from || end >= share.to || end < other.from || end >= other.to) continue;
    Place* place = places_.add(share.sequence->tip, end);
    if (place == nullptr) return false;
    if (std::ranges::find(held_, place) != held_.end()) continue;
    place->kept = true;
    held_.push_back(place);
    places_.hold(*place);  // it may be an old one
  }
  return true;
}

void StepPlaces::add_partings(const Share& share) {
  for (Node* node = share.sequence->tip; !node->is_root() && node->end() > share.from;
       node = node->parent)
    if (node->end() <= share.to && is_parting(*node)) add_kept(share.sequence->tip, node->end());
}

void StepPlaces::add_kept(Node* tip, uint32_t position) {
  Place* place = places_.add(tip, position);
  if (place != nullptr) place->kept = true;
}

void StepPlaces::take_back() {
  if (!places_.any()) return;
  give_back(shares_.back());
  shares_.pop_back();
}

void StepPlaces::give_back(const Share& share) {
  if (share.end != nullptr) places_.release(*share.end);
  for (; held_.size() > share.n_held_before; held_.pop_back()) places_.release(*held_.back());
  places_.take_back(share.n_added_before);
}

void StepPlaces::let_go(Sequence& sequence, bool keep) {
  if (sequence.place == nullptr) return;
  sequence.place->kept |= keep;
  places_.release(*sequence.place);
  sequence.place = nullptr;
}

// The old places are not needed any more: if the step fails, its sequences go on from earlier ones
// that were kept.
void StepPlaces::submit() {
  for (const Share& share : shares_) {
    if (share.end == nullptr) continue;
    if (fault_on(Fault::kCommitWithoutSwap) && share.sequence->place != nullptr)
      std::swap(share.end->slot, share.sequence->place->slot);
    if (share.sequence->place != nullptr) places_.release(*share.sequence->place);
    share.sequence->place = share.end;
  }
  for (Place* place : held_) places_.release(*place);
  held_.clear();
  shares_.clear();
}

void StepPlaces::abort() {
  for (; !shares_.empty(); shares_.pop_back()) give_back(shares_.back());
}

}  // namespace pando
