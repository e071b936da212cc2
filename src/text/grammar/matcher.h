// Follows one answer through a grammar.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/result.h"
#include "text/grammar/mask_table.h"

namespace pando::grammar {

// The state of one answer. One thread at a time. A copy goes on by itself, and takes memory in
// proportion to the answer's tokens.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<MaskTable> masks);

  // The next token of the answer. kInvalidArgument where the grammar does not allow it,
  // kUnsupported where the grammar can read the answer in too many ways; the state is as before
  // then.
  Status accept(Token token);
  // Takes back the last `n` tokens that were accepted.
  void roll_back(size_t n);

  // Whether accept() would take it.
  bool is_allowed(Token token);
  // One bit a token, [n_mask_words] words: those that accept() takes. The end tokens are among them
  // where the text may end. The number of bits that are set.
  Result<size_t> mask(std::span<uint64_t> bits);

  bool can_end() const { return at().is_end; }           // the text so far is complete
  bool must_end() const { return !at().has_configs(); }  // nothing but an end token is allowed
  bool is_ended() const { return is_ended_; }            // an end token was accepted
  size_t n_tokens() const { return marks_.size() - 1; }  // that were accepted
  // The bytes that every way to go on begins with, at most `most`: none where the text may end.
  std::string forced_bytes(size_t most = 1'024);

 private:
  const Chart::Frontier& at() const { return marks_.back(); }
  // Behind the bytes, or a frontier that is not alive.
  Chart::Frontier read(std::string_view bytes);
  bool is_end_token(Token token) const;

  std::shared_ptr<MaskTable> masks_;
  Chart chart_;
  std::vector<Chart::Frontier> marks_;  // before the first token, and behind each
  bool is_ended_ = false;
};

// Whether a grammar allows a whole text; for tests and checks.
Result<bool> allows(const GrammarPtr& grammar, std::string_view text);

}  // namespace pando::grammar
