// Resident paths: the paths of open sequences in the tree, and the pages behind them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cache/kv_cache.h"
#include "cache/page_pool.h"
#include "engine/sequence.h"
#include "engine/step_places.h"
#include "engine/step_timing.h"
#include "engine/step_windows.h"

namespace pando {

using Sequences = std::vector<std::unique_ptr<Sequence>>;  // in order of arrival

// Sizes of the pools, from the executor and the options.
struct ResidencySizes {
  size_t n_pages;
  int page_len;          // positions
  uint32_t n_parts = 1;  // of the pages
  uint32_t part_positions = 0;
  size_t n_slots = 0;         // of states; 0 for models without recurrent layers
  WindowSizes windows = {};   // 0 if no layer has a window
  uint32_t place_every = 1;   // positions
  bool shares_tokens = true;  // the planner lets sequences share tokens
};

// Work that one step does for a sequence.
struct Share {
  Sequence* sequence;
  uint32_t n_rows;   // new rows, beyond those that earlier shares compute
  uint32_t n_again;  // cached rows that it computes again
  bool all_again;    // n_again covers all of them; only then it computes new rows
  bool decoding;     // one row from its next token
};

// Owns the tree, the pool with its page counts, the places and the windows. One thread.
class Residency {
 public:
  // timing: predicts the cost of a preemption, and outlives this; null: preempts the youngest
  // sequence.
  Residency(const ResidencySizes& sizes, const StepTiming* timing)
      : pages_(sizes.n_pages, sizes.n_parts),
        cache_(pages_, sizes.page_len, sizes.n_slots, sizes.windows,
               sizes.part_positions / static_cast<uint32_t>(sizes.page_len)),
        places_(cache_.places(), sizes.place_every, sizes.shares_tokens),
        windows_(cache_, sizes.place_every),
        timing_(timing) {}

  // Inserts a prompt and pins its path for the sequence. All isolation keys share its first
  // n_public tokens. Throws std::bad_alloc; then nothing is pinned.
  void enter(Sequence& sequence, uint64_t isolation_key, std::span<const Token> prompt,
             uint32_t n_public);
  // Frees the resources of an open sequence. keep: its keys and values stay cached.
  void leave(Sequence& sequence, bool keep);

  // The first row that the sequence computes when it advances (StepPlaces::first_row,
  // StepWindows::first_row), and how many rows from there on are cached.
  uint32_t first_row(const Sequence& sequence) const;
  uint32_t n_again(const Sequence& sequence) const;
  // Tokens of its path that need no computing before the next ones.
  uint32_t n_ready(const Sequence& sequence) const;

  // Sequences that may generate at a time: each holds a place and makes another in every step. A
  // third of the state slots is left for places that others will continue from.
  size_t most_generating() const;

  // Locks the path and takes pages and state slots for the rows of `share`. If more rows have to be
  // computed again than when the share was chosen, it is cut. If room is short, preempts younger
  // sequences of `open` that have no part in this step or in one in flight. False if there is still
  // no room: no waiting sequence starts then until a running one ends.
  bool reserve(Share& share, std::span<const Share> step, const Sequences& open);
  // As in KvCache. abort_all: sequences of `open` give up places and windows that steps in flight
  // write.
  void submit();
  void commit() { cache_.commit(); }
  void abort();
  void abort_all(const Sequences& open);
  // True after a reservation failed or preempted a sequence, until a running sequence ends or
  // loosen() is called.
  bool tight() const { return tight_; }
  void loosen() { tight_ = false; }

  KvCache& cache() { return cache_; }
  const KvCache& cache() const { return cache_; }
  PagePool& pages() { return pages_; }
  const PagePool& pages() const { return pages_; }
  uint64_t n_preemptions() const { return n_preemptions_; }

 private:
  enum class Lack { kNothing, kSlots, kPages };

  bool reserve_room(Share& share, std::span<const Share> step, const Sequences& open);
  Lack take_room(const Share& share);
  bool preempt_for(const Sequence& sequence, Lack lack, std::span<const Share> step,
                   const Sequences& open);
  double cost_of_preempting(const Sequence& sequence) const;
  void let_go(Sequence& sequence, bool keep);
  void hold_and_cut(const Share& chosen, Share& share);

  PagePool pages_;
  KvCache cache_;
  StepPlaces places_;
  StepWindows windows_;
  const StepTiming* timing_;
  bool tight_ = false;
  // The waiting sequence whose start failed, if none was preempted since.
  const Sequence* did_not_fit_ = nullptr;
  uint64_t n_preemptions_ = 0;
};

}  // namespace pando
