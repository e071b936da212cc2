// WordPiece: from the left, the longest token that the rest of the word begins with.
#pragma once

#include "text/vocab.h"
#include "text/word_model.h"

namespace pando {

class WordPiece final : public WordModel {
 public:
  struct Options {
    Token unknown;      // of a word that has no tokens or more than most_characters
    std::string first;  // before the text of a token that begins a word; empty: any token may
    std::string later;  // before the text of one that goes on; empty: any other token may
    size_t most_characters = 100;
  };
  WordPiece(const Vocab& vocab, const Options& options);

  // Linear in the word's length times that of the longest token.
  void encode(std::string_view word, std::vector<Token>* tokens) const override;
  bool marks_words() const override { return options_.first != options_.later; }
  bool is_inside_word(Token token) const override {
    return marks_words() && inside_[static_cast<size_t>(token)];
  }

 private:
  Options options_;
  TokenOfText first_, later_;  // without the prefixes of their texts
  std::vector<bool> inside_;   // [tokens] whether a token is in later_
  size_t longest_ = 0;         // bytes
};

}  // namespace pando
