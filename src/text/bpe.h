// Byte-pair encoding: a word to tokens by merging, over bytes or over characters.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/merge_word.h"
#include "text/word_model.h"

namespace pando {

// U+2581, which stands for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// The token text of a byte where bytes are a fallback: "<0x0A>".
std::string byte_token_text(unsigned char byte);
// The byte that such a text stands for.
std::optional<char> byte_of_token_text(std::string_view text);

// Immutable once built; any thread.
class Bpe final : public WordModel {
 public:
  struct Options {
    bool byte_level = false;       // symbols are bytes; else characters
    bool byte_fallback = false;    // a character without a token becomes its bytes' <0xNN> tokens
    bool fuse_unknown = false;     // unknown characters in a row are one token
    bool ignore_merges = false;    // a word that is a token is that token, whatever the merges say
    bool joins_line_ends = false;  // a word of line ends alone that is a token is that token
    std::optional<Token> unknown;  // for characters without token and without bytes; none: dropped
  };

  Bpe(const Vocab& vocab, const std::vector<Merge>& merges, const Options& options);

  // O(n log n) for any word. A byte or character without a token, where there is no unknown token,
  // gives nothing.
  void encode(std::string_view word, std::vector<Token>* tokens) const override;
  std::bitset<128> joined_to(std::string_view space) const override {
    return space == this->space() ? joined_ : std::bitset<128>().set();
  }

 private:
  std::string_view space() const { return options_.byte_level ? " " : kSpaceMark; }
  void find_symbols(const Vocab& vocab);
  void find_boundaries(const Vocab& vocab, const std::vector<Merge>& merges);
  void find_joined(const Vocab& vocab, const std::vector<Merge>& merges);
  void find_words(const Vocab& vocab);

  void encode_piece(std::string_view piece, std::vector<Token>* tokens) const;
  void append_symbols(std::string_view piece, std::vector<Token>* tokens) const;
  Token token_of(std::string_view symbol) const;
  bool append_bytes(std::string_view character, std::vector<Token>* tokens) const;

  MergeTable merges_;
  Options options_;
  std::array<Token, 256> bytes_;                    // token of a byte, -1 for none
  std::unordered_map<char32_t, Token> characters_;  // empty with byte_level
  TokenOfText words_;           // texts that end as one token: most words of a prompt, unmerged
  size_t longest_word_ = 0;     // bytes
  bool cut_at_spaces_ = false;  // no merge joins another character to a U+2581 after it
  std::bitset<128> joined_;     // see joined_to()
};

}  // namespace pando
