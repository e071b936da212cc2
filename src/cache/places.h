// The positions of the tree's paths at which the states of recurrent layers are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "contract/pages.h"

namespace pando {

struct Node;

// A position of a path, and the state slot with the states there. A path continues only from a
// place or from its beginning. A place belongs to the node that has the token before it. When that
// node is split, the place stays with the token.
struct Place {
  uint32_t position = 0;   // the state of tokens [0, position)
  StateSlot slot = 0;      // fixed: each slot has one place
  uint32_t n_holders = 0;  // sequences that go on from here
  bool submitted = false;  // the slot is written, or a step in flight writes it; false: the step
                           // that is being put together writes it
  bool kept = false;       // stays when no sequence holds it, until its slot is needed
  bool used = false;       // a path has continued from here
  uint64_t step = 0;       // number of the step that writes it
  uint64_t last_used = 0;  // when it was last added, held or released
  Node* node = nullptr;    // null while the slot is free
  Place* next = nullptr;   // the next one of the node, at a later position
};

// Knows which state slots are free. The executor has their bytes. Allocates nothing after
// construction. One thread.
//
// An executor carries out steps in the order of submission. So a path may continue from a place
// that a step in flight writes, and a slot may be taken while steps in flight still read or write
// it. If a step fails, the places of all steps in flight are lost.
class Places {
 public:
  // n_slots: 0 for models without states.
  explicit Places(size_t n_slots);
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // False: the model has no states.
  bool any() const { return !all_.empty(); }

  // The place at exactly this position of the path, submitted or not. Null: there is none.
  Place* find(const Node* tip, uint32_t position) const;
  // The last submitted place at or before a position. Null: there is none.
  Place* nearest(const Node* tip, uint32_t position) const;

  // The last place at or before a position, submitted or not.
  Place* last(const Node* tip, uint32_t position) const;

  // Returns the place at this position, or makes one that the current step, the one that is being
  // put together, writes. If no slot is free, takes the slot of the submitted place that is
  // cheapest to lose (cost_of_losing) and that no sequence holds. Null: there is none.
  Place* add(Node* tip, uint32_t position);
  void hold(Place& place);
  // Frees the slot if no sequence holds the place any more and it is not kept.
  void release(Place& place);

  // Number of places that the current step has added.
  size_t n_added() const { return added_.size(); }
  // Frees the added places from number n on, in the order of `add`. They must not be held.
  void take_back(size_t n);
  // The current step is in flight from now on. Frees those of its places that are neither held nor
  // kept.
  void submit();
  // The step that was submitted first is over.
  void commit() { ++n_committed_; }
  // Frees all places of the current step; abort_all: of steps in flight, too. They must not be
  // held.
  void abort() { take_back(0); }
  void abort_all();

  // KvCache calls these when a node was cut, or lost the tokens after its first n_kept.
  void on_split(Node& upper, Node& lower);
  void forget_after(Node& node, uint32_t n_kept);

  // True if a step in flight writes it.
  bool is_in_flight(const Place& place) const {
    return place.submitted && place.step >= n_committed_;
  }
  size_t n_slots() const { return all_.size(); }
  size_t n_used() const { return all_.size() - free_.size(); }
  size_t n_held() const;
  uint64_t n_evicted() const { return n_evicted_; }
  // Throws BugError if a count or a link is wrong; for tests.
  void check_invariants() const;

 private:
  Place* last(const Node* tip, uint32_t position, bool submitted) const;
  double cost_of_losing(const Place& place) const;
  Place* take_slot();
  void free(Place& place);

  std::vector<Place> all_;                      // [n_slots]
  std::vector<Place*> free_;                    // the place that was freed last comes last
  std::vector<Place*> added_;                   // by the current step
  size_t next_compared_ = 0;                    // the next search for one to evict begins here
  uint64_t n_submitted_ = 0, n_committed_ = 0;  // steps
  uint64_t clock_ = 0;
  uint64_t n_evicted_ = 0;
};

}  // namespace pando
