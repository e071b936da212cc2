// Makes a Grammar: rules as nondeterministic automata over bytes, which `finish` makes
// deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/char_dfa.h"
#include "text/grammar/char_lengths.h"
#include "text/grammar/char_set.h"
#include "text/grammar/grammar.h"
#include "text/grammar/limits.h"
#include "text/grammar/regex.h"

namespace pando::grammar {

// Encoding of characters as bytes.
enum class Encoding {
  kUtf8,        // themselves
  kJsonString,  // inside a string of JSON: escaped where they must be, and nowhere else
};

// Differences between JSON values in a format and in answers that are only JSON.
struct JsonStyle {
  bool has_short_numbers = false;  // see short_number_texts
  CharSet escaped = {};            // characters that strings have only as escapes
  // Only JSON follows a string, so all grammars share its masks.
  bool shares_strings = true;
};

// A limit that is exceeded is kept, and named by finish(). One thread.
class Builder {
 public:
  using State = uint32_t;
  using Rule = uint32_t;

  explicit Builder(JsonStyle style = {}) : style_(std::move(style)) {}
  const JsonStyle& style() const { return style_; }

  Rule add_rule();  // the first is where the text starts
  size_t n_rules() const { return rules_.size(); }
  State start(Rule rule) const { return rules_[rule].start; }
  State end(Rule rule) const { return rules_[rule].end; }

  State state();
  void empty(State from, State to);  // without a byte
  // Does the same, but the two stay apart: fewer states, and more of them at a time.
  void jump(State from, State to);
  void bytes(State from, uint8_t first, uint8_t last, State to);
  void call(State from, Rule rule, State to);
  // A comma or colon of JSON, with at most one space after it. Models often write that space. A
  // model that may not write it chooses other values.
  void separator(State from, char mark, State to);

  // All of these add what comes behind `from` and give the state behind it.
  State text(State from, std::string_view bytes);
  void characters(State from, const CharSet& set, Encoding encoding, State to);
  // A pattern without "^" and "$".
  State regex(State from, const Regex& regex, Encoding encoding);
  void automaton(State from, const CharDfa& dfa, Encoding encoding, State to);
  // Fills a new rule with the quoted JSON strings whose text `dfa` accepts. With `lengths` of
  // `dfa`, only with strings within their bounds.
  void string(Rule rule, const CharDfa& dfa, std::optional<CharLengths> lengths = std::nullopt);

  // The rule of any string of JSON, where it has one (json_rules.h): its masks serve all grammars.
  std::optional<Rule> string_rule;

  bool is_too_large() const { return edges_.size() > kMostNfaStates; }
  // [n_rules] true if the rule has a finite text.
  std::vector<bool> has_text() const;
  // kInvalidArgument if the first rule has none.
  Result<GrammarPtr> finish() const;

 private:
  friend class Productive;
  friend class RuleDeterminiser;
  enum class Kind : uint8_t { kBytes, kEmpty, kJump, kCall };
  struct Edge {
    Kind kind;
    uint8_t first = 0;
    uint8_t last = 0;
    Rule rule = 0;
    State target = 0;
  };
  struct Ends {
    State start;
    State end;
  };
  State repeat(State from, const Regex& regex, Encoding encoding);

  // A rule whose characters are counted.
  struct Counted {
    State first;  // the first of the states of `lengths`
    CharLengths lengths;
  };

  JsonStyle style_;
  std::vector<std::vector<Edge>> edges_;  // of each state
  std::vector<Ends> rules_;
  std::map<Rule, Counted> counted_;
};

}  // namespace pando::grammar
