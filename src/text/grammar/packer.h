// Lays out the states of a Grammar.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "text/grammar/grammar.h"

namespace pando::grammar {

class GrammarPacker {
 public:
  GrammarPacker() : grammar_(std::make_shared<Grammar>()) {}

  size_t n_states() const { return grammar_->states_.size(); }
  void begin_rule(uint32_t start) { grammar_->starts_.push_back(start); }
  // The next state. Steps ascend.
  void add_state(std::span<const Grammar::Step> steps, std::span<const Grammar::Call> calls,
                 std::span<const uint32_t> jumps, bool ends);
  // The n states from `first` on belong to the rule of any string.
  void set_string_states(uint32_t first, uint32_t n);
  // Counts the characters of the rule that was begun last. in_lengths: [states of the rule] the
  // state of `lengths`, or kNone inside a character and outside the quotes.
  void count(const CharLengths& lengths, std::vector<uint32_t> in_lengths);
  // Null if there are too many counts.
  GrammarPtr finish();

 private:
  void set_row(uint32_t state);
  bool leads(uint32_t from, uint8_t first, uint8_t last, int n_more, uint32_t to) const;
  bool leads_over_characters(uint32_t from, uint32_t to) const;
  uint32_t behind_any_character(uint32_t state) const;
  void set_free_characters();
  bool finish_counted();
  void add_targets(const std::vector<uint32_t>& in_lengths, uint32_t first, uint32_t state,
                   std::vector<uint32_t>* targets) const;

  std::shared_ptr<Grammar> grammar_;
  struct Counted {
    uint32_t rule;
    std::vector<uint32_t> in_lengths;
  };
  std::vector<Counted> counted_;  // the grammar's counted rules
};

}  // namespace pando::grammar
