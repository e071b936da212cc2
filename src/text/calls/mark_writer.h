// Adds marks of calls to a grammar.
#pragma once

#include <string_view>

#include "text/calls/scan.h"
#include "text/grammar/builder.h"
#include "text/grammar/vocabulary.h"

namespace pando::calls {

// Each method adds a text after a state and returns the state after the text. Borrows builder and
// vocabulary.
class MarkWriter {
 public:
  using State = grammar::Builder::State;

  MarkWriter(grammar::Builder* builder, const grammar::Vocabulary* vocabulary)
      : builder_(*builder), vocabulary_(*vocabulary) {}

  // A text in which special tokens are written as tokens, not as their characters.
  State text(State from, std::string_view text) const {
    return builder_.text(from, vocabulary_.spelled(text));
  }
  // White space that may be left out.
  State space(State from, std::string_view space) const {
    if (space.empty()) return from;
    const State to = builder_.state();
    builder_.empty(from, to);
    builder_.empty(text(from, space), to);
    return to;
  }
  // A mark whose leading and trailing white space may be left out.
  State mark(State from, std::string_view text) const {
    const std::string_view rest = trimmed_left(text), core = trimmed_right(rest);
    from = space(from, text.substr(0, text.size() - rest.size()));
    return space(this->text(from, core), rest.substr(core.size()));
  }
  // A comma or a colon of JSON.
  State separator(State from, char mark) const {
    const State to = builder_.state();
    builder_.separator(from, mark, to);
    return to;
  }

 private:
  grammar::Builder& builder_;
  const grammar::Vocabulary& vocabulary_;
};

}  // namespace pando::calls
