// Masks the tokens with which an answer of a given form cannot continue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/grammar/matcher.h"

namespace pando {

// Follows one answer. One thread at a time.
class TokenFilter {
 public:
  // ends: tokens that end an answer, which outlive it.
  TokenFilter(std::shared_ptr<const grammar::MaskTable> masks, std::span<const Token> ends);
  // Adds a form that the answer may have instead. Only before its first token.
  void add(std::shared_ptr<const grammar::MaskTable> masks);

  // One bit per token; at least one is set. Valid until the next call. An error if the text cannot
  // be followed further.
  Result<std::span<const uint64_t>> allowed();
  // The allowed token if there is exactly one and it is no end token.
  Result<std::optional<Token>> only();
  // The text is complete, and nothing can follow.
  bool is_over() const { return std::ranges::all_of(matchers_, &grammar::Matcher::must_end); }
  bool can_end() const {  // the text is complete
    return std::ranges::any_of(matchers_, &grammar::Matcher::can_end);
  }
  // Advances by a token that is allowed and is no end token.
  Status accept(Token token);
  // Begins in the middle of a text: `head`, then the last `n_bytes` of an answer. If the grammar
  // does not allow them: false, and the filter is at the beginning.
  bool begin(std::string_view head, std::span<const Token> answer, size_t n_bytes);

 private:
  const grammar::Vocabulary& vocabulary_;
  std::vector<grammar::Matcher> matchers_;  // of each form that the text may still have
  std::span<const Token> ends_;
  std::vector<uint64_t> bits_;
  size_t n_allowed_ = 0;  // 2 for more; 0: bits_ are not those of the state
};

}  // namespace pando
