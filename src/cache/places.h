// Where on the paths of the tree the states of recurrent layers are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/state_layout.h"

namespace pando {

using kernel::SlotId;

struct Node;

// The states behind one position of a path. A path goes on from a place, and from nowhere else but
// its beginning. A place belongs to the node that has the token before it, so it moves with that
// token when a node is split.
struct Place {
  uint32_t position = 0;   // the state of tokens [0, position)
  SlotId slot = 0;         // fixed: each slot has one place
  uint32_t n_holders = 0;  // sequences that go on from here
  bool committed = false;  // the slot is written; else the step under way writes it
  bool kept = false;       // stays when nobody holds it, until its slot is needed
  bool used = false;       // a path has gone on from here
  uint64_t last_used = 0;  // when it was last added, held or released
  Node* node = nullptr;    // null while the slot is free
  Place* next = nullptr;   // the next one of the node, at a later position
};

// Knows which slots are free; the executor has their bytes. Allocates nothing after construction.
// One thread.
class Places {
 public:
  // n_slots: 0 for models without states.
  explicit Places(size_t n_slots);
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // False: the model has no states.
  bool any() const { return !all_.empty(); }

  // The place at exactly this position of the path, committed or not; null where there is none.
  Place* find(const Node* tip, uint32_t position) const;
  // The last committed place at or before a position; null: the path's beginning is nearer.
  Place* nearest(const Node* tip, uint32_t position) const;

  // The same, or one that the step under way writes.
  Place* last(const Node* tip, uint32_t position) const;

  // Makes a place that the step under way writes, or returns the one that is there. Where no slot
  // is free, takes that of the place that is kept, not held, and cheapest to lose: least rows to be
  // computed again, weighed by how long ago it was used. Null where there is no slot.
  Place* add(Node* tip, uint32_t position);
  void hold(Place& place);
  // A place that is not kept is gone when its last holder lets it go.
  void release(Place& place);

  // Places of the step under way, in the order of `add`.
  size_t n_added() const { return added_.size(); }
  // Takes back those from the nth on, which nobody holds.
  void take_back(size_t n);
  // Afterwards the slots of the step are written. Nobody needs those that are neither held nor
  // kept.
  void commit();
  // Nobody holds places of the step.
  void abort() { take_back(0); }

  // Followed by KvCache: a node was cut, or lost what is behind its first n_kept tokens.
  void on_split(Node& upper, Node& lower);
  void forget_after(Node& node, uint32_t n_kept);

  size_t n_slots() const { return all_.size(); }
  size_t n_used() const { return all_.size() - free_.size(); }
  size_t n_held() const;
  uint64_t n_evicted() const { return n_evicted_; }
  // Throws BugError where a count or a link is wrong; for tests.
  void check_invariants() const;

 private:
  Place* last(const Node* tip, uint32_t position, bool committed) const;
  double cost_of_losing(const Place& place) const;
  Place* take_slot();
  void free(Place& place);

  std::vector<Place> all_;     // [n_slots]
  std::vector<Place*> free_;   // the one that was freed last comes last
  std::vector<Place*> added_;  // by the step under way
  size_t next_compared_ = 0;   // where the next search for a place to evict begins
  uint64_t clock_ = 0;
  uint64_t n_evicted_ = 0;
};

}  // namespace pando
