#include "text/grammar/vocabulary.h"

#include <algorithm>

namespace pando::grammar {

namespace {

// The bytes of a token; nothing for tokens of a single byte that no text has.
std::string bytes_of(const Tokenizer& tokenizer, Token token) {
  const std::string bytes = tokenizer.token_bytes(token, /*skip_special=*/true);
  if (bytes.find(Vocabulary::kSpecial) != bytes.npos) return {};
  if (!bytes.empty()) return bytes;
  const std::string special = tokenizer.token_bytes(token, /*skip_special=*/false);
  return special.empty() ? special : Vocabulary::kSpecial + special;
}

std::vector<std::string> all_bytes(const Tokenizer& tokenizer, size_t most_tokens) {
  std::vector<std::string> bytes(
      std::min(static_cast<size_t>(tokenizer.vocab_size()), most_tokens));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = bytes_of(tokenizer, static_cast<Token>(i));
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
    : Vocabulary(all_bytes(tokenizer, most_tokens),
                 {tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()}) {
  for (const Token end : end_tokens_)
    end_texts_.push_back(tokenizer.token_bytes(end, /*skip_special=*/false));
  std::erase(end_texts_, std::string());
  for (const std::string& text : bytes_)
    if (text.starts_with(kSpecial)) {
      specials_.insert(text.substr(1));
      longest_special_ = std::max(longest_special_, text.size() - 1);
    }
}

Vocabulary::Vocabulary(std::vector<std::string> bytes, std::vector<Token> end_tokens)
    : bytes_(std::move(bytes)), end_tokens_(std::move(end_tokens)) {
  std::erase_if(end_tokens_, [&](Token end) { return !has(end); });
  trie_ = trie_of(bytes_, end_tokens_);
}

std::string Vocabulary::spelled(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    size_t n = std::min(longest_special_, text.size());
    while (n > 0 && !specials_.contains(std::string(text.substr(0, n)))) --n;
    if (n > 0) out += kSpecial;
    n = std::max<size_t>(n, 1);
    out += text.substr(0, n);
    text.remove_prefix(n);
  }
  return out;
}

std::string_view Vocabulary::before_end(std::string_view text) const {
  for (const std::string& end : end_texts_) text = text.substr(0, text.find(end));
  return text;
}

}  // namespace pando::grammar
