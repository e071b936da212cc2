// Where sequences go on from in models with recurrent layers, and which places a step makes.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/places.h"
#include "engine/sequence.h"

namespace pando {

// A sequence that computes its rows [from, to) in a step needs a place at `from`, and leaves one at
// `to`. Other places are made where somebody will go on from them later, as far as there are slots:
// where paths part, every so many positions, before the last token of a prompt, and at the end of
// tokens that all isolation keys share. One thread.
class StepPlaces {
 public:
  // every: positions from one place to the next in what stays cached.
  StepPlaces(Places& places, uint32_t every) : places_(places), every_(every) {}

  // The first row that a sequence computes when it advances. Rows from there on that are cached are
  // computed again: those that it wants the outputs of, and those behind the last place before.
  uint32_t first_row(const Sequence& sequence) const;

  // Holds the place that the sequence goes on from.
  void hold_start(Sequence& sequence);
  // Makes the places for rows up to `to`. False where there is no slot: then it has made none.
  bool reserve(Sequence& sequence, uint32_t to);
  // Of the sequence that was reserved last.
  void take_back();
  // The sequence no longer goes on. keep: others may, later.
  void let_go(Sequence& sequence, bool keep);

  void commit();  // before the next call of reserve
  void abort();

 private:
  struct Share {
    Sequence* sequence;
    uint32_t from, to;
    Place* end;  // held; null where the sequence needs none
    size_t n_added_before, n_held_before;
  };
  bool add_shared_ends(const Share& share);
  void give_back(const Share& share);
  void add_partings(const Share& share);
  void add_kept(Node* tip, uint32_t position);

  Places& places_;
  uint32_t every_;
  std::vector<Share> shares_;  // of the step under way
  std::vector<Place*> held_;   // that several of them go on from within the step
};

}  // namespace pando
