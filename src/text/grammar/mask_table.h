// Masks of the tokens that a grammar allows, for one vocabulary; all answers share computed masks.
#pragma once

#include <bitset>
#include <memory>
#include <span>

#include "text/grammar/chart.h"
#include "text/grammar/mask_store.h"

namespace pando::grammar {

// Any thread; shared by the matchers of one grammar.
class MaskTable {
 public:
  MaskTable(GrammarPtr grammar, MaskStorePtr store);

  const GrammarPtr& grammar() const { return grammar_; }
  const Vocabulary& vocabulary() const { return store_->vocabulary(); }

  // Sets the bits of the tokens that may come behind `at`, which is the last frontier of `chart`.
  // All else of `bits` [n_mask_words] is left as it is. The chart is as before, but for its
  // overflow.
  void add_tokens(Chart& chart, const Chart::Frontier& at, std::span<uint64_t> bits) const;

 private:
  std::shared_ptr<const StateMask> of_state(uint32_t state) const;
  std::shared_ptr<const StateMask> make(uint32_t state, const std::bitset<256>& behind) const;

  const GrammarPtr grammar_;
  const MaskStorePtr store_;
  const uint64_t id_;                    // of the grammar, in the store
  const std::bitset<256> behind_calls_;  // the bytes that may follow the end of a rule
};

}  // namespace pando::grammar
