// Which tokens a grammar allows, for one vocabulary; what one answer computes serves all others.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/chart.h"
#include "text/grammar/vocabulary.h"

namespace pando::grammar {

// Any thread; shared by the matchers of one grammar.
class MaskTable {
 public:
  MaskTable(GrammarPtr grammar, VocabularyPtr vocabulary);

  const GrammarPtr& grammar() const { return grammar_; }
  const Vocabulary& vocabulary() const { return *vocabulary_; }

  // Sets the bits of the tokens that may come behind `at`, which is the last frontier of `chart`.
  // All else of `bits` [n_mask_words] is left as it is. The chart is as before, but for its
  // overflow.
  void add_tokens(Chart& chart, const Chart::Frontier& at, std::span<uint64_t> bits);

 private:
  // What the tokens do from a state, whatever called its rule.
  struct OfState {
    bool is_walked = false;      // it takes so little that it is walked each time
    std::vector<uint64_t> bits;  // tokens that stay in the rule, or reach its end
    ByteTrie rests;              // behind the rule's end, of tokens that go on there
  };
  std::shared_ptr<const OfState> of_state(uint32_t state);
  std::shared_ptr<const OfState> make(uint32_t state);

  GrammarPtr grammar_;
  VocabularyPtr vocabulary_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<const OfState>> of_states_;
  size_t n_bytes_ = 0;  // that these take
};

}  // namespace pando::grammar
