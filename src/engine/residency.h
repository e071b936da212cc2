// What is resident: the paths of open sequences in the tree, and the pages behind them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cache/kv_cache.h"
#include "cache/page_pool.h"
#include "engine/sequence.h"
#include "engine/step_timing.h"

namespace pando {

using Sequences = std::vector<std::unique_ptr<Sequence>>;  // in order of arrival

// What one step does for a sequence.
struct Share {
  Sequence* sequence;
  uint32_t n_rows;   // new rows, beyond those that earlier shares compute
  uint32_t n_again;  // cached rows that it computes again
  bool decoding;     // one row from its next token
};

// Owns the tree, and the pool with its page counts. One thread.
class Residency {
 public:
  // timing: predicts what a preemption costs, and outlives this; null: the youngest goes.
  Residency(size_t n_pages, int page_len, const StepTiming* timing)
      : pages_(n_pages), cache_(pages_, page_len), timing_(timing) {}

  // Inserts a prompt and pins its path for the sequence. All isolation keys share its first
  // n_public tokens. Throws std::bad_alloc; then nothing is pinned.
  void enter(Sequence& sequence, uint64_t isolation_key, std::span<const Token> prompt,
             uint32_t n_public);
  // Gives back what an open sequence holds. keep: what it computed stays cached.
  void leave(Sequence& sequence, bool keep);

  // Locks the path and takes pages for its next n_rows rows. Where pages are short, preempts
  // younger sequences of `open` that have no part in the step. False where there is still no room:
  // then no waiting sequence starts until a running one ends.
  bool reserve(Sequence& sequence, uint32_t n_rows, std::span<const Share> step,
               const Sequences& open);
  // True after a reservation failed or preempted a sequence, until a running sequence ends or
  // loosen() is called.
  bool tight() const { return tight_; }
  void loosen() { tight_ = false; }

  KvCache& cache() { return cache_; }
  const KvCache& cache() const { return cache_; }
  const PagePool& pages() const { return pages_; }
  uint64_t n_preemptions() const { return n_preemptions_; }

 private:
  bool reserve_pages(Sequence& sequence, uint32_t n_rows, std::span<const Share> step,
                     const Sequences& open);
  bool preempt_for(const Sequence& sequence, std::span<const Share> step, const Sequences& open);
  double cost_of_preempting(const Sequence& sequence) const;

  PagePool pages_;
  KvCache cache_;
  const StepTiming* timing_;
  bool tight_ = false;
  // The waiting sequence whose start failed, if none was preempted since.
  const Sequence* did_not_fit_ = nullptr;
  uint64_t n_preemptions_ = 0;
};

}  // namespace pando
