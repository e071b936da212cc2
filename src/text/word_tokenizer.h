// A tokenizer of words: added tokens, then normalised sections, cut into words, each word by
// itself.
#pragma once

#include <atomic>

#include "text/added_tokens.h"
#include "text/decoder_run.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/safe_cuts.h"
#include "text/special_tokens.h"
#include "text/text_memo.h"
#include "text/word_model.h"

namespace pando {

// Parts of a tokenizer, as its file describes them.
struct TokenizerParts {
  std::unique_ptr<const WordModel> model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::vector<std::string> token_bytes = {};  // by id: bytes of the text that is shown
  std::vector<AddedToken> added = {};
  std::vector<Token> hidden = {};  // tokens without shown text, besides special added ones
  SpecialTokens special = {};
  std::vector<std::string> warnings = {};  // about the file, for people
  bool strips_leading_space = false;
  std::unique_ptr<const Decoding> decoding = nullptr;  // see Tokenizer
};

class WordTokenizer final : public Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> make(Result<TokenizerParts> parts);

  Result<std::vector<Token>> encode(std::string_view text, bool add_bos) const override;
  size_t n_behind() const override { return parts_.special.after.size(); }
  const TextTemplates& templates() const override { return parts_.special.templates; }
  std::string token_bytes(Token token, bool skip_special) const override;
  int vocab_size() const override { return static_cast<int>(parts_.token_bytes.size()); }
  std::optional<Token> bos() const override { return parts_.special.bos; }
  std::span<const Token> end_tokens() const override { return parts_.special.ends; }
  bool strips_leading_space() const override { return parts_.strips_leading_space; }
  const Decoding* decoding() const override { return parts_.decoding.get(); }
  std::span<const std::string> warnings() const override { return parts_.warnings; }
  std::vector<TokenSpan> spans_of(std::string_view text,
                                  std::span<const Token> tokens) const override;
  void set_memo_limits(const TextMemoLimits& limits) override { memo_.set_limits(limits); }
  size_t n_bytes_encoded() const override { return n_bytes_encoded_.load(); }

 private:
  WordTokenizer(TokenizerParts parts, const std::vector<AddedToken>& as_written,
                const std::vector<AddedToken>& as_normalised);
  Status encode_after(const TextMemo::Beginning& beginning, std::string_view text,
                      std::vector<Token>* tokens) const;
  // `continues`: the part begins at a cut, see SafeCuts.
  Status encode_part(std::string_view part, bool continues, std::vector<Token>* tokens) const;
  Status encode_section(std::string_view section, bool at_start, bool continues,
                        std::vector<Token>* tokens) const;

  TokenizerParts parts_;
  std::vector<bool> is_special_;  // by id
  AddedTokens as_written_;        // looked for in the text as it is
  AddedTokens as_normalised_;
  SafeCuts cuts_;
  mutable TextMemo memo_;
  mutable std::atomic<size_t> n_bytes_encoded_ = 0;
};

}  // namespace pando
