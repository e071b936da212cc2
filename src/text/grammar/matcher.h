// Follows one answer through a grammar.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "pando/values/result.h"
#include "text/grammar/mask_table.h"

namespace pando::grammar {

// The state of one answer. One thread at a time. A copy goes on by itself.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const MaskTable> masks);

  // The next token of the answer. kInvalidArgument if the grammar does not allow it,
  // kUnsupported if the grammar can read the answer in too many ways; the state is as before
  // then.
  Status accept(Token token);
  // Advances by bytes, which need not be whole tokens. False, and unchanged, if they do not fit.
  bool accept(std::string_view bytes);
  // Sets one bit for each token that accept() takes, [n_mask_words] words; for end tokens, too, if
  // the text may end. Returns the number of set bits, or 2 if there are more.
  Result<size_t> mask(std::span<uint64_t> bits);

  bool can_end() const { return at_.is_end; }           // the text so far is complete
  bool must_end() const { return !at_.has_configs(); }  // nothing but an end token is allowed
  bool is_ended() const { return is_ended_; }           // an end token was accepted

 private:
  // The frontier after the bytes; one that is not alive if they do not fit.
  Chart::Frontier read(std::string_view bytes);
  bool is_end_token(Token token) const;

  std::shared_ptr<const MaskTable> masks_;
  Chart chart_;
  Chart::Frontier at_;  // the only one that the chart keeps
  bool is_ended_ = false;
};

// True if a grammar allows a whole text; for tests and checks.
Result<bool> allows(const GrammarPtr& grammar, std::string_view text);

}  // namespace pando::grammar
