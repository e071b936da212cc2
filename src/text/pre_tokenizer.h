// Cuts a section of text into the words that are merged one by one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/split_pattern.h"

namespace pando {

namespace pre {
struct Split {
  enum class Keep {
    kAll,           // each match and each text between is a word
    kBetween,       // matches are dropped
    kWithPrevious,  // a match belongs to the text before it
    kWithNext,      // a match belongs to the text after it
    kRuns,          // matches side by side are one word
  };
  SplitPattern pattern;
  Keep keep = Keep::kAll;
  bool invert = false;  // the texts between count as the matches
};
// Each match of `runs` in pieces of three characters, counted from its end.
struct Threes {
  SplitPattern runs;
  bool apart = true;  // cut at the ends of a match too
};
struct SpaceBefore {};  // a space before a text that does not begin with one
struct Metaspace {      // spaces become `mark`, and one is put in front
  enum class Prepend { kNever, kFirst, kAlways };
  std::string mark;
  Prepend prepend = Prepend::kAlways;  // kFirst: only where the whole text begins
  bool split = true;                   // cut before each mark
};
}  // namespace pre

using PreStep = std::variant<pre::Split, pre::Threes, pre::SpaceBefore, pre::Metaspace>;

// Steps in order, each applied to every word that the one before gave. Immutable; any thread.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreStep> steps) : steps_(std::move(steps)) {}

  // Calls `word` in order. `at_start`: the section begins the whole text.
  Status split(std::string_view section, bool at_start,
               FunctionRef<void(std::string_view)> word) const;
  std::span<const PreStep> steps() const { return steps_; }

 private:
  std::vector<PreStep> steps_;
};

}  // namespace pando
