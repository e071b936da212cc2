// Forms of answers for exactness cases, with all texts that they allow.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "pando/values/request.h"
#include "text/tokenizer.h"

namespace pando::testing {

// The vocabulary of the case models as pieces of JSON, halves of characters among them. It reads no
// text: requests have tokens.
class CaseTokenizer : public Tokenizer {
 public:
  static constexpr Token kEnd = 63;

  Result<std::vector<Token>> encode(std::string_view text, bool add_bos) const override;
  size_t n_behind() const override { return 0; }
  std::string token_bytes(Token token, bool skip_special) const override;
  int vocab_size() const override { return kEnd + 1; }
  std::optional<Token> bos() const override { return std::nullopt; }
  std::span<const Token> end_tokens() const override { return {&kEnd, 1}; }
  bool strips_leading_space() const override { return false; }
};

// A form that allows few texts.
class CaseForm {
 public:
  CaseForm(TextForm form, const std::vector<std::string>& texts);

  const TextForm& form() const { return form_; }
  bool allows(const std::string& text) const { return texts_.contains(text); }
  // Something follows it in one of the texts.
  bool goes_on(const std::string& text) const { return beginnings_.contains(text); }
  // The tokens that may follow a beginning of a text. `ends`: behind a whole text, these too.
  std::vector<bool> allowed_after(const std::string& text, std::span<const Token> ends) const;

 private:
  TextForm form_;
  std::unordered_set<std::string> texts_;
  std::unordered_set<std::string> beginnings_;  // of texts, without these themselves
};

// Choices, an expression or a schema.
std::shared_ptr<const CaseForm> draw_form(std::mt19937_64& rng);

}  // namespace pando::testing
