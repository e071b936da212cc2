// Places of models with recurrent layers: those that sequences continue from, and those that a step
// makes.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/places.h"
#include "engine/sequence.h"

namespace pando {

// A sequence that computes its rows [from, to) in a step needs a place at `from`, and gets one at
// `to` if it continues. If sequences share tokens, the step makes other places for later sequences,
// as far as there are state slots: where paths part, every `every` positions, before the last token
// of a prompt, and at the end of the tokens that all isolation keys share. One thread.
class StepPlaces {
 public:
  // every: positions from one place to the next on a path. shares_tokens: other sequences may go on
  // from a place.
  StepPlaces(Places& places, uint32_t every, bool shares_tokens)
      : places_(places), every_(every), shares_tokens_(shares_tokens) {}

  // The first row that a sequence computes when it advances. Cached rows from there on are computed
  // again. With recurrent layers that is the position of the last place at or before the first row
  // whose output the sequence wants and the end of the cached rows; 0 if there is no place.
  uint32_t first_row(const Sequence& sequence) const;

  // Holds the place that the sequence continues from.
  void hold_start(Sequence& sequence);
  // Makes the places for rows up to `to`. False: there is no state slot for a place that it needs,
  // and no place was made.
  bool reserve(Sequence& sequence, uint32_t to);
  // Undoes the last `reserve`.
  void take_back();
  // The sequence gives up its place. keep: the place stays for later sequences.
  void let_go(Sequence& sequence, bool keep);

  // The step is in flight from now on: its sequences go on from the places that it makes.
  void submit();
  void abort();

 private:
  struct Share {
    Sequence* sequence;
    uint32_t from, to;
    Place* end;  // held; null: the sequence needs none
    size_t n_added_before, n_held_before;
  };
  bool add_shared_ends(const Share& share);
  void give_back(const Share& share);
  void add_for_others(const Share& share);
  void add_partings(const Share& share);
  void add_kept(Node* tip, uint32_t position);

  Places& places_;
  uint32_t every_;
  bool shares_tokens_;
  std::vector<Share> shares_;  // of the current step
  std::vector<Place*> held_;   // places inside the step that several shares continue from
};

}  // namespace pando
