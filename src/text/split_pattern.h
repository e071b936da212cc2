// A pre-tokenizer's regular expression: cuts text into words.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/matcher.h"

namespace pando {

extern const std::string_view kGpt2Pattern;
extern const std::string_view kQwen2Pattern;
extern const std::string_view kLlama3Pattern;

// Immutable once compiled; any thread.
class SplitPattern {
 public:
  // An expression of our own, which is run without limits and matches no empty text; in the syntax
  // of Oniguruma, see pcre2_pattern.h.
  static Result<SplitPattern> compile(std::string_view pattern);
  // An expression of a file. It may backtrack without end, so each search for the next match may
  // take steps and memory in proportion to the text; a text of many matches takes that many
  // searches. It may match an empty text.
  static Result<SplitPattern> compile_of_file(std::string_view pattern);
  static SplitPattern literal(std::string_view text);  // `text` is not empty

  // Calls `piece` for each match (true) and for the text between matches (false), in order: nothing
  // of `text`, which must be UTF-8, is lost. A match may be empty, text between is not.
  // kUnsupported if the limit of an expression of a file is reached.
  Status split(std::string_view text, FunctionRef<void(std::string_view, bool)> piece) const {
    return matcher_->split(text, piece);
  }

  const std::string& source() const { return source_; }  // the expression, or the literal text
  bool is_literal() const { return is_literal_; }

 private:
  SplitPattern(std::shared_ptr<const Matcher> matcher, std::string_view source, bool is_literal)
      : matcher_(std::move(matcher)), source_(source), is_literal_(is_literal) {}
  static Result<SplitPattern> of(Result<std::shared_ptr<const Matcher>> matcher,
                                 std::string_view source);
  std::shared_ptr<const Matcher> matcher_;
  std::string source_;
  bool is_literal_;
};

}  // namespace pando
