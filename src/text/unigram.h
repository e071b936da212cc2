// A unigram language model: cuts a word into the pieces of text with the highest sum of scores.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocab.h"
#include "text/word_model.h"

namespace pando {

// Immutable once built; any thread.
class Unigram final : public WordModel {
 public:
  struct Options {
    std::optional<Token> unknown;  // for characters without a piece; none: dropped
    bool byte_fallback = false;    // such characters become their bytes' <0xNN> tokens
    bool byte_level = false;       // pieces are written in the byte-level alphabet
    // Score of a character without a piece; none: 10 below the lowest of `scores`.
    std::optional<double> unknown_score;
  };
  static constexpr size_t kLongestPiece = 512;  // bytes; published vocabularies have up to 100

  // `scores`: by id, at least one; no text has more than kLongestPiece bytes.
  Unigram(const Vocab& vocab, const std::vector<double>& scores, const Options& options);

  // Takes time linear in the word's length times the longest piece that fits. Sums of scores are
  // doubles, added from the left; among equal sums, the one with the longest last piece counts.
  void encode(std::string_view word, std::vector<Token>* tokens) const override;

 private:
  static constexpr Token kNone = -1;
  // A node of a trie. The children of a node lie side by side, ordered by byte.
  struct Node {
    int first_child = 0;
    int n_children = 0;
    unsigned char byte = 0;
    Token token = kNone;  // of the piece that ends here
  };
  // The best way to reach a place in the word.
  struct Step {
    double score = 0;
    int length = 0;  // bytes of its last piece; 0: not reached
    Token token = kNone;
  };

  void build_trie(const Vocab& vocab);
  const Node* child(const Node& node, char byte) const;
  Token find(std::string_view piece) const;
  std::vector<Step> best_steps(std::string_view word) const;
  void encode_characters(std::string_view word, std::vector<Token>* tokens) const;
  void append_unknown(std::string_view text, std::vector<Token>* tokens) const;

  Options options_;
  std::vector<double> scores_;  // by id
  double unknown_score_;        // of a character without a piece
  std::vector<Node> nodes_;     // the root first
  std::array<Token, 256> bytes_;
};

}  // namespace pando
