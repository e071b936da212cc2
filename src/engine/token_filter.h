// Which tokens an answer of a given form may go on with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "text/grammar/matcher.h"

namespace pando {

// Follows one answer. One thread at a time.
class TokenFilter {
 public:
  // ends: tokens that end an answer, which outlive it.
  TokenFilter(std::shared_ptr<const grammar::MaskTable> masks, std::span<const Token> ends);

  // One bit a token, at least one of which is set. Valid until the next call. An error where the
  // text cannot be followed further.
  Result<std::span<const uint64_t>> allowed();
  // The one token that is allowed, where it is one and ends nothing.
  Result<std::optional<Token>> only();
  // The text is complete, and nothing can follow.
  bool is_over() const { return matcher_.must_end(); }
  // Goes on by a token that is allowed and ends nothing.
  Status accept(Token token);

 private:
  grammar::Matcher matcher_;
  std::span<const Token> ends_;
  std::vector<uint64_t> bits_;
  size_t n_allowed_ = 0;  // 2 for more; 0: bits_ are not those of the state
};

}  // namespace pando
