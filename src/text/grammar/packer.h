// Lays out the states of a Grammar.
#pragma once

#include <memory>
#include <span>

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
  // So many states from `first` on are those of the rule of any string.
  void set_string_states(uint32_t first, uint32_t n);
  GrammarPtr finish();

 private:
  void set_row(uint32_t state);
  bool leads(uint32_t from, uint8_t first, uint8_t last, int n_more, uint32_t to) const;
  bool leads_over_characters(uint32_t from, uint32_t to) const;
  uint32_t behind_any_character(uint32_t state) const;
  void set_free_characters();

  std::shared_ptr<Grammar> grammar_;
};

}  // namespace pando::grammar
