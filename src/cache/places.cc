#include "cache/places.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/fault.h"
#include "cache/prefix_tree.h"

namespace pando {
namespace {

// The node that has the token before a position of the path.
const Node* node_before(const Node* tip, uint32_t position) {
  while (!tip->is_root() && tip->start >= position) tip = tip->parent;
  return tip;
}

}  // namespace

Places::Places(size_t n_slots) : all_(n_slots) {
  free_.reserve(n_slots);
  added_.reserve(n_slots);
  for (size_t i = n_slots; i-- > 0;) {
    all_[i].slot = static_cast<StateSlot>(i);
    free_.push_back(&all_[i]);
  }
}

Place* Places::find(const Node* tip, uint32_t position) const {
  for (Place* place = node_before(tip, position)->places; place != nullptr; place = place->next)
    if (place->position == position) return place;
  return nullptr;
}

Place* Places::nearest(const Node* tip, uint32_t position) const {
  return last(tip, position, /*submitted=*/true);
}

Place* Places::last(const Node* tip, uint32_t position) const {
  return last(tip, position, /*submitted=*/false);
}

Place* Places::last(const Node* tip, uint32_t position, bool submitted) const {
  for (const Node* node = node_before(tip, position); !node->is_root(); node = node->parent) {
    Place* last = nullptr;
    const uint32_t most = fault_on(Fault::kPlaceTooFar) ? position + 1 : position;
    for (Place* place = node->places; place != nullptr && place->position <= most;
         place = place->next)
      if (place->submitted || !submitted) last = place;
    if (last != nullptr) return last;
  }
  return nullptr;
}

Place* Places::add(Node* tip, uint32_t position) {
  if (Place* there = find(tip, position)) return there;
  Place* place = take_slot();
  if (place == nullptr) return nullptr;
  Node* node = const_cast<Node*>(node_before(tip, position));
  PANDO_CHECK(!node->is_root() && position <= node->end());
  Place** link = &node->places;
  while (*link != nullptr && (*link)->position < position) link = &(*link)->next;
  *place = {.position = position,
            .slot = place->slot,
            .step = n_submitted_,
            .last_used = ++clock_,
            .node = node,
            .next = *link};
  *link = place;
  added_.push_back(place);
  return place;
}

// Rows that a path has to recompute without the place, times the likelihood that a path continues
// from it. A place that was used recently is likely used again. No path may ever continue from a
// place that no path has used yet: most places in the middle of prompts, and the ends of answers.
// The factor of a tenth cost least on two Mooncake traces (`pando bench places`).
double Places::cost_of_losing(const Place& place) const {
  const Place* before = nearest(place.node, place.position - 1);
  const uint32_t n_rows = place.position - (before == nullptr ? 0 : before->position);
  const double weight = place.used ? 1 : 0.1;
  return weight * n_rows / static_cast<double>(clock_ - place.last_used + 1);
}

Place* Places::take_slot() {
  if (free_.empty()) {
    constexpr int kCompared = 256;  // enough to choose among, and few enough to look at
    Place* cheapest = nullptr;
    double least = 0;
    int n_compared = 0;
    for (size_t i = 0; i < all_.size() && n_compared < kCompared; ++i) {
      Place& place = all_[next_compared_++ % all_.size()];
      if (!place.submitted || (place.n_holders > 0 && !fault_on(Fault::kEvictHeldPlace))) continue;
      ++n_compared;
      const double cost = cost_of_losing(place);
      if (cheapest != nullptr && cost >= least) continue;
      cheapest = &place;
      least = cost;
    }
    if (cheapest == nullptr) return nullptr;
    if (fault_on(Fault::kEvictHeldPlace)) cheapest->n_holders = 0;
    free(*cheapest);
    ++n_evicted_;
  }
  Place* place = free_.back();
  free_.pop_back();
  if (fault_on(Fault::kFlightSlotTaken))
    for (Place& other : all_)
      if (is_in_flight(other)) std::swap(other.slot, place->slot);
  return place;
}

void Places::free(Place& place) {
  PANDO_CHECK(place.node != nullptr && place.n_holders == 0);
  Place** link = &place.node->places;
  while (*link != &place) link = &(*link)->next;
  *link = place.next;
  place = {.slot = place.slot};
  free_.push_back(&place);
}

void Places::hold(Place& place) {
  place.used |= place.submitted;
  ++place.n_holders;
  place.last_used = ++clock_;
}

void Places::release(Place& place) {
  if (fault_on(Fault::kEvictHeldPlace) && place.n_holders == 0) return;
  PANDO_CHECK(place.n_holders > 0);
  place.last_used = ++clock_;
  if (--place.n_holders == 0 && place.submitted && !place.kept) free(place);
}

void Places::take_back(size_t n) {
  for (; added_.size() > n; added_.pop_back()) free(*added_.back());
}

void Places::submit() {
  for (Place* place : added_) {
    place->submitted = true;
    if (place->n_holders == 0 && !place->kept) free(*place);
  }
  added_.clear();
  ++n_submitted_;
}

void Places::abort_all() {
  abort();
  for (Place& place : all_)
    if (is_in_flight(place)) free(place);
  n_committed_ = n_submitted_;
}

void Places::on_split(Node& upper, Node& lower) {
  Place** link = &lower.places;
  upper.places = lower.places;
  Place** last = &upper.places;
  const uint32_t cut = upper.end() - (fault_on(Fault::kPlaceBeforeSplit) ? 1 : 0);
  while (*last != nullptr && (*last)->position <= cut) {
    (*last)->node = &upper;
    last = &(*last)->next;
  }
  *link = *last;
  *last = nullptr;
}

void Places::forget_after(Node& node, uint32_t n_kept) {
  for (Place* place = node.places; place != nullptr;) {
    Place* next = place->next;
    if (place->submitted && place->position > node.start + n_kept) free(*place);
    place = next;
  }
}

size_t Places::n_held() const {
  return static_cast<size_t>(
      std::ranges::count_if(all_, [](const Place& place) { return place.n_holders > 0; }));
}

void Places::check_invariants() const {
  PANDO_CHECK(std::ranges::count(all_, nullptr, &Place::node) == std::ssize(free_));
  for (const Place& place : all_) {
    if (place.node == nullptr) continue;
    const Node& node = *place.node;
    PANDO_CHECK(node.start < place.position && place.position <= node.end());
    const uint32_t n_there = !place.submitted      ? node.n_issued
                             : is_in_flight(place) ? node.n_submitted
                                                   : node.n_committed;
    PANDO_CHECK(place.position - node.start <= n_there);
    PANDO_CHECK(place.n_holders > 0 || place.kept || !place.submitted);
    PANDO_CHECK(place.next == nullptr || place.next->position > place.position);
    size_t n_found = 0;
    for (const Place* other = node.places; other != nullptr; other = other->next)
      n_found += other == &place;
    PANDO_CHECK(n_found == 1);
  }
}

}  // namespace pando
