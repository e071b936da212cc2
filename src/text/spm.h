// Tokenizers in SentencePiece's own format. Byte-pair encoding without a character map is run here,
// everything else by the library, which takes ten times as long.
#pragma once

#include <sentencepiece_processor.h>

#include "text/special_tokens.h"

namespace pando {

class SpmTokenizer final : public Tokenizer {
 public:
  // `model` is the content of `file`, a serialised ModelProto. Gives a WordTokenizer where that is
  // exact.
  static Result<std::unique_ptr<Tokenizer>> load(const std::string& model, const std::string& file,
                                                 const TokenizerConfig& config);

  Result<std::vector<Token>> encode(std::string_view text, bool add_bos) const override;
  size_t n_behind() const override { return special_.after.size(); }
  const TextTemplates& templates() const override { return special_.templates; }
  std::string token_bytes(Token token, bool skip_special) const override;
  int vocab_size() const override { return static_cast<int>(token_bytes_.size()); }
  std::optional<Token> bos() const override { return special_.bos; }
  std::span<const Token> end_tokens() const override { return special_.ends; }
  bool strips_leading_space() const override { return strips_leading_space_; }

 private:
  SpmTokenizer() : added_({}) {}
  // The vocabulary, the tokens that `config` adds, and the special ones.
  Status find_tokens(const std::string& file, const TokenizerConfig& config);
  void add_written();
  void find_texts();

  sentencepiece::SentencePieceProcessor processor_;
  Vocab vocab_;
  std::vector<AddedToken> added_list_;
  AddedTokens added_;
  std::vector<std::string> token_bytes_;  // by id
  std::vector<bool> is_special_;          // by id
  SpecialTokens special_;
  bool strips_leading_space_ = false;
};

}  // namespace pando
