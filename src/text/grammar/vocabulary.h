// The tokens of a tokenizer as bytes, for masks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/grammar/byte_trie.h"
#include "text/tokenizer.h"

namespace pando::grammar {

// Made once for each tokenizer. The bytes of a special token are kSpecial and its text. Only
// grammars of calls have that byte, so no other grammar writes special tokens. End tokens have no
// bytes. Immutable; any thread.
class Vocabulary {
 public:
  static constexpr char kSpecial = '\xFF';

  // Leaves out tokens with ids from `most_tokens` on.
  explicit Vocabulary(const Tokenizer& tokenizer, size_t most_tokens = SIZE_MAX);
  // Makes a vocabulary of other texts, by id.
  Vocabulary(std::vector<std::string> bytes, std::vector<Token> end_tokens);
  Vocabulary(const Vocabulary&) = delete;  // the trie's entries point into it
  Vocabulary& operator=(const Vocabulary&) = delete;

  size_t size() const { return bytes_.size(); }  // highest id + 1
  size_t n_mask_words() const { return (bytes_.size() + 63) / 64; }
  const std::string& bytes(Token token) const { return bytes_[static_cast<size_t>(token)]; }
  bool has(Token token) const { return token >= 0 && static_cast<size_t>(token) < bytes_.size(); }
  const ByteTrie& trie() const { return trie_; }
  std::span<const Token> end_tokens() const { return end_tokens_; }

  // The bytes of a text in which special tokens stand as themselves.
  std::string spelled(std::string_view text) const;
  // The text up to the first end token in it.
  std::string_view before_end(std::string_view text) const;

 private:
  std::vector<std::string> bytes_;
  std::vector<Token> end_tokens_;
  std::vector<std::string> end_texts_;
  size_t longest_special_ = 0;
  std::unordered_set<std::string> specials_;  // their texts
  ByteTrie trie_;
};

using VocabularyPtr = std::shared_ptr<const Vocabulary>;

}  // namespace pando::grammar
