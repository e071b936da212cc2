// A trie of byte strings, each with a token: the vocabulary, or the rests of tokens behind a place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/token.h"

namespace pando::grammar {

// Nodes are in pre-order, so that one walks it without a stack. Immutable; any thread.
class ByteTrie {
 public:
  struct Entry {
    std::string_view bytes;  // not empty
    Token token;
  };
  ByteTrie() = default;
  explicit ByteTrie(std::vector<Entry> entries);

  struct Node {
    uint32_t skip;         // the next node that is not below this one
    uint32_t first_token;  // of tokens_
    uint16_t depth;        // bytes before this one's
    uint8_t byte;
    uint8_t kinds;  // of the bytes here and below: byte_kind, kNotUtf8
    // Characters that begin here or below, the most on any way; at most kManyCharacters.
    uint8_t n_characters;
  };
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size() - 1); }
  const Node& operator[](uint32_t node) const { return nodes_[node]; }
  std::span<const Token> tokens_at(uint32_t node) const {
    return {tokens_.data() + nodes_[node].first_token,
            tokens_.data() + nodes_[node + 1].first_token};
  }
  std::span<const Token> tokens_below(uint32_t node) const {  // and at the node
    return {tokens_.data() + nodes_[node].first_token,
            tokens_.data() + nodes_[nodes_[node].skip].first_token};
  }
  size_t n_bytes() const { return nodes_.size() * sizeof(Node) + tokens_.size() * sizeof(Token); }
  uint16_t max_depth() const { return max_depth_; }

 private:
  std::vector<Node> nodes_ = {Node{}};  // and one that ends the last one's tokens
  std::vector<Token> tokens_;
  uint16_t max_depth_ = 0;
};

}  // namespace pando::grammar
