#include "text/grammar/vocabulary.h"

#include <algorithm>

namespace pando::grammar {

namespace {

std::vector<std::string> bytes_of(const Tokenizer& tokenizer, size_t most_tokens) {
  std::vector<std::string> bytes(
      std::min(static_cast<size_t>(tokenizer.vocab_size()), most_tokens));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = tokenizer.token_bytes(static_cast<Token>(i), true);
  return bytes;
}

ByteTrie trie_of(std::vector<std::string>& bytes, std::span<const Token> end_tokens) {
  for (const Token end : end_tokens)
    if (end >= 0 && static_cast<size_t>(end) < bytes.size())
      bytes[static_cast<size_t>(end)].clear();
  std::vector<ByteTrie::Entry> entries;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (!bytes[i].empty()) entries.push_back({bytes[i], static_cast<Token>(i)});
  return ByteTrie(std::move(entries));
}

}  // namespace

Vocabulary::Vocabulary(const Tokenizer& tokenizer, size_t most_tokens)
    : Vocabulary(bytes_of(tokenizer, most_tokens),
                 {tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()}) {}

Vocabulary::Vocabulary(std::vector<std::string> bytes, std::vector<Token> end_tokens)
    : bytes_(std::move(bytes)), end_tokens_(std::move(end_tokens)) {
  std::erase_if(end_tokens_, [&](Token end) { return !has(end); });
  trie_ = trie_of(bytes_, end_tokens_);
}

}  // namespace pando::grammar
