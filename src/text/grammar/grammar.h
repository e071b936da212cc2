// Compiled grammar of an answer: rules over bytes. docs/grammar.md has the algorithm.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/json_value.h"
#include "pando/values/result.h"
#include "text/grammar/counted_rule.h"

namespace pando::grammar {

// A pushdown automaton: each rule is a deterministic automaton over bytes, whose states may also
// call rules. From every state some bytes lead to the end of its rule. Immutable; any thread.
//
// A CountedRule also counts the characters of its text. Each pair of its states and counts has an
// id of its own, n_states() or above, and only bytes lead on from such a state.
class Grammar {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Bytes first..last lead to `target`.
  struct Step {
    uint8_t first;
    uint8_t last;
    uint32_t target;
  };
  // A call of `rule`, which continues in state `target`.
  struct Call {
    uint32_t rule;
    uint32_t target;
  };

  size_t n_rules() const { return starts_.size(); }
  size_t n_states() const { return states_.size() - 1; }
  uint32_t start_rule() const { return 0; }
  uint32_t start_of(uint32_t rule) const { return starts_[rule]; }

  // For a state below n_states().
  std::span<const Step> steps(uint32_t state) const {
    return {steps_.data() + states_[state].first_step,
            states_[state + 1].first_step - states_[state].first_step};
  }
  std::span<const Call> calls(uint32_t state) const {
    state = uncounted(state);
    return {calls_.data() + states_[state].first_call,
            states_[state + 1].first_call - states_[state].first_call};
  }
  // States that it is also in, without a byte.
  std::span<const uint32_t> jumps(uint32_t state) const {
    state = uncounted(state);
    return {jumps_.data() + states_[state].first_jump,
            states_[state + 1].first_jump - states_[state].first_jump};
  }
  // A counted rule's state without its count; any other state unchanged.
  uint32_t uncounted(uint32_t state) const {
    return state < n_states() ? state : place_of(state).state;
  }
  bool ends(uint32_t state) const { return of(state).ends; }  // its rule may end here
  bool has_steps(uint32_t state) const { return of(state).has_steps; }
  // Only bytes lead on from it: no call, no jump, and of plain ones no end.
  bool is_local(uint32_t state) const { return of(state).is_local; }
  bool is_plain(uint32_t state) const {
    const State& at = of(state);
    return at.is_local && !at.ends;
  }
  // It does nothing but end its rule.
  bool only_ends(uint32_t state) const { return of(state).only_ends; }
  // The kinds of bytes (byte_kind) that all lead from the state to itself; kNotAscii where all
  // whole characters do.
  uint8_t loops(uint32_t state) const {
    return state < n_states() || counts_no_more(state) ? of(state).loops : 0;
  }
  // Number of characters that may follow, of any kind but quotes, backslashes and control
  // characters. kManyCharacters: no bound.
  uint8_t n_free_characters(uint32_t state) const {
    return state < n_states() ? states_[state].n_free_characters : n_free_counted(state);
  }
  // A state from which the grammar reads all texts of at most `n_bytes` as from this one.
  uint32_t alike(uint32_t state, size_t n_bytes) const;
  // Index of the state in the rule of any JSON string, or kNone. That rule is the same in all
  // grammars.
  uint32_t place_in_string(uint32_t state) const {
    const uint32_t place = state - first_string_state_;
    return place < n_string_states_ ? place : kNone;
  }
  size_t n_bytes() const;  // of memory

  // State after a byte, or kNone.
  uint32_t next(uint32_t state, uint8_t byte) const {
    return state < n_states() ? next_uncounted(state, byte) : next_counted(state, byte);
  }

 private:
  friend class GrammarPacker;
  struct State {
    uint32_t first_step = 0;
    uint32_t first_call = 0;
    uint32_t first_jump = 0;
    uint32_t row = kNone;  // of rows_, where there are many steps
    uint8_t loops = 0;
    uint8_t n_free_characters = 0;
    bool ends = false;
    bool has_steps = false;
    bool is_local = false;
    bool only_ends = false;
  };
  // A state of a counted rule.
  struct Place {
    const CountedRule* rule;
    uint32_t state;
    uint32_t count;
  };
  Place place_of(uint32_t id) const;
  const State& of(uint32_t state) const { return states_[uncounted(state)]; }
  bool counts_no_more(uint32_t id) const;
  uint8_t n_free_counted(uint32_t id) const;
  uint32_t next_counted(uint32_t id, uint8_t byte) const;
  uint32_t next_uncounted(uint32_t state, uint8_t byte) const {
    const State& of = states_[state];
    if (of.row != kNone) return rows_[of.row][byte];
    for (const Step& step : steps(state)) {
      if (byte < step.first) return kNone;
      if (byte <= step.last) return step.target;
    }
    return kNone;
  }

  std::vector<uint32_t> starts_;  // [n_rules]
  std::vector<State> states_;     // [n_states + 1]; the last only ends the spans of the one before
  std::vector<Step> steps_;       // ascending for each state
  std::vector<Call> calls_;
  std::vector<uint32_t> jumps_;
  std::vector<std::array<uint32_t, 256>> rows_;
  std::vector<CountedRule> counted_;  // ordered by their ids
  uint32_t first_string_state_ = 0;
  uint32_t n_string_states_ = 0;
};

// Kinds of bytes, one bit each; whole subtrees of the vocabulary are passed over by them.
inline constexpr uint8_t kPlainAscii = 1, kQuote = 2, kBackslash = 4, kControl = 8, kNotAscii = 16;
inline constexpr uint8_t kNotUtf8 = 32;  // of the bytes of a trie: they are no whole characters
inline constexpr uint8_t kManyCharacters = 255;
constexpr uint8_t byte_kind(uint8_t byte) {
  return byte >= 0x80                  ? kNotAscii
         : byte < 0x20 || byte == 0x7F ? kControl
         : byte == '"'                 ? kQuote
         : byte == '\\'                ? kBackslash
                                       : kPlainAscii;
}

using GrammarPtr = std::shared_ptr<const Grammar>;

// Errors of the functions below: kUnsupported, naming the part, for what the engine cannot
// guarantee; kInvalidArgument for a malformed grammar. limits.h bounds time and memory.

// JSON texts that are valid under a JSON Schema (2020-12 or draft 7), with at most one space after
// each colon and comma. Properties of an object come in the order of the schema. If the schema
// compiles, `warnings`, unless null, receives the warnings about what is not enforced.
Result<GrammarPtr> from_json_schema(std::string_view schema,
                                    std::vector<std::string>* warnings = nullptr);
Result<GrammarPtr> from_json_schema(const JsonValue& schema,
                                    std::vector<std::string>* warnings = nullptr);
// Any JSON value, with the same spaces; only objects if `only_objects`.
Result<GrammarPtr> from_any_json(bool only_objects);
// The texts that match a regular expression from start to end.
Result<GrammarPtr> from_regex(std::string_view pattern);
// One of the texts; there must be at least one.
Result<GrammarPtr> from_choices(std::span<const std::string> choices);
// A grammar as llama.cpp writes it; its first rule is "root".
Result<GrammarPtr> from_gbnf(std::string_view text);
// A grammar as Lark and llguidance write it; its first rule is "start".
Result<GrammarPtr> from_lark(std::string_view text);

}  // namespace pando::grammar
